#include "app/agent/pull.hpp"

#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "app/agent/connect.hpp"
#include "base/text.hpp"
#include "edge/blob/file_store.hpp"
#include "edge/http/client.hpp"
#include "edge/http/code_door.hpp"
#include "edge/http/error_body.hpp"
#include "edge/http/same_token.hpp"
#include "edge/process/clocks.hpp"
#include "edge/tree/bundle_file.hpp"

namespace muster::agent {
namespace {

using std::chrono::seconds;

constexpr std::string_view kScheme = "http://";
constexpr Duration kConnect = seconds(3);
constexpr Duration kSilence = seconds(60);  // the other side may have to pack it first
constexpr Duration kRefused = seconds(30);
constexpr timespec kBetween{0, 200'000'000};

/// Takes the bytes of an answer; keeps the first failure.
class FileSink {
 public:
  explicit FileSink(int fd) : fd_(fd) {}
  bool take(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto put = ::write(fd_, bytes.data(), bytes.size());
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) {
        failed_ = fail_errno("cannot keep the code", errno);
        return false;
      }
      bytes.remove_prefix(static_cast<std::size_t>(put));
    }
    return true;
  }
  const Result<>& failed() const { return failed_; }

 private:
  int fd_;
  Result<> failed_;
};

}  // namespace

Result<CodeSource> source_at(std::string_view address, std::string token, const tree::Hash& id) {
  if (!address.starts_with(kScheme))
    return fail(Kind::usage, fmt::format("not an address: {}", printable(address)));
  TRY(auto tcp, http::parse_tcp_address(address.substr(kScheme.size())));
  return CodeSource{
      .host = std::move(tcp.host), .port = tcp.port, .token = std::move(token), .snapshot = id};
}

Result<UniqueFd> pull_once(const CodeSource& source, const std::string& folder) {
  TRY(auto socket, connect_to(source.host, source.port, kConnect));
  TRY(auto file, snapshot::file_without_name(folder));
  http::Connection connection(http::socket_channel(std::move(socket)),
                              {.name = fmt::format("{}:{}", source.host, source.port),
                               .host = source.host,
                               .fix = "do pods reach it?"},
                              kSilence, {});
  FileSink sink(file.get());
  const http::ClientRequest request{
      .target = fmt::format("{}{}", http::kCodeRoute, tree::to_hex(source.snapshot)),
      .headers = {{"Authorization", "Bearer " + source.token}}};
  const auto answer = connection.stream(
      request, [&](std::string_view bytes) { return sink.take(bytes); }, kSilence);
  TRY_VOID(sink.failed());
  if (!answer) return tl::unexpected<Error>(answer.error());
  if (answer->status / 100 != 2)
    return tl::unexpected<Error>(http::error_of(answer->status, answer->body));
  if (::lseek(file.get(), 0, SEEK_SET) != 0) return fail_errno("cannot read the code", errno);
  return file;
}

Result<UniqueFd> pull(const CodeSource& source, const std::string& folder, Duration patience) {
  const auto began = process::monotonic_now();
  for (;;) {
    auto done = pull_once(source, folder);
    if (done) return done;
    const auto waited = process::monotonic_now() - began;
    const auto kind = done.error().kind;
    const bool is_over = kind == Kind::denied        ? waited >= std::min(patience, kRefused)
                         : kind == Kind::unavailable ? waited >= patience
                                                     : true;
    if (is_over) return done;
    ::nanosleep(&kBetween, nullptr);
  }
}

Result<> serve_code(const Serving& serving) {
  FileStore blobs(serving.store);
  const http::CodeDesk desk{.may_take =
                                [&](std::string_view token, std::string_view snapshot) {
                                  return http::is_same_token(token, serving.token) &&
                                         snapshot == tree::to_hex(serving.snapshot);
                                },
                            .open = [&](const std::string&) -> Result<http::SharedFile> {
                              TRY(auto fd,
                                  snapshot::bundle_file(blobs, serving.snapshot, serving.folder));
                              return http::share_file(std::move(fd));
                            }};
  TRY(const auto door, http::CodeDoor::open({.host = {}, .port = serving.port}, desk));
  for (;;) ::pause();
}

}  // namespace muster::agent
