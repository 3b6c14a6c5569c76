#include "edge/kube/pod_log.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/text.hpp"
#include "edge/kube/log_dedup.hpp"
#include "edge/kube/log_lines.hpp"
#include "edge/kube/rfc3339.hpp"
#include "unit/edge_kube/fake_server.hpp"

namespace muster::kube {
namespace {

std::string pod_state(std::string_view state) {
  return fmt::format(
      R"({{"spec":{{"containers":[{{"name":"main"}}]}},"status":{{"phase":"Running",)"
      R"("containerStatuses":[{{"name":"main","state":{{"{}":{{}}}}}}]}}}})",
      state);
}

/// A node that keeps a log and gives it from a whole second on, as the real ones do.
struct Node {
  struct Line {
    std::string time;
    std::string text;
  };
  std::vector<Line> lines;

  std::string since(const http::Request& request) const {
    const auto from = request.parameter("sinceTime");
    std::string out;
    for (const auto& line : lines)
      if (!from ||
          *nanoseconds_of(line.time) / 1'000'000'000 * 1'000'000'000 >= *nanoseconds_of(*from))
        out += line.time + " " + line.text + "\n";
    return out;
  }
};

bool is_log(const http::Request& request) { return request.path.ends_with("/log"); }

std::vector<std::string> follow_log(FakeServer& server, ApiResult<>* outcome = nullptr) {
  Api api(server.cluster());
  std::vector<std::string> got;
  const auto read = read_log(api, {"default", "p", "main"}, {}, [&](const LogLine& line) {
    got.emplace_back(std::string(line.text) + (line.has_newline ? "" : "<cut>"));
    return true;
  });
  if (outcome != nullptr)
    *outcome = read;
  else
    EXPECT_TRUE(read) << to_text(read.error());
  return got;
}

TEST(PodLog, LostConnectionsNeitherRepeatNorLoseALine) {
  // Two lines of one nanosecond and one text, and a time that goes back a little.
  const Node node{{{"2026-03-01T12:00:00.100000000Z", "a"},
                   {"2026-03-01T12:00:01.100000000Z", "b"},
                   {"2026-03-01T12:00:01.100000000Z", "b"},
                   {"2026-03-01T12:00:02.000000001Z", "c"},
                   {"2026-03-01T12:00:01.999999999Z", "back"},
                   {"2026-03-01T12:00:02.100000000Z", "d"},
                   {"2026-03-01T12:00:03.100000000Z", "e"}}};
  const std::vector<std::string> all{"a", "b", "b", "c", "back", "d", "e"};
  const auto whole = node.since({});
  // Whatever the byte at which the connection is lost, and however: by a cut or by an early end.
  for (std::size_t cut = 0; cut < whole.size(); cut += 23) {
    std::atomic<int> turn = 0;
    FakeServer server([&](const http::Request& request, Wire& wire) {
      if (!is_log(request)) return wire.answer(200, pod_state(turn > 2 ? "terminated" : "running"));
      wire.begin_chunks();
      auto text = node.since(request);
      const bool is_cut = ++turn <= 2;
      if (is_cut) text.resize(std::min(text.size(), cut + static_cast<std::size_t>(turn) * 20));
      wire.chunk(text);
      if (turn == 1) return false;
      return wire.end_chunks();
    });
    EXPECT_EQ(follow_log(server), all) << "cut at byte " << cut;
  }
}

TEST(PodLog, ACutLineIsNotALine) {
  std::atomic<int> turn = 0;
  FakeServer server([&](const http::Request& request, Wire& wire) {
    if (!is_log(request)) return wire.answer(200, pod_state(turn > 1 ? "terminated" : "running"));
    wire.begin_chunks();
    wire.chunk(++turn == 1 ? "2026-03-01T12:00:00.1Z hel" : "2026-03-01T12:00:00.1Z hello");
    return wire.end_chunks();
  });
  // At its end a log may lack its last newline.
  EXPECT_EQ(follow_log(server), (std::vector<std::string>{"hello<cut>"}));
}

TEST(PodLog, AContainerThatHasNotStartedIsWaitedFor) {
  std::atomic<int> turn = 0;
  FakeServer server([&](const http::Request& request, Wire& wire) {
    if (!is_log(request)) return wire.answer(200, pod_state(turn > 2 ? "terminated" : "waiting"));
    if (++turn <= 2)
      return wire.answer(400,
                         status_json(400, "BadRequest", "waiting to start: ContainerCreating"));
    return wire.answer(200, "2026-03-01T12:00:00.1Z up\n");
  });
  EXPECT_EQ(follow_log(server), (std::vector<std::string>{"up"}));
}

TEST(PodLog, APodThatVanishesEndsItsLog) {
  std::atomic<int> turn = 0;
  FakeServer server([&](const http::Request& request, Wire& wire) {
    ++turn;
    if (turn > 3) return wire.answer(404, status_json(404, "NotFound"));
    if (!is_log(request)) return wire.answer(200, pod_state("running"));
    return wire.answer(200, "2026-03-01T12:00:00.1Z last\n");
  });
  EXPECT_EQ(follow_log(server), (std::vector<std::string>{"last"}));
}

TEST(PodLog, APodThatNeverWasIsNotFound) {
  FakeServer server([&](const http::Request&, Wire& wire) {
    return wire.answer(404, status_json(404, "NotFound"));
  });
  ApiResult<> outcome;
  EXPECT_TRUE(follow_log(server, &outcome).empty());
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, Kind::not_found);
}

TEST(PodLog, AContainerThatIsNotInThePodIsNotWaitedFor) {
  FakeServer server([&](const http::Request& request, Wire& wire) {
    if (is_log(request)) return wire.answer(400, status_json(400, "BadRequest", "not valid"));
    return wire.answer(200, R"({"spec":{"containers":[{"name":"other"}]}})");
  });
  ApiResult<> outcome;
  follow_log(server, &outcome);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, Kind::not_found);
}

