// Bodies that are written while they come to be.
#include <atomic>
#include <future>
#include <mutex>

#include "edge/http/sse.hpp"
#include "support.hpp"

namespace muster::http {
namespace {

/// Hands the stream of the first request to the test.
struct Offered {
  std::promise<std::shared_ptr<Stream>> promise;
  OnRequest on_request() {
    return [this](const std::shared_ptr<Exchange>& exchange) {
      promise.set_value(exchange->stream(200, "text/plain"));
    };
  }
  std::shared_ptr<Stream> get() { return promise.get_future().get(); }
};

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

TEST(HttpStream, WhatIsWrittenArrivesInOrderAndEnds) {
  Offered offered;
  Serving serving(offered.on_request());
  auto connection = serving.connect();
  std::thread producer([&] {
    const auto stream = offered.get();
    for (int i = 0; i < 1000; ++i) EXPECT_TRUE(stream->write(std::to_string(i) + " "));
    stream->close();
    EXPECT_FALSE(stream->write("after the end"));
  });
  std::string heard;
  const auto answer = connection.stream({}, [&](std::string_view chunk) {
    heard += chunk;
    return true;
  });
  producer.join();
  ASSERT_TRUE(answer) << to_text(answer.error());
  std::string expected;
  for (int i = 0; i < 1000; ++i) expected += std::to_string(i) + " ";
  EXPECT_EQ(heard, expected);
  EXPECT_TRUE(connection.is_usable());
}

TEST(HttpStream, ChunksArriveWhileTheStreamIsOpen) {
  Offered offered;
  Serving serving(offered.on_request());
  RawPeer peer(serving.socket_path());
  peer.say(kGet);
  const auto stream = offered.get();
  for (const auto* word : {"one", "two", "three"}) {
    stream->write(word);
    EXPECT_NE(peer.hear_until(word).find(word), std::string::npos);
  }
  EXPECT_FALSE(stream->is_closed());
}

TEST(HttpStream, ASlowReaderHoldsTheProducerBackWithinBoundedMemory) {
  constexpr std::size_t kTotal = 50'000'000;
  constexpr std::size_t kHold = 256 * 1024;
  const std::string piece(10'000, 'x');
  Offered offered;
  Serving serving(offered.on_request());
  auto connection = serving.connect();
  std::size_t most = 0;
  std::thread producer([&] {
    const auto stream = offered.get();
    for (std::size_t made = 0; made < kTotal; made += piece.size()) {
      ASSERT_TRUE(stream->write(piece));
      most = std::max(most, stream->pending());
      if (stream->pending() < kHold) continue;
      std::promise<void> drained;
      stream->on_drain([&] { drained.set_value(); });
      drained.get_future().get();
    }
    stream->close();
  });
  std::size_t heard = 0;
  const auto answer = connection.stream({}, [&](std::string_view chunk) {
    heard += chunk.size();
    std::this_thread::yield();
    return true;
  });
  producer.join();
  ASSERT_TRUE(answer) << to_text(answer.error());
  EXPECT_EQ(heard, kTotal);
  EXPECT_LE(most, kHold + piece.size());
}

TEST(HttpStream, AReaderThatDoesNotReadLeavesBytesPending) {
  Offered offered;
  Serving serving(offered.on_request());
  RawPeer peer(serving.socket_path());
  peer.say(kGet);
  const auto stream = offered.get();
  ASSERT_TRUE(stream->write(std::string(5'000'000, 'x')));
  std::atomic<bool> is_drained = false;
  stream->on_drain([&] { is_drained = true; });
  EXPECT_GT(stream->pending(), 0U);
  EXPECT_FALSE(is_drained);
  peer.hear([&](const std::string& heard) { return heard.size() > 5'000'000; });
  EXPECT_TRUE(eventually([&] { return is_drained.load(); }));
  EXPECT_EQ(stream->pending(), 0U);
}

TEST(HttpStream, OnDrainCallsBackAtOnceWhenNothingIsPending) {
  Offered offered;
  Serving serving(offered.on_request());
  RawPeer peer(serving.socket_path());
  peer.say(kGet);
  const auto stream = offered.get();
  std::promise<void> drained;
  stream->on_drain([&] { drained.set_value(); });
  drained.get_future().get();
}

TEST(HttpStream, TheProducerLearnsThatItsReaderLeft) {
  Offered offered;
  Serving serving(offered.on_request());
  RawPeer peer(serving.socket_path());
  peer.say(kGet);
  const auto stream = offered.get();
  stream->write(std::string(5'000'000, 'x'));
  std::promise<void> drained;
  stream->on_drain([&] { drained.set_value(); });
  peer.close();
  drained.get_future().get();
  EXPECT_TRUE(stream->is_closed());
  EXPECT_FALSE(stream->write("more"));
  EXPECT_TRUE(eventually([&] { return serving.server().connections() == 0; }));
}

TEST(HttpStream, AnIdleStreamNoticesThatItsReaderLeft) {
  Offered offered;
  Serving serving(offered.on_request());
  RawPeer peer(serving.socket_path());
  peer.say(kGet);
  const auto stream = offered.get();
  peer.close();
  EXPECT_TRUE(eventually([&] { return stream->is_closed(); }));
}

TEST(HttpStream, AStreamThatIsDroppedDoesNotLookComplete) {
  Serving serving([](const std::shared_ptr<Exchange>& exchange) {
    exchange->stream(200, "text/plain")->write("part");
  });
  auto connection = serving.connect();
  const auto answer = connection.stream({}, [](std::string_view) { return true; });
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, Kind::unavailable);
}

TEST(HttpStream, StoppingTheServerBreaksOpenStreamsOff) {
  std::mutex mutex;
  std::vector<std::shared_ptr<Stream>> streams;
  const auto open = [&] {
    const std::lock_guard lock(mutex);
    return streams.size();
  };
  Serving serving([&](const std::shared_ptr<Exchange>& exchange) {
    const std::lock_guard lock(mutex);
    streams.push_back(exchange->stream(200, "text/plain"));
  });
  std::vector<std::unique_ptr<RawPeer>> peers;
  for (int i = 0; i < 20; ++i) {
    peers.push_back(std::make_unique<RawPeer>(serving.socket_path()));
    peers.back()->say(kGet);
  }
  ASSERT_TRUE(eventually([&] { return open() == 20; }));
  std::atomic<int> drained = 0;
  for (const auto& stream : streams) {
    stream->write(std::string(1'000'000, 'x'));
    stream->on_drain([&] { ++drained; });
  }
  std::atomic<bool> is_over = false;
  std::thread producer([&] {
    while (!is_over)
      for (const auto& stream : streams)
        if (stream->pending() < 100'000) stream->write("more");
  });
  serving.stop();
  is_over = true;
  producer.join();
  EXPECT_EQ(drained, 20);
  for (const auto& stream : streams) EXPECT_FALSE(stream->write("after the stop"));
  std::promise<void> told;
  streams[0]->on_drain([&] { told.set_value(); });
  told.get_future().get();
  for (const auto& peer : peers)
    EXPECT_FALSE(peer->hear_all().ends_with("0\r\n\r\n")) << "a part must not look like the whole";
}

TEST(HttpStream, StreamsAndExchangesMayOutliveTheServer) {
  std::shared_ptr<Stream> stream;
  std::shared_ptr<Exchange> exchange;
  {
    std::promise<void> arrived;
    Serving serving([&](std::shared_ptr<Exchange> one) {
      exchange = std::move(one);
      stream = exchange->stream(200, "text/plain");
      arrived.set_value();
    });
    RawPeer peer(serving.socket_path());
    peer.say(kGet);
    arrived.get_future().get();
  }
  EXPECT_FALSE(stream->write("hello?"));
  stream->close();
  exchange->answer({});
}

TEST(HttpStream, HeadOfAStreamIsItsHeadOnly) {
  std::promise<std::shared_ptr<Stream>> offered;
  Serving serving([&](const std::shared_ptr<Exchange>& exchange) {
    offered.set_value(exchange->stream(200, "text/plain"));
  });
  auto connection = serving.connect();
  const auto answer = connection.call({.method = "HEAD"});
  ASSERT_TRUE(answer) << to_text(answer.error());
  EXPECT_EQ(find_header(answer->headers, "Transfer-Encoding"), "chunked");
  const auto stream = offered.get_future().get();
  EXPECT_TRUE(eventually([&] { return stream->is_closed(); }));
}

TEST(HttpStream, Http10ReadsUntilTheConnectionCloses) {
  Serving serving([](const std::shared_ptr<Exchange>& exchange) {
    const auto stream = exchange->stream(200, "text/plain");
    stream->write("hello ");
    stream->write("world");
    stream->close();
  });
  RawPeer peer(serving.socket_path());
  peer.say("GET / HTTP/1.0\r\n\r\n");
  const auto heard = peer.hear_all();
  EXPECT_TRUE(heard.ends_with("\r\n\r\nhello world")) << heard;
}

TEST(HttpStream, ManyThreadsMayWriteToOneStream) {
  Offered offered;
  Serving serving(offered.on_request());
  auto connection = serving.connect();
  std::thread producers([&] {
    const auto stream = offered.get();
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 1000; ++i) stream->write("line\n");
      });
    for (auto& thread : threads) thread.join();
    stream->close();
  });
  std::string heard;
  const auto answer = connection.stream({}, [&](std::string_view chunk) {
    heard += chunk;
    return true;
  });
  producers.join();
  ASSERT_TRUE(answer) << to_text(answer.error());
  EXPECT_EQ(heard.size(), 20'000U);
  EXPECT_EQ(count_of(heard, "line\n"), 4000U);
}

}  // namespace
}  // namespace muster::http
