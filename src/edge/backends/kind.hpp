/// A kind of place where jobs run. Every .cpp of this folder is one: `BackendKind
/// backend_<stem>()`.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "core/model/resources.hpp"
#include "core/spec/config.hpp"
#include "port/backend.hpp"

namespace muster {

struct BackendDeps {
  std::string home;
  std::string home_id;
  std::string binary;  // this program, as a path that stays valid when it is replaced
  std::string build_id;
  std::vector<Node> nodes;
  spec::Profile cluster;  // what the configuration says about it
  std::string served_at;  // host:port where its pods reach this server; empty: nowhere
  Log& log;
};

struct BackendKind {
  std::string_view name;
  std::string_view doc;
  std::string_view absent;  // why it cannot be opened; empty when it can
  Result<std::unique_ptr<Backend>> (*open)(const BackendDeps& deps);
};

/// Written by the build from the files of this folder.
const std::vector<BackendKind>& all_backends();

}  // namespace muster
