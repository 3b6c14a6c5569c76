// The client against servers that are absent, silent, lying or talking nonsense.
#include <atomic>

#include "support.hpp"

namespace muster::http {
namespace {

/// Accepts one connection, says what it is told, and closes when told to.
class FakeServer {
 public:
  enum class Then { close, keep_open };
  FakeServer(std::string answer, Then then) {
    path_ = folder_.path() + "/socket";
    listener_ = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(::listen(listener_.get(), 5), 0);
    thread_ = std::thread([this, answer = std::move(answer), then] {
      peer_ = UniqueFd(::accept(listener_.get(), nullptr, nullptr));
      char request[4096];
      if (::recv(peer_.get(), request, sizeof(request), 0) <= 0) return;
      ::send(peer_.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
      if (then == Then::close) peer_.reset();
    });
  }
  ~FakeServer() { thread_.join(); }
  const std::string& path() const { return path_; }

 private:
  TempFolder folder_;
  std::string path_;
  UniqueFd listener_;
  UniqueFd peer_;
  std::thread thread_;
};

Result<ClientResponse> ask(const FakeServer& server, Duration timeout = 60s) {
  auto connection = Connection::open(server.path(), timeout);
  if (!connection) return tl::unexpected(connection.error());
  return connection->call({.target = "/x"});
}

TEST(HttpClient, SaysThatNobodyIsThere) {
  TempFolder folder;
  for (const auto& path : {folder.path() + "/none", folder.path() + "/no/folder",
                           folder.path() + "/" + std::string(200, 'x') + "/socket"}) {
    const auto connection = Connection::open(path, 1s);
    ASSERT_FALSE(connection);
    EXPECT_EQ(connection.error().kind, Kind::unavailable);
    EXPECT_NE(connection.error().what.find(path), std::string::npos);
    EXPECT_FALSE(connection.error().fix.empty());
  }
}

TEST(HttpClient, SaysThatTheLastServerIsGone) {
  TempFolder folder;
  const auto path = folder.path() + "/socket";
  UniqueFd stale(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(stale.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  const auto connection = Connection::open(path, 1s);
  ASSERT_FALSE(connection);
  EXPECT_EQ(connection.error().kind, Kind::unavailable);
}

TEST(HttpClient, CallsGarbageCorruptAndNamesTheSocket) {
  using namespace std::string_literals;
  for (const auto& garbage :
       {"garbage garbage\r\n\r\n"s, "\0\0\0\0\0\0"s, "HTTP/1.1 abc OK\r\n\r\n"s, "SSH-2.0-x\r\n"s,
        "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"s,
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n"s,
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n"s,
        "HTTP/1.1 200 OK\r\n"s + std::string(100'000, 'x')}) {
    FakeServer server(garbage, FakeServer::Then::close);
    const auto answer = ask(server);
    ASSERT_FALSE(answer) << garbage;
    EXPECT_EQ(answer.error().kind, Kind::corrupt) << garbage.substr(0, 60);
    EXPECT_NE(answer.error().where.find(server.path()), std::string::npos);
  }
}

TEST(HttpClient, DoesNotTakeAPartForTheWhole) {
  for (const auto* part : {"", "HTTP/1.1 200", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello",
                           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
                           "HTTP/1.1 100 Continue\r\n\r\n"}) {
    FakeServer server(part, FakeServer::Then::close);
    const auto answer = ask(server);
    ASSERT_FALSE(answer) << part;
    EXPECT_EQ(answer.error().kind, Kind::unavailable) << part;
  }
}

TEST(HttpClient, ReadsABodyWithoutLengthUntilTheEnd) {
  FakeServer server("HTTP/1.1 200 OK\r\n\r\nall of it", FakeServer::Then::close);
  const auto answer = ask(server);
  ASSERT_TRUE(answer) << to_text(answer.error());
  EXPECT_EQ(answer->body, "all of it");
}

TEST(HttpClient, PassesOverInterimAnswers) {
  FakeServer server(
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Wait\r\n\r\n"
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
      FakeServer::Then::keep_open);
  const auto answer = ask(server);
  ASSERT_TRUE(answer) << to_text(answer.error());
  EXPECT_EQ(answer->body, "ok");
}

TEST(HttpClient, DoesNotReuseAConnectionThatSaysTooMuch) {
  FakeServer server("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok and more",
                    FakeServer::Then::keep_open);
  auto connection = Connection::open(server.path(), 60s);
  ASSERT_TRUE(connection);
  ASSERT_TRUE(connection->call({}));
  EXPECT_FALSE(connection->is_usable());
  const auto again = connection->call({});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, Kind::unavailable);
}

TEST(HttpClient, GivesUpOnASilentServer) {
  FakeServer server("", FakeServer::Then::keep_open);
  const auto answer = ask(server, 20ms);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, Kind::unavailable);
}

TEST(HttpClient, IsBrokenOffByADescriptor) {
  FakeServer server("", FakeServer::Then::keep_open);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const UniqueFd reading(ends[0]);
  const UniqueFd writing(ends[1]);
  auto connection = Connection::open(server.path(), 60s, {.fd = reading.get()});
  ASSERT_TRUE(connection);
  std::thread stopper([&] { ASSERT_EQ(::write(writing.get(), "x", 1), 1); });
  const auto answer = connection->call({});
  stopper.join();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, Kind::cancelled);
}

TEST(HttpClient, IsBrokenOffByAFlag) {
  FakeServer server("", FakeServer::Then::keep_open);
  std::atomic<bool> flag = false;
  auto connection = Connection::open(server.path(), 60s, {.flag = &flag});
  ASSERT_TRUE(connection);
  std::thread stopper([&] { flag = true; });
  const auto answer = connection->call({});
  stopper.join();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, Kind::cancelled);
}

TEST(HttpClient, StopsAStreamWhenItHasEnough) {
  std::shared_ptr<Stream> stream;
  Serving serving([&](const std::shared_ptr<Exchange>& exchange) {
    stream = exchange->stream(200, "text/plain");
    stream->write("enough");
  });
  auto connection = serving.connect();
  const auto answer = connection.stream({}, [](std::string_view) { return false; });
  ASSERT_TRUE(answer) << to_text(answer.error());
  EXPECT_FALSE(connection.is_usable()) << "the rest of the stream is unread";
}

TEST(HttpClient, ReturnsARefusedStreamWhole) {
  Serving serving([](const std::shared_ptr<Exchange>& exchange) {
    exchange->answer({.status = 404, .body = "no such job"});
  });
  auto connection = serving.connect();
  const auto answer = connection.stream({}, [](std::string_view) {
    ADD_FAILURE() << "no chunk of an error";
    return true;
  });
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 404);
  EXPECT_EQ(answer->body, "no such job");
  EXPECT_TRUE(connection.is_usable());
}

TEST(HttpClient, RefusesToSendWhatWouldArriveDifferently) {
  Serving serving(echo);
  for (const auto& request :
       {ClientRequest{.target = "/a b"}, ClientRequest{.target = "x"},
        ClientRequest{.target = "/\r\nX: 1"}, ClientRequest{.headers = {{"X", "1\r\nY: 2"}}}}) {
    auto connection = serving.connect();
    const auto answer = connection.call(request);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().kind, Kind::usage);
  }
}

}  // namespace
}  // namespace muster::http
