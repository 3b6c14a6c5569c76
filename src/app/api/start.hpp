/// The way to this user's server: connect, or start one in the background and connect.
#pragma once
#include <memory>
#include <string>

#include "base/error.hpp"
#include "core/model/plan.hpp"
#include "port/api.hpp"

namespace muster::api {

struct Starter {
  std::string home;
  std::string config_file;
  std::string program;  // this program's file
  Environment env;      // of the client; the server gets a clean part of it
};

/// An Api whose server answered just now.
Result<std::unique_ptr<Api>> connect_or_start(const Starter& starter);
/// Only connects: `unavailable` when there is no server.
Result<std::unique_ptr<Api>> connect_only(const std::string& home);

}  // namespace muster::api
