/// Where things are in a pod. One root, so that tests can have their own. Pure.
#pragma once
#include <string>

namespace muster::agent {

struct Places {
  std::string root = "/muster";
  std::string run() const { return root + "/run"; }  // exit.json, ctl, setup.log
  std::string secret() const { return root + "/code-secret/bundle"; }
  std::string stream() const { return root + "/code"; }
  std::string trees() const { return root + "/trees"; }
  std::string venvs() const { return root + "/venvs"; }
};

}  // namespace muster::agent
