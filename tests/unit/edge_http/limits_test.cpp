// What a slow, silent, numerous or senseless peer can do to the server: nothing.
#include <atomic>
#include <mutex>

#include "support.hpp"

namespace muster::http {
namespace {

TEST(HttpLimits, ABodyTooLargeIsRefusedWithAReason) {
  Serving serving(echo, {.limits = {.body = 1000}});
  auto connection = serving.connect();
  const auto answer = connection.call({.method = "POST", .body = std::string(5'000'000, 'x')});
  ASSERT_TRUE(answer) << to_text(answer.error());
  EXPECT_EQ(answer->status, 413);
  EXPECT_NE(answer->body.find("\"kind\":\"usage\""), std::string::npos);
  EXPECT_FALSE(connection.is_usable());
}

TEST(HttpLimits, AChunkedBodyTooLargeIsRefused) {
  Serving serving(echo, {.limits = {.body = 1000}});
  RawPeer peer(serving.socket_path());
  std::string all = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 11; ++i) all += "64\r\n" + std::string(100, 'x') + "\r\n";
  peer.say(all);
  EXPECT_TRUE(peer.hear_all().starts_with("HTTP/1.1 413 "));
}

TEST(HttpLimits, AHeaderTooLargeIsRefusedHoweverItIsCut) {
  Serving serving(echo);
  for (const std::size_t piece : {std::size_t{100'000}, std::size_t{1000}}) {
    RawPeer peer(serving.socket_path());
    std::string all = "GET / HTTP/1.1\r\nHost: x\r\n";
    while (all.size() < 100'000) all += "X-Pad: " + std::string(200, 'p') + "\r\n";
    for (std::size_t at = 0; at < all.size(); at += piece)
      if (!peer.say(std::string_view(all).substr(at, piece))) break;
    EXPECT_TRUE(peer.hear_all().starts_with("HTTP/1.1 431 ")) << piece;
  }
}

TEST(HttpLimits, EndlessChunkLinesAndTrailersAreRefused) {
  Serving serving(echo, {.limits = {.header = 2000}});
  for (const std::string start : {"5;x=", "0\r\nX: "}) {
    RawPeer peer(serving.socket_path());
    peer.say("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + start);
    for (int i = 0; i < 100 && peer.say(std::string(100, 'a')); ++i) {
    }
    EXPECT_TRUE(peer.hear_all().starts_with("HTTP/1.1 4")) << start;
  }
}

TEST(HttpLimits, GarbageGetsAnAnswerAndHarmsNobody) {
  using namespace std::string_literals;
  const std::vector<std::string> nasty = {
      "garbage\r\n\r\n",
      "\0\0\0\0\r\n\r\n"s,
      "GET\r\n\r\n",
      "GET / HTTP/9.9\r\nHost: x\r\n\r\n",
      "GET / HTTP/2.0\r\nHost: x\r\n\r\n",
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
      "GET / HTTP/1.1\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
      "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
      "GET / HTTP/1.1\r\n Host: a\r\n\r\n",
      "GET / HTTP/1.1\nHost: a\n\n\r\n\r\n",
      "GET nowhere HTTP/1.1\r\nHost: x\r\n\r\n",
      "GET /?%zz HTTP/1.1\r\nHost: x\r\n\r\n",
      "GET /?a=%4 HTTP/1.1\r\nHost: x\r\n\r\n",
      "GET /a b HTTP/1.1\r\nHost: x\r\n\r\n",
      "G\x01T / HTTP/1.1\r\nHost: x\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: x\r\nX: a\0b\r\n\r\n"s,
      "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1x\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
      "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: "
      "chunked\r\n\r\n0\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: "
      "1\r\n\r\n0\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloXX0\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
      std::string(70'000, 'A'),
      "GET / HTTP/1.1\r\nHost: x\r\n" + std::string(70'000, 'A'),
  };
  Serving serving(echo);
  for (const auto& bytes : nasty) {
    RawPeer peer(serving.socket_path());
    peer.say(bytes);
    const auto heard = peer.hear_all();
    EXPECT_TRUE(heard.starts_with("HTTP/1.1 4")) << bytes.substr(0, 80) << "\n-> " << heard;
    EXPECT_NE(heard.find("\"kind\":\"usage\""), heard.npos) << bytes.substr(0, 80);
    EXPECT_EQ(count_of(heard, "Content-Length: "), 1U)
        << "after a refusal nothing is read any more";
  }
  auto connection = serving.connect();
  EXPECT_TRUE(connection.call({}));
}

TEST(HttpLimits, ARequestThatEndsInTheMiddleIsRefused) {
  Serving serving(echo);
  for (const auto* part : {"GET / HT", "GET / HTTP/1.1\r\nHost: x\r\n",
                           "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhell"}) {
    RawPeer peer(serving.socket_path());
    peer.say(part);
    peer.say_no_more();
    EXPECT_TRUE(peer.hear_all().starts_with("HTTP/1.1 400 ")) << part;
  }
}

TEST(HttpLimits, ASilentPeerIsPutOut) {
  Serving serving(echo, {.header_timeout = 30ms});
  RawPeer peer(serving.socket_path());
  EXPECT_EQ(peer.hear_all(), "");
  EXPECT_TRUE(eventually([&] { return serving.server().connections() == 0; }));
}

TEST(HttpLimits, AHeaderThatTricklesIsCutOff) {
  Serving serving(echo, {.header_timeout = 50ms});
  RawPeer peer(serving.socket_path());
  peer.say("GET / HTTP/1.1\r\n");
  // One byte now and then must not extend the deadline.
  std::atomic<bool> is_over = false;
  std::thread trickle([&] {
    while (!is_over && peer.say("a")) std::this_thread::sleep_for(5ms);
  });
  EXPECT_TRUE(peer.hear_until("\r\n").starts_with("HTTP/1.1 408 "));
  is_over = true;
  trickle.join();
}

TEST(HttpLimits, ABodyThatStopsComingIsCutOff) {
  Serving serving(echo, {.body_timeout = 50ms});
  RawPeer peer(serving.socket_path());
  peer.say("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhell");
  EXPECT_TRUE(peer.hear_until("\r\n").starts_with("HTTP/1.1 408 "));
}

TEST(HttpLimits, AKeptConnectionIsClosedWhenIdleForLong) {
  Serving serving(echo, {.keep_alive_timeout = 30ms});
  auto connection = serving.connect();
  ASSERT_TRUE(connection.call({}));
  EXPECT_TRUE(eventually([&] { return !connection.is_usable(); }));
}

TEST(HttpLimits, APeerThatNeverReadsItsAnswerIsPutOut) {
  Serving serving(
      [](const std::shared_ptr<Exchange>& exchange) {
        exchange->answer({.body = std::string(10'000'000, 'x')});
      },
      {.write_timeout = 50ms});
  RawPeer peer(serving.socket_path());
  peer.say("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_TRUE(eventually([&] { return serving.server().connections() == 1; }));
  EXPECT_TRUE(eventually([&] { return serving.server().connections() == 0; }));
}

TEST(HttpLimits, SilentConnectionsMakeRoomForOnesThatTalk) {
  Serving serving(echo, {.max_connections = 50});
  std::vector<std::unique_ptr<RawPeer>> silent;
  for (int i = 0; i < 500; ++i) {
    silent.push_back(std::make_unique<RawPeer>(serving.socket_path()));
    if (i % 50 != 0) continue;
    auto connection = serving.connect();
    const auto answer = connection.call({.target = "/me"});
    ASSERT_TRUE(answer) << to_text(answer.error());
    EXPECT_EQ(answer->status, 200);
  }
  EXPECT_LE(serving.server().connections(), 50U);
}

TEST(HttpLimits, BusyConnectionsPastTheLimitAreTurnedAwayInWords) {
  std::mutex mutex;
  std::vector<std::shared_ptr<Exchange>> kept;
  const auto arrived = [&] {
    const std::lock_guard lock(mutex);
    return kept.size();
  };
  Serving serving(
      [&](std::shared_ptr<Exchange> exchange) {
        const std::lock_guard lock(mutex);
        kept.push_back(std::move(exchange));
      },
      {.max_connections = 3});
  std::vector<std::unique_ptr<RawPeer>> busy;
  for (int i = 0; i < 3; ++i) {
    busy.push_back(std::make_unique<RawPeer>(serving.socket_path()));
    busy.back()->say("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  ASSERT_TRUE(eventually([&] { return arrived() == 3; }));
  auto connection = serving.connect();
  const auto answer = connection.call({.method = "POST", .body = "one more"});
  ASSERT_TRUE(answer) << to_text(answer.error());
  EXPECT_EQ(answer->status, 503);
  EXPECT_NE(answer->body.find("\"kind\":\"unavailable\""), std::string::npos);
}

TEST(HttpLimits, AThousandConnectionsAreServedAtOnce) {
  std::mutex mutex;
  std::vector<std::shared_ptr<Exchange>> kept;
  Serving serving([&](std::shared_ptr<Exchange> exchange) {
    // Nobody is answered before everybody has asked.
    const std::lock_guard lock(mutex);
    kept.push_back(std::move(exchange));
    if (kept.size() == 1000)
      for (const auto& one : std::exchange(kept, {})) echo(one);
  });
  std::vector<std::unique_ptr<RawPeer>> peers;
  for (int i = 0; i < 1000; ++i) {
    peers.push_back(std::make_unique<RawPeer>(serving.socket_path()));
    peers.back()->say("GET /" + std::to_string(i) + "! HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  for (int i = 0; i < 1000; ++i) {
    const auto mine = "GET /" + std::to_string(i) + "!";
    EXPECT_NE(peers[static_cast<std::size_t>(i)]->hear_until("!").find(mine), std::string::npos);
  }
  EXPECT_EQ(serving.server().connections(), 1000U);
}

}  // namespace
}  // namespace muster::http
