#include "edge/kube/watch.hpp"

#include <gtest/gtest.h>

#include <condition_variable>

#include "base/text.hpp"
#include "core/model/json.hpp"
#include "edge/kube/watch_lines.hpp"
#include "unit/edge_kube/fake_server.hpp"

namespace muster::kube {
namespace {

using namespace std::chrono_literals;

/// What a sink saw, as words: "begin +a *b -c synced !410".
class Diary {
 public:
  WatchSink sink() {
    return {.begin = [this] { note("begin"); },
            .change =
                [this](Change change, const json::object& object) {
                  const char* sign = change == Change::added      ? "+"
                                     : change == Change::modified ? "*"
                                                                  : "-";
                  note(sign + std::string(text_at(object.at("metadata").as_object(), "name")));
                },
            .synced = [this] { note("synced"); },
            .trouble =
                [this](const ApiError& error) {
                  const std::lock_guard lock(mutex_);
                  troubles_.push_back(error);
                }};
  }
  std::string text() const {
    const std::lock_guard lock(mutex_);
    return join(words_, " ");
  }
  std::vector<ApiError> troubles() const {
    const std::lock_guard lock(mutex_);
    return troubles_;
  }

 private:
  void note(std::string word) {
    const std::lock_guard lock(mutex_);
    words_.push_back(std::move(word));
  }
  mutable std::mutex mutex_;
  std::vector<std::string> words_;
  std::vector<ApiError> troubles_;
};

std::string bookmark(std::string_view version, bool is_end = false) {
  return event_json(
      "BOOKMARK",
      fmt::format(R"({{"metadata":{{"resourceVersion":"{}"{}}}}})", version,
                  is_end ? R"(,"annotations":{"k8s.io/initial-events-end":"true"})" : ""));
}

std::string list_json(std::string_view version, std::string_view items) {
  return fmt::format(R"({{"metadata":{{"resourceVersion":"{}"}},"items":[{}]}})", version, items);
}

/// Holds a watch open until the client goes.
bool hold(Wire& wire) {
  wire.receive();
  return false;
}

WatchOptions quick() { return {.first_pause = 1ms, .longest_pause = 20ms}; }

TEST(Watch, AStreamedListIsFollowedByChanges) {
  FakeServer server([](const http::Request& request, Wire& wire) {
    EXPECT_EQ(request.parameter("sendInitialEvents"), "true");
    EXPECT_EQ(request.parameter("allowWatchBookmarks"), "true");
    const int seconds = std::stoi(*request.parameter("timeoutSeconds"));
    EXPECT_GE(seconds, 300);
    EXPECT_LE(seconds, 600);
    wire.begin_chunks();
    const auto text = event_json("ADDED", pod_json("a", "9")) +
                      event_json("ADDED", pod_json("b", "3")) + bookmark("10", true) +
                      event_json("MODIFIED", pod_json("a", "11")) +
                      event_json("DELETED", pod_json("b", "12"));
    for (const char c : text) wire.chunk({&c, 1});  // cut at every byte
    return hold(wire);
  });
  Diary diary;
  Watch watch(server.cluster(), {pods(), "default"}, quick(), diary.sink());
  EXPECT_TRUE(eventually([&] { return diary.text() == "begin +a +b synced *a -b"; }))
      << diary.text();
}

TEST(Watch, AServerThatCannotStreamIsAskedForAList) {
  FakeServer server([](const http::Request& request, Wire& wire) {
    if (request.parameter("sendInitialEvents"))
      return wire.answer(422, status_json(422, "Invalid", "sendInitialEvents is forbidden"));
    if (!request.parameter("watch")) return wire.answer(200, list_json("5", pod_json("a", "1")));
    EXPECT_EQ(request.parameter("resourceVersion"), "5");
    wire.begin_chunks();
    wire.chunk(event_json("ADDED", pod_json("b", "6")));
    return hold(wire);
  });
  Diary diary;
  Watch watch(server.cluster(), {pods(), "default"}, quick(), diary.sink());
  // The first `begin` had nothing; the second is the list's.
  EXPECT_TRUE(eventually([&] { return diary.text() == "begin begin +a synced +b"; }))
      << diary.text();
  EXPECT_TRUE(diary.troubles().empty());
}

TEST(Watch, ItGoesOnFromTheLastBookmark) {
  std::atomic<int> turn = 0;
  FakeServer server([&](const http::Request& request, Wire& wire) {
    wire.begin_chunks();
    if (++turn == 1) {
      wire.chunk(event_json("ADDED", pod_json("a", "1")) + bookmark("10", true) + bookmark("20"));
      wire.end_chunks();  // the server's timeout
      return true;
    }
    EXPECT_EQ(request.parameter("resourceVersion"), "20");
    EXPECT_FALSE(request.parameter("sendInitialEvents"));
    wire.chunk(event_json("ADDED", pod_json("b", "21")));
    return hold(wire);
  });
  Diary diary;
  Watch watch(server.cluster(), {pods(), "default"}, quick(), diary.sink());
  EXPECT_TRUE(eventually([&] { return diary.text() == "begin +a synced +b"; })) << diary.text();
  EXPECT_TRUE(diary.troubles().empty());
}

TEST(Watch, WithAnOverlapWhatOneWatchLeftOutComesWithTheNext) {
  std::atomic<int> turn = 0;
  FakeServer server([&](const http::Request& request, Wire& wire) {
    wire.begin_chunks();
    switch (++turn) {
      case 1: wire.chunk(bookmark("10", true) + bookmark("20")); return wire.end_chunks();
      case 2:
        EXPECT_EQ(request.parameter("resourceVersion"), "20");
        wire.chunk(event_json("ADDED", pod_json("b", "22")));  // 21 is left out
        return wire.end_chunks();
      default:
        EXPECT_EQ(request.parameter("resourceVersion"), "20");
        wire.chunk(event_json("ADDED", pod_json("a", "21")) +
                   event_json("ADDED", pod_json("b", "22")));
        return hold(wire);
    }
  });
  Diary diary;
  auto options = quick();
  options.overlap = 1h;
  Watch watch(server.cluster(), {pods(), "default"}, options, diary.sink());
  EXPECT_TRUE(eventually([&] { return diary.text() == "begin synced +b +a +b"; })) << diary.text();
}

TEST(Watch, AnOverlapThatTheServerHasForgottenIsGivenUpWithoutAList) {
  std::atomic<int> turn = 0;
  FakeServer server([&](const http::Request& request, Wire& wire) {
    ++turn;
    if (turn == 3) {
      EXPECT_EQ(request.parameter("resourceVersion"), "10");
      return wire.answer(410, status_json(410, "Expired"));
    }
    wire.begin_chunks();
    if (turn == 1) wire.chunk(bookmark("10", true));
    if (turn == 2) wire.chunk(event_json("ADDED", pod_json("a", "30")));
    if (turn < 4) return wire.end_chunks();
    EXPECT_EQ(request.parameter("resourceVersion"), "30");
    wire.chunk(event_json("ADDED", pod_json("b", "31")));
    return hold(wire);
  });
  Diary diary;
  auto options = quick();
  options.overlap = 1h;
  Watch watch(server.cluster(), {pods(), "default"}, options, diary.sink());
  EXPECT_TRUE(eventually([&] { return diary.text() == "begin synced +a +b"; })) << diary.text();
  EXPECT_TRUE(diary.troubles().empty());
}

TEST(Watch, ACutWithinAnEventLosesNothing) {
  std::atomic<int> turn = 0;
  FakeServer server([&](const http::Request& request, Wire& wire) {
    wire.begin_chunks();
    if (++turn == 1) {
      wire.chunk(bookmark("10", true) + event_json("ADDED", pod_json("a", "11")));
      wire.chunk(R"({"type":"ADDED","object":{"metadata":{"name":"b")");
      return false;
    }
    EXPECT_EQ(request.parameter("resourceVersion"), "11");
    wire.chunk(event_json("ADDED", pod_json("b", "12")));
    return hold(wire);
  });
  Diary diary;
  Watch watch(server.cluster(), {pods(), "default"}, quick(), diary.sink());
  EXPECT_TRUE(eventually([&] { return diary.text() == "begin synced +a +b"; })) << diary.text();
  ASSERT_EQ(diary.troubles().size(), 1U);
  EXPECT_EQ(diary.troubles()[0].kind, Kind::unavailable);
}

/// An expired version, told by HTTP or within the stream, makes the watch begin anew.
void expect_relist(bool is_in_stream) {
  std::atomic<int> turn = 0;
  FakeServer server([&](const http::Request& request, Wire& wire) {
    switch (++turn) {
      case 1:
        wire.begin_chunks();
        wire.chunk(event_json("ADDED", pod_json("a", "1")) + bookmark("10", true));
        return wire.end_chunks();
      case 2:
        EXPECT_EQ(request.parameter("resourceVersion"), "10");
        if (!is_in_stream) return wire.answer(410, status_json(410, "Expired"));
        wire.begin_chunks();
        wire.chunk(event_json("ERROR", status_json(410, "Expired")));
        return wire.end_chunks();
      default:
        EXPECT_TRUE(request.parameter("sendInitialEvents"));
        wire.begin_chunks();
        wire.chunk(event_json("ADDED", pod_json("b", "50")) + bookmark("60", true));
        return hold(wire);
    }
  });
  Diary diary;
  Watch watch(server.cluster(), {pods(), "default"}, quick(), diary.sink());
  EXPECT_TRUE(eventually([&] { return diary.text() == "begin +a synced begin +b synced"; }))
      << diary.text();
}

TEST(Watch, AnExpiredVersionToldByHttpBeginsAnew) { expect_relist(false); }
TEST(Watch, AnExpiredVersionToldInTheStreamBeginsAnew) { expect_relist(true); }

TEST(Watch, AListThatBreaksOffBeforeItsEndBeginsAnew) {
  std::atomic<int> turn = 0;
  FakeServer server([&](const http::Request& request, Wire& wire) {
    EXPECT_TRUE(request.parameter("sendInitialEvents"));
    wire.begin_chunks();
    wire.chunk(event_json("ADDED", pod_json("a", "1")));
    if (++turn == 1) return false;
    wire.chunk(bookmark("10", true));
    return hold(wire);
  });
  Diary diary;
  Watch watch(server.cluster(), {pods(), "default"}, quick(), diary.sink());
  EXPECT_TRUE(eventually([&] { return diary.text() == "begin +a begin +a synced"; }))
      << diary.text();
}

TEST(Watch, AVersionAheadOfTheServerIsGivenUpInTheEnd) {
  std::atomic<int> refusals = 0;
  FakeServer server([&](const http::Request& request, Wire& wire) {
    if (request.parameter("resourceVersion")) {
      ++refusals;
      return wire.answer(504, R"({"kind":"Status","code":504,"reason":"Timeout","message":"m",
        "details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"x"}]}})");
    }
    wire.begin_chunks();
    wire.chunk(bookmark("10", true));
    if (refusals > 0) return hold(wire);
    return wire.end_chunks();
  });
  Diary diary;
  Watch watch(server.cluster(), {pods(), "default"}, quick(), diary.sink());
  EXPECT_TRUE(eventually([&] { return diary.text() == "begin synced begin synced"; }))
      << diary.text();
  EXPECT_EQ(refusals, 5);
}

TEST(Watch, ServerTroubleIsToldAndOutlasted) {
  std::atomic<int> turn = 0;
  FakeServer server([&](const http::Request&, Wire& wire) {
    if (++turn < 4) return wire.answer(turn == 1 ? 503 : 500, "down");
    wire.begin_chunks();
    wire.chunk(bookmark("10", true));
    return hold(wire);
  });
  Diary diary;
  Watch watch(server.cluster(), {pods(), "default"}, quick(), diary.sink());
  EXPECT_TRUE(eventually([&] { return diary.text().ends_with("synced"); })) << diary.text();
  EXPECT_EQ(diary.troubles().size(), 3U);
}

TEST(Watch, AMissingRightIsToldAgainAndAgainUntilItIsStopped) {
  FakeServer server([](const http::Request&, Wire& wire) {
    return wire.answer(403, status_json(403, "Forbidden", "no"));
  });
  Diary diary;
  {
    Watch watch(server.cluster(), {pods(), "default"}, quick(), diary.sink());
    EXPECT_TRUE(eventually([&] { return diary.troubles().size() > 2; }));
  }
  EXPECT_EQ(diary.troubles()[0].kind, Kind::denied);
}

TEST(WatchLines, ALineThatNeverEndsIsRefused) {
  WatchLines lines(100);
  const auto nothing = [](WatchType, const json::object&) -> Result<> { return {}; };
  EXPECT_TRUE(lines.feed(std::string(60, ' '), nothing));
  EXPECT_FALSE(lines.feed(std::string(60, ' '), nothing));
}

TEST(WatchLines, WhatIsNoEventIsRefused) {
  const auto nothing = [](WatchType, const json::object&) -> Result<> { return {}; };
  for (const auto* line :
       {"x\n", "[]\n", "{}\n", "{\"type\":\"ADDED\"}\n", "{\"type\":\"NEW\",\"object\":{}}\n",
        "{\"type\":\"ADDED\",\"object\":1}\n"})
    EXPECT_FALSE(WatchLines().feed(line, nothing)) << line;
  EXPECT_TRUE(WatchLines().feed("\n{\"type\":\"ADDED\",\"object\":{}}\r\n", nothing));
}

}  // namespace
}  // namespace muster::kube
