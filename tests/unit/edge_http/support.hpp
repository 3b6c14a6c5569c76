/// A real server on a real socket, and a raw peer that says exactly what a test wants.
#pragma once
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "base/unique_fd.hpp"
#include "edge/http/client.hpp"
#include "edge/http/server.hpp"

namespace muster::http {

using namespace std::chrono_literals;

/// A folder of its own, removed with all that is in it.
class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "muster-http-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Looks again and again until it is so, or the deadline has passed.
inline bool eventually(const std::function<bool()>& is_so) {
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

/// Serves on a thread for as long as it lives.
class Serving {
 public:
  explicit Serving(OnRequest on_request, ServerOptions options = {}) {
    if (options.socket_path.empty()) options.socket_path = folder_.path() + "/socket";
    socket_path_ = options.socket_path;
    auto made = Server::listen(std::move(options), std::move(on_request));
    if (!made) {
      ADD_FAILURE() << to_text(made.error());
      std::abort();
    }
    server_ = std::move(*made);
    thread_ = std::thread([this] { server_->run(); });
  }
  ~Serving() { stop(); }
  void stop() {
    if (!thread_.joinable()) return;
    server_->stop();
    thread_.join();
  }

  Server& server() { return *server_; }
  const std::string& socket_path() const { return socket_path_; }
  Connection connect(Duration timeout = 60s) const {
    auto connection = Connection::open(socket_path_, timeout);
    if (!connection) {
      ADD_FAILURE() << to_text(connection.error());
      std::abort();
    }
    return std::move(*connection);
  }

 private:
  TempFolder folder_;
  std::string socket_path_;
  std::unique_ptr<Server> server_;
  std::thread thread_;
};

/// A peer without manners: bytes out, bytes in.
class RawPeer {
 public:
  explicit RawPeer(const std::string& path) {
    fd_ = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    while (::connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0)
      if (errno != EINTR && errno != EAGAIN) {
        ADD_FAILURE() << "connect: " << errno;
        break;
      }
  }
  /// False when the server has closed.
  bool say(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto count = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }
  void say_no_more() { ::shutdown(fd_.get(), SHUT_WR); }
  /// Everything until the server closes.
  std::string hear_all() {
    return hear([](const std::string&) { return false; });
  }
  /// Until the text has come (or the server closed).
  std::string hear_until(std::string_view text) {
    return hear([&](const std::string& heard) { return heard.find(text) != heard.npos; });
  }
  std::string hear(const std::function<bool(const std::string&)>& is_enough) {
    std::string heard;
    char buffer[65536];
    while (!is_enough(heard)) {
      pollfd watched{fd_.get(), POLLIN, 0};
      if (::poll(&watched, 1, 60'000) == 0) {
        ADD_FAILURE() << "the server says nothing; heard so far: " << heard;
        return heard;
      }
      const auto count = ::recv(fd_.get(), buffer, sizeof(buffer), 0);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) break;
      heard.append(buffer, static_cast<std::size_t>(count));
    }
    return heard;
  }
  int fd() const { return fd_.get(); }
  void close() { fd_.reset(); }

 private:
  UniqueFd fd_;
};

/// Says back what it was asked: "METHOD path [name=value ...] body".
inline void echo(const std::shared_ptr<Exchange>& exchange) {
  const auto& request = exchange->request();
  std::string text = request.method + " " + request.path;
  for (const auto& [name, value] : request.query) text += " " + name + "=" + value;
  if (!request.body.empty()) text += " " + request.body;
  exchange->answer({.status = 200, .content_type = "text/plain", .body = text});
}

inline std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

}  // namespace muster::http
