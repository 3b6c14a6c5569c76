// Requests and answers over real sockets.
#include <sys/wait.h>

#include <atomic>
#include <future>
#include <mutex>

#include "support.hpp"

namespace muster::http {
namespace {

TEST(HttpServer, AnswersARequestWithItsParts) {
  Serving serving(echo);
  auto connection = serving.connect();
  const auto answer =
      connection.call({.method = "POST", .target = "/v1/x?a=1%202&b=", .body = "hello"});
  ASSERT_TRUE(answer) << to_text(answer.error());
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, "POST /v1/x a=1 2 b= hello");
  EXPECT_EQ(find_header(answer->headers, "content-type"), "text/plain");
}

TEST(HttpServer, ServesManyRequestsOnOneConnection) {
  Serving serving(echo);
  auto connection = serving.connect();
  for (int i = 0; i < 100; ++i) {
    const auto answer = connection.call({.target = "/" + std::to_string(i)});
    ASSERT_TRUE(answer) << to_text(answer.error());
    EXPECT_EQ(answer->body, "GET /" + std::to_string(i));
    EXPECT_TRUE(connection.is_usable());
  }
  EXPECT_EQ(serving.server().connections(), 1U);
}

TEST(HttpServer, AnswersPipelinedRequestsInOrder) {
  // The first answers come from other threads, late and out of order.
  std::vector<std::thread> workers;
  std::mutex mutex;
  Serving serving([&](const std::shared_ptr<Exchange>& exchange) {
    const std::lock_guard lock(mutex);
    workers.emplace_back([exchange] { echo(exchange); });
  });
  RawPeer peer(serving.socket_path());
  std::string all;
  for (int i = 0; i < 200; ++i) all += "GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\n\r\n";
  peer.say(all + "GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const auto heard = peer.hear_all();
  std::size_t at = 0;
  for (int i = 0; i < 200; ++i) {
    at = heard.find("GET /" + std::to_string(i), at);
    ASSERT_NE(at, heard.npos) << i;
  }
  EXPECT_NE(heard.find("GET /last", at), heard.npos);
  serving.stop();
  for (auto& worker : workers) worker.join();
}

TEST(HttpServer, TakesChunkedBodiesAndDropsTheirTrailers) {
  Serving serving([](const std::shared_ptr<Exchange>& exchange) {
    exchange->answer({.body = exchange->request().body + exchange->request().header("X-Late")});
  });
  RawPeer peer(serving.socket_path());
  peer.say("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n");
  peer.say("5\r\nhello\r\n1;ext=1\r\n,\r\n6\r\n world\r\n0\r\nX-Late: smuggled\r\n\r\n");
  const auto heard = peer.hear_all();
  EXPECT_NE(heard.find("\r\n\r\nhello, world"), heard.npos) << heard;
  EXPECT_EQ(heard.find("smuggled"), heard.npos);
}

TEST(HttpServer, CarriesLargeBodiesBothWaysUnchanged) {
  Serving serving([](const std::shared_ptr<Exchange>& exchange) {
    exchange->answer({.body = exchange->request().body});
  });
  std::string body(20'000'000, '\0');
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>(i * 7 + i / 251);
  auto connection = serving.connect();
  const auto answer = connection.call({.method = "POST", .body = body});
  ASSERT_TRUE(answer) << to_text(answer.error());
  EXPECT_TRUE(answer->body == body);
}

TEST(HttpServer, SendsNoBodyForHead) {
  Serving serving(echo);
  RawPeer peer(serving.socket_path());
  peer.say(
      "HEAD /x HTTP/1.1\r\nHost: x\r\n\r\nGET /y HTTP/1.1\r\nHost: x\r\n"
      "Connection: close\r\n\r\n");
  const auto heard = peer.hear_all();
  EXPECT_EQ(heard.find("HEAD /x"), heard.npos);
  EXPECT_NE(heard.find("Content-Length: 7"), heard.npos) << heard;
  EXPECT_NE(heard.find("GET /y"), heard.npos);
}

TEST(HttpServer, TellsAWaitingClientToContinue) {
  Serving serving(echo);
  RawPeer peer(serving.socket_path());
  peer.say(
      "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n"
      "Connection: close\r\n\r\n");
  EXPECT_EQ(peer.hear_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  peer.say("hello");
  EXPECT_NE(peer.hear_all().find("POST / hello"), std::string::npos);
}

TEST(HttpServer, ClosesAfterHttp10) {
  Serving serving(echo);
  RawPeer peer(serving.socket_path());
  peer.say("GET /old HTTP/1.0\r\n\r\n");
  const auto heard = peer.hear_all();
  EXPECT_NE(heard.find("GET /old"), heard.npos);
  EXPECT_NE(heard.find("Connection: close"), heard.npos);
}

TEST(HttpServer, AnswersAPeerThatOnlyStoppedSending) {
  Serving serving(echo);
  RawPeer peer(serving.socket_path());
  peer.say("GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n");
  peer.say_no_more();
  const auto heard = peer.hear_all();
  EXPECT_NE(heard.find("GET /1"), heard.npos);
  EXPECT_NE(heard.find("GET /2"), heard.npos);
}

TEST(HttpServer, AnExchangeThatIsDroppedAnswersByItself) {
  Serving serving([](const std::shared_ptr<Exchange>&) {});
  auto connection = serving.connect();
  const auto answer = connection.call({.target = "/lost"});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 500);
  EXPECT_NE(answer->body.find("\"kind\":\"internal\""), std::string::npos) << answer->body;
}

TEST(HttpServer, OnlyTheFirstAnswerCounts) {
  Serving serving([](const std::shared_ptr<Exchange>& exchange) {
    exchange->answer({.body = "first"});
    exchange->answer({.body = "second"});
    EXPECT_FALSE(exchange->stream(200, "text/plain")->write("third"));
  });
  auto connection = serving.connect();
  for (int i = 0; i < 3; ++i) {
    const auto answer = connection.call({});
    ASSERT_TRUE(answer) << to_text(answer.error());
    EXPECT_EQ(answer->body, "first");
  }
}

TEST(HttpServer, HeaderValuesCannotSplitAnAnswer) {
  Serving serving([](const std::shared_ptr<Exchange>& exchange) {
    exchange->answer({.body = "x", .headers = {{"X-Name", "a\r\nX-Evil: 1"}}});
  });
  auto connection = serving.connect();
  const auto answer = connection.call({});
  ASSERT_TRUE(answer);
  EXPECT_EQ(find_header(answer->headers, "X-Evil"), "");
  EXPECT_EQ(find_header(answer->headers, "X-Name"), "a  X-Evil: 1");
}

TEST(HttpServer, KnowsItsPeerByTheKernelsWord) {
  std::atomic<std::uint32_t> uid = 12345;
  std::atomic<int> pid = 0;
  Serving serving([&](const std::shared_ptr<Exchange>& exchange) {
    uid = exchange->request().peer_uid;
    pid = exchange->request().peer_pid;
    exchange->answer({});
  });
  auto connection = serving.connect();
  ASSERT_TRUE(connection.call({}));
  EXPECT_EQ(uid, ::geteuid());
  EXPECT_EQ(pid, ::getpid());
}

TEST(HttpServer, TurnsOtherUsersAway) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become somebody else";
  std::atomic<int> served = 0;
  Serving serving([&](const std::shared_ptr<Exchange>& exchange) {
    ++served;
    exchange->answer({});
  });
  // The file's mode would already keep them out; open the way to the second door.
  namespace fs = std::filesystem;
  fs::permissions(fs::path(serving.socket_path()).parent_path(), fs::perms(0755));
  fs::permissions(serving.socket_path(), fs::perms(0666));
  const auto child = ::fork();
  if (child == 0) {
    if (::setuid(65534) != 0) ::_exit(2);
    auto connection = Connection::open(serving.socket_path(), 30s);
    if (!connection) ::_exit(3);
    const auto answer = connection->call({.method = "POST", .body = "let me in"});
    if (!answer) ::_exit(4);
    const bool is_clear = answer->body.find("\"kind\":\"denied\"") != std::string::npos;
    ::_exit(answer->status == 403 && is_clear ? 0 : 5);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(served, 0);
}

TEST(HttpServer, ThePathOfItsSocketMayBeLong) {
  TempFolder folder;
  std::string deep = folder.path();
  for (int i = 0; i < 4; ++i) deep += "/" + std::string(100, 'd');
  std::filesystem::create_directories(deep);
  Serving serving(echo, {.socket_path = deep + "/socket"});
  auto connection = serving.connect();
  const auto answer = connection.call({.target = "/far"});
  ASSERT_TRUE(answer) << to_text(answer.error());
  EXPECT_EQ(answer->body, "GET /far");
}

TEST(HttpServer, ItsSocketIsPrivateAndGoesWithIt) {
  TempFolder folder;
  const auto path = folder.path() + "/socket";
  const auto mask = ::umask(0);
  {
    Serving serving(echo, {.socket_path = path});
    struct stat there{};
    ASSERT_EQ(::stat(path.c_str(), &there), 0);
    EXPECT_EQ(there.st_mode & 07777U, 0600U);
  }
  ::umask(mask);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(HttpServer, ReplacesASocketThatWasLeftBehind) {
  TempFolder folder;
  const auto path = folder.path() + "/socket";
  UniqueFd stale(::socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(stale.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  stale.reset();
  Serving serving(echo, {.socket_path = path});
  auto connection = serving.connect();
  EXPECT_TRUE(connection.call({}));
}

TEST(HttpServer, LeavesAFileInItsWayAlone) {
  TempFolder folder;
  const auto path = folder.path() + "/socket";
  std::filesystem::create_directory(path);
  const auto server = Server::listen({.socket_path = path}, echo);
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().kind, Kind::conflict);
  EXPECT_TRUE(std::filesystem::is_directory(path));
}

TEST(HttpServer, DoesNotRemoveTheSocketOfItsSuccessor) {
  TempFolder folder;
  const auto path = folder.path() + "/socket";
  auto first = std::make_unique<Serving>(echo, ServerOptions{.socket_path = path});
  Serving second(echo, {.socket_path = path});
  first.reset();
  auto connection = second.connect();
  EXPECT_TRUE(connection.call({}));
}

TEST(HttpServer, RunsPostedWorkAndTimersOnItsThread) {
  Serving serving(echo);
  std::promise<std::thread::id> posted;
  std::promise<std::thread::id> timed;
  serving.server().post([&] { posted.set_value(std::this_thread::get_id()); });
  serving.server().after(1ms, [&] { timed.set_value(std::this_thread::get_id()); });
  const auto thread = posted.get_future().get();
  EXPECT_EQ(thread, timed.get_future().get());
  EXPECT_NE(thread, std::this_thread::get_id());
}

TEST(HttpServer, StopsWithTimersSetAndAnswersOpen) {
  std::vector<std::shared_ptr<Exchange>> kept;
  Serving serving([&](std::shared_ptr<Exchange> exchange) { kept.push_back(std::move(exchange)); });
  serving.server().after(1h, [] { FAIL(); });
  auto connection = serving.connect();
  std::thread caller([&] {
    const auto answer = connection.call({.target = "/slow"});
    ASSERT_TRUE(answer) << to_text(answer.error());
    EXPECT_EQ(answer->status, 503);
  });
  // A request on its way is counted as activity; stop once it has arrived.
  std::atomic<std::size_t> arrived = 0;
  EXPECT_TRUE(eventually([&] {
    serving.server().post([&] { arrived = kept.size(); });
    return arrived == 1;
  }));
  serving.stop();
  caller.join();
  kept[0]->answer({.body = "too late"});  // and harmless
  serving.server().post([] { FAIL(); });
}

TEST(HttpServer, AnAnswerGivenBeforeStopIsDelivered) {
  Server* server = nullptr;
  std::atomic<bool> is_ready = false;
  Serving serving([&](const std::shared_ptr<Exchange>& exchange) {
    EXPECT_TRUE(is_ready);
    exchange->answer({.body = std::string(5'000'000, 'x')});
    server->stop();
  });
  server = &serving.server();
  is_ready = true;
  auto connection = serving.connect();
  const auto answer = connection.call({.method = "POST", .target = "/v1/server:stop"});
  ASSERT_TRUE(answer) << to_text(answer.error());
  EXPECT_EQ(answer->body.size(), 5'000'000U);
  EXPECT_FALSE(Connection::open(serving.socket_path(), 1s));
}

}  // namespace
}  // namespace muster::http
