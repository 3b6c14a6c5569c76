#include "edge/http/code_door.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "edge/http/error_body.hpp"

namespace muster::http {
namespace {

using Ask = std::shared_ptr<Exchange>;

constexpr std::size_t kPiece = 256 * 1024;
constexpr std::size_t kAhead = 1U << 20;  // of what a peer has taken
constexpr std::string_view kBearer = "Bearer ";
constexpr ReaderLimits kLimits{.header = 8 * 1024, .body = 1024};
constexpr std::size_t kMostConnections = 1024;

/// The bytes of a file, as fast as the peer takes them. The server's thread, after the first call.
class FileAnswer : public std::enable_shared_from_this<FileAnswer> {
 public:
  FileAnswer(SharedFile file, std::shared_ptr<Stream> stream)
      : file_(std::move(file)), stream_(std::move(stream)) {}

  void pump() {
    while (stream_->pending() < kAhead) {
      if (at_ == file_->size) return stream_->close();
      std::string piece(std::min<std::uint64_t>(kPiece, file_->size - at_), '\0');
      const auto got =
          ::pread(file_->fd.get(), piece.data(), piece.size(), static_cast<off_t>(at_));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return;  // the connection breaks off: nobody takes a part for the whole
      piece.resize(static_cast<std::size_t>(got));
      at_ += piece.size();
      if (!stream_->write(std::move(piece))) return;
    }
    stream_->on_drain([self = shared_from_this()] { self->pump(); });
  }

 private:
  SharedFile file_;
  std::shared_ptr<Stream> stream_;
  std::uint64_t at_ = 0;
};

void refuse(const Ask& ask, Kind kind, std::string what) {
  ask->answer(
      error_response({.kind = kind, .what = std::move(what), .where = {}, .why = {}, .fix = {}}));
}

}  // namespace

Result<SharedFile> share_file(UniqueFd fd) {
  struct stat about{};
  if (::fstat(fd.get(), &about) != 0) return fail_errno("cannot look at a file", errno);
  return std::make_shared<const OpenFile>(
      OpenFile{std::move(fd), static_cast<std::uint64_t>(about.st_size)});
}

struct CodeDoor::Inside {
  explicit Inside(CodeDesk given) : desk(std::move(given)) {}
  ~Inside();

  void answer(const Ask& ask);
  void work();
  void fetch(const std::string& snapshot, const Ask& ask);

  struct Wanted {
    std::string snapshot;
    Ask ask;
  };
  CodeDesk desk;
  std::unique_ptr<Server> server;
  std::mutex mutex;  // guards the next two
  std::deque<Wanted> wanted;
  bool is_over = false;
  std::condition_variable changed;
  std::map<std::string, std::weak_ptr<const OpenFile>> open;  // the worker's own
  std::thread serving;
  std::thread working;
};

void CodeDoor::Inside::answer(const Ask& ask) {
  const auto& request = ask->request();
  const auto proof = request.header("authorization");
  const auto path = std::string_view(request.path);
  const bool is_route = request.method == "GET" && path.starts_with(kCodeRoute);
  const auto snapshot = std::string(is_route ? path.substr(kCodeRoute.size()) : "");
  if (!proof.starts_with(kBearer) ||
      !desk.may_take(std::string_view(proof).substr(kBearer.size()), snapshot))
    return refuse(ask, Kind::denied, "no live job with this token runs this code");
  {
    const std::lock_guard hold(mutex);
    wanted.push_back({snapshot, ask});
  }
  changed.notify_one();
}

void CodeDoor::Inside::work() {
  std::unique_lock lock(mutex);
  for (;;) {
    changed.wait(lock, [this] { return is_over || !wanted.empty(); });
    if (is_over) return;
    const auto next = std::move(wanted.front());
    wanted.pop_front();
    lock.unlock();
    fetch(next.snapshot, next.ask);
    lock.lock();
  }
}

void CodeDoor::Inside::fetch(const std::string& snapshot, const Ask& ask) {
  std::erase_if(open, [](const auto& one) { return one.second.expired(); });
  auto file = open[snapshot].lock();
  if (!file) {
    auto made = desk.open(snapshot);
    if (!made) return ask->answer(error_response(made.error()));
    open[snapshot] = file = std::move(*made);
  }
  std::make_shared<FileAnswer>(std::move(file), ask->stream(200, "application/octet-stream"))
      ->pump();
}

CodeDoor::Inside::~Inside() {
  if (server) server->stop();
  if (serving.joinable()) serving.join();
  {
    const std::lock_guard hold(mutex);
    is_over = true;
  }
  changed.notify_all();
  if (working.joinable()) working.join();
}

CodeDoor::CodeDoor(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}
CodeDoor::~CodeDoor() = default;

Result<std::unique_ptr<CodeDoor>> CodeDoor::open(const TcpAddress& address, CodeDesk desk) {
  auto inside = std::make_unique<Inside>(std::move(desk));
  auto* const self = inside.get();
  TRY(self->server, Server::listen({.socket_path = {},
                                    .tcp = address,
                                    .limits = kLimits,
                                    .max_connections = kMostConnections},
                                   [self](const Ask& ask) { self->answer(ask); }));
  self->serving = std::thread([self] { self->server->run(); });
  self->working = std::thread([self] { self->work(); });
  return std::unique_ptr<CodeDoor>(new CodeDoor(std::move(inside)));
}

int CodeDoor::port() const { return inside_->server->port(); }

}  // namespace muster::http