TEST(PodLog, WhatIsThereNowIsReadOnce) {
  FakeServer server([&](const http::Request& request, Wire& wire) {
    EXPECT_FALSE(request.parameter("follow"));
    EXPECT_EQ(request.parameter("tailLines"), "2");
    return wire.answer(200, "2026-03-01T12:00:00.1Z x\n2026-03-01T12:00:00.1Z \n");
  });
  Api api(server.cluster());
  std::vector<std::string> got;
  LogOptions options;
  options.until = Until::now;
  options.tail = 2;
  ASSERT_TRUE(read_log(api, {"default", "p", ""}, options, [&](const LogLine& line) {
    got.emplace_back(line.text);
    return true;
  }));
  EXPECT_EQ(got, (std::vector<std::string>{"x", ""}));
  EXPECT_EQ(server.requests(), 1);
}

TEST(LogDedup, EveryLineIsNewOnceHoweverOftenTheLogIsReadAgain) {
  rc::check([](const std::vector<std::uint8_t>& steps, const std::vector<std::uint8_t>& cuts) {
    std::vector<std::pair<std::int64_t, std::string>> log;
    std::int64_t time = 5'000'000'000;
    for (const auto step : steps) {
      time += std::int64_t{step % 8} * 300'000'000;
      log.emplace_back(time, std::string(1, static_cast<char>('a' + step % 3)));
    }
    LogDedup dedup;
    std::vector<std::pair<std::int64_t, std::string>> got;
    const auto read = [&](std::size_t until) {
      dedup.reconnect();
      const auto since = dedup.since().empty() ? 0 : *nanoseconds_of(dedup.since());
      for (std::size_t at = 0; at < std::min(until, log.size()); ++at)
        if (log[at].first >= since && dedup.is_new(log[at].first, log[at].second))
          got.push_back(log[at]);
    };
    for (const auto cut : cuts) read(cut);
    read(log.size());
    RC_ASSERT(got == log);
  });
}

TEST(LogDedup, WhatWasRotatedAwayHidesNothing) {
  LogDedup dedup;
  for (const auto* text : {"a", "b", "c"}) EXPECT_TRUE(dedup.is_new(10'500'000'000, text));
  dedup.reconnect();
  EXPECT_FALSE(dedup.is_new(10'500'000'000, "c"));
  EXPECT_TRUE(dedup.is_new(10'500'000'000, "d"));
  EXPECT_EQ(dedup.since(), "1970-01-01T00:00:09.000000Z");
}

TEST(LogLines, LongLinesComeInPiecesThatAreAlwaysTheSame) {
  const std::string text = "2026-03-01T12:00:00.1Z " + std::string(50, 'x') + "\nnode says\n";
  const auto read = [&](std::size_t piece) {
    LogLines lines(30);
    std::vector<std::string> got;
    const LogLines::OnLine on_line = [&](const RawLogLine& line) {
      got.push_back(fmt::format("{}|{}|{}", line.time, line.text, line.has_newline));
      return true;
    };
    for (std::size_t at = 0; at < text.size(); at += piece)
      lines.feed(std::string_view(text).substr(at, piece), on_line);
    lines.finish(on_line);
    return got;
  };
  const auto whole = read(text.size());
  ASSERT_EQ(whole.size(), 4U);
  EXPECT_EQ(whole[0], "2026-03-01T12:00:00.1Z|xxxxxxx|false");
  EXPECT_EQ(whole[3], "|node says|true");
  for (std::size_t piece = 1; piece < text.size(); ++piece) EXPECT_EQ(read(piece), whole) << piece;
}

TEST(Rfc3339, OffsetsAndNanosecondsCount) {
  EXPECT_EQ(nanoseconds_of("1970-01-01T00:00:01Z"), 1'000'000'000);
  EXPECT_EQ(nanoseconds_of("1970-01-01T02:00:01.000000001+02:00"), 1'000'000'001);
  EXPECT_EQ(nanoseconds_of("1970-01-01T00:00:01.5-01:30"), 5'401'500'000'000);
  EXPECT_TRUE(nanoseconds_of("2999-01-01T00:00:00Z"));
  for (const auto* bad :
       {"", "now", "1970-01-01T00:00:01", "1970-01-01T00:00:01+2", "1970-01-01T00:00:01.Zx"})
    EXPECT_FALSE(nanoseconds_of(bad)) << bad;
}

}  // namespace
}  // namespace muster::kube
