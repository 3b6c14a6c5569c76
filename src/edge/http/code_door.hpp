/// Where pods get the code of their job: `GET /v1/agent/snapshot/ID` over TCP with
/// `Authorization: Bearer TOKEN`, answered with the bytes of a file. Everything else is refused
/// alike, with 403: who asks learns nothing of what there is.
/// Two threads of its own, which end with it.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "edge/http/server.hpp"

namespace muster::http {

inline constexpr std::string_view kCodeRoute = "/v1/agent/snapshot/";

struct OpenFile {
  UniqueFd fd;
  std::uint64_t size = 0;
};
/// Shared by the answers that are under way; the last one closes it.
using SharedFile = std::shared_ptr<const OpenFile>;
Result<SharedFile> share_file(UniqueFd fd);

struct CodeDesk {
  /// On the thread that serves; must not block.
  std::function<bool(std::string_view token, std::string_view snapshot)> may_take;
  /// On a thread that may wait. Asked once for all who want the same at the same time.
  std::function<Result<SharedFile>(const std::string& snapshot)> open;
};

class CodeDoor {
 public:
  static Result<std::unique_ptr<CodeDoor>> open(const TcpAddress& address, CodeDesk desk);
  ~CodeDoor();
  int port() const;

 private:
  struct Inside;
  explicit CodeDoor(std::unique_ptr<Inside> inside);
  std::unique_ptr<Inside> inside_;
};

}  // namespace muster::http
