/// What verbs talk to: a server, wherever it is. Answers that are no success come back as the Error
/// the server sent. Called from one thread at a time.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace muster {

struct Call {
  std::string_view route;  // a name of the route table (docs/reference/api.md)
  std::string id = {};     // of the job, for routes that name one
  std::vector<std::pair<std::string, std::string>> query = {};
  std::string body = {};
};

struct Api {
  virtual ~Api() = default;
  /// The body of the answer.
  virtual Result<std::string> call(const Call& call) = 0;
  /// The body as it comes; `on_chunk` returns false to stop, which is no error. Chunks are bytes,
  /// not lines or events.
  virtual Result<> stream(const Call& call,
                          std::function<bool(std::string_view chunk)> on_chunk) = 0;
};

}  // namespace muster
