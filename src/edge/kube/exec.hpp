/// A command inside a container, with its input, its output and its exit code, over a WebSocket
/// (v5.channel.k8s.io). Blocking; any thread, one call each.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "edge/kube/api.hpp"

namespace muster::kube {

struct ExecRequest {
  std::string space;
  std::string pod;
  std::string container;  // empty: the only one, or the pod's default
  std::vector<std::string> argv;
  bool is_terminal = false;  // the command has one: what it writes comes as one stream, `out`
};

struct TerminalSize {
  int columns = 0;
  int rows = 0;
};

/// What goes in and comes out. With neither input the command reads an empty one.
struct ExecStreams {
  int in = -1;  // a descriptor, read to its end
  /// Or the next piece, an empty one at the end. Called only when there is room for it.
  std::function<Result<std::string>()> source = {};
  std::function<void(std::string_view bytes)> out = {};
  std::function<void(std::string_view bytes)> err = {};
  /// Of a terminal: asked at the start, and whenever the descriptor `resized` is readable. Who
  /// gives the size also takes the notice away.
  std::function<TerminalSize()> size = {};
  int resized = -1;
};

/// The command's exit code. Anything else than a command that ended is an error: `unavailable` when
/// the connection was lost, and then nobody knows whether the command still runs.
ApiResult<int> exec(Cluster& cluster, const ExecRequest& request, const ExecStreams& streams,
                    const http::Stop& stop = {});

/// What a command's last status says: its exit code, or why there is none. Pure.
ApiResult<int> exec_outcome(std::string_view status);

}  // namespace muster::kube
