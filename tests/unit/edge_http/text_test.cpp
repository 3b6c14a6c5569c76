// The pure parts: targets, server-sent events, error bodies, and readers fed in any pieces.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "edge/http/error_body.hpp"
#include "edge/http/reader.hpp"
#include "edge/http/sse.hpp"

namespace muster::http {
namespace {

void expect_holds(const char* what, const auto& property) {
  EXPECT_TRUE(rc::check(what, property));
}

/// Cuts `text` at arbitrary places.
std::vector<std::string> in_pieces(const std::string& text) {
  std::vector<std::string> pieces;
  for (std::size_t at = 0; at < text.size();) {
    const auto size = *rc::gen::inRange<std::size_t>(1, 20);
    pieces.push_back(text.substr(at, size));
    at += size;
  }
  return pieces;
}

TEST(HttpText, PercentEncodingRoundTrips) {
  expect_holds("decode(encode(x)) == x", [](const std::string& text) {
    RC_ASSERT(percent_decoded(percent_encoded(text)) == text);
  });
}

TEST(HttpText, QueriesRoundTrip) {
  expect_holds("parse(query_text(q)) == q", [](const Query& query) {
    for (const auto& [name, value] : query) RC_PRE(!name.empty() || !value.empty());
    const auto target = parse_target("/p?" + query_text(query));
    RC_ASSERT(target.has_value());
    RC_ASSERT(target->query == query);
  });
}

TEST(HttpText, TheAbsoluteFormOfATargetMeansItsPath) {
  EXPECT_EQ(parse_target("http://host:80/v1/jobs?a=b")->path, "/v1/jobs");
  EXPECT_EQ(parse_target("http://host")->path, "/");
  EXPECT_EQ(parse_target("*")->path, "*");
  EXPECT_FALSE(parse_target("v1/jobs"));
  EXPECT_FALSE(parse_target(""));
}

TEST(HttpText, HeaderNamesDoNotCareAboutCase) {
  const Headers headers{{"Content-Type", "a"}, {"content-type", "b"}};
  EXPECT_EQ(find_header(headers, "CONTENT-TYPE"), "a");
  EXPECT_EQ(find_header(headers, "Content"), "");
}

TEST(HttpText, ErrorsRoundTripThroughTheirBody) {
  expect_holds("error_of(error_body(e)) == e",
               [](const std::string& what, const std::string& where, const std::string& why,
                  const std::vector<std::string>& fix) {
                 const auto kind = static_cast<Kind>(*rc::gen::inRange(0, 9));
                 const Error error{kind, what.empty() ? "x" : what, where, why, fix};
                 const auto back = error_of(500, error_body(error));
                 RC_ASSERT(back.kind == error.kind);
                 RC_ASSERT(back.what == error.what);
                 RC_ASSERT(back.where == where);
                 RC_ASSERT(back.why == why);
                 RC_ASSERT(back.fix == fix);
               });
}

TEST(HttpText, AForeignBodyStillBecomesAnError) {
  EXPECT_EQ(error_of(404, "<html>nope</html>").kind, Kind::not_found);
  EXPECT_EQ(error_of(418, "").kind, Kind::usage);
  EXPECT_EQ(error_of(502, "{}").kind, Kind::internal);
  EXPECT_EQ(error_of(302, "[1]").kind, Kind::corrupt);
  EXPECT_EQ(error_of(404, "<html>\x1b[31m").why, "<html>\\x1b[31m");
}

TEST(HttpText, EveryKindAnswersWithTheStatusOfItsRow) {
  for (int kind = 0; kind < 9; ++kind) {
    const Error error{.kind = static_cast<Kind>(kind), .what = "x"};
    EXPECT_EQ(error_response(error).status, row_of(error.kind).http_status);
  }
  EXPECT_EQ(error_response(Error{.kind = Kind::usage}, 405).status, 405);
}

TEST(SseText, EventsRoundTripHoweverTheyAreCut) {
  expect_holds("read(to_sse(events)) == events", [](const std::vector<std::string>& datas) {
    std::string text;
    std::vector<std::string> expected;
    for (std::size_t i = 0; i < datas.size(); ++i) {
      std::string data;
      for (const char c : datas[i])
        if (c != '\r') data += c;
      text += to_sse({.id = std::to_string(i), .event = "happened", .data = data});
      text += sse_heartbeat();
      expected.push_back(data);
    }
    SseReader reader;
    std::vector<std::string> read;
    for (const auto& piece : in_pieces(text)) {
      const auto events = reader.feed(piece);
      RC_ASSERT(events.has_value());
      for (const auto& event : *events) {
        RC_ASSERT(event.id == std::to_string(read.size()));
        RC_ASSERT(event.event == "happened");
        read.push_back(event.data);
      }
    }
    RC_ASSERT(read == expected);
  });
}

TEST(SseText, FollowsTheStandardsLineRules) {
  SseReader reader;
  const auto events = *reader.feed(
      "\xef\xbb\xbf"
      "data: a\rdata:b\r\ndata:  c\n\n: comment\nid: 7\ndata\n\nevent: x\n\nretry: 5\nid: 1\0"
      "\ndata: d\n\ndata: unfinished");
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].data, "a\nb\n c");
  EXPECT_EQ(events[0].id, "");
  EXPECT_EQ(events[1].data, "");
  EXPECT_EQ(events[1].id, "7");
}

TEST(SseText, AnIdOrNameCannotBreakTheFrame) {
  EXPECT_EQ(to_sse({.id = "1\ndata: x", .event = "a\r\nb", .data = "1\r\n2\r3"}),
            "id: 1data: x\nevent: ab\ndata: 1\ndata: 2\ndata: 3\n\n");
}

TEST(SseText, AnEventWithoutEndIsRefused) {
  SseReader reader(100);
  EXPECT_TRUE(reader.feed("data: " + std::string(50, 'x') + "\n"));
  EXPECT_FALSE(reader.feed("data: " + std::string(50, 'x') + "\n"));
}

TEST(HttpReader, RequestsAreTheSameHoweverTheyAreCut) {
  expect_holds("pieces do not matter", [](const std::vector<std::string>& bodies) {
    std::string text;
    for (const auto& body : bodies) {
      const bool is_chunked = *rc::gen::arbitrary<bool>();
      text += "\r\nPOST /x?n=1 HTTP/1.1\r\nHost: h\r\n";
      if (is_chunked) {
        text += "Transfer-Encoding: chunked\r\n\r\n";
        if (!body.empty()) text += fmt::format("{:x}\r\n{}\r\n", body.size(), body);
        text += "0\r\nTrailer: t\r\n\r\n";
      } else {
        text += fmt::format("Content-Length: {}\r\n\r\n{}", body.size(), body);
      }
    }
    RequestReader reader({});
    std::vector<std::string> read;
    for (const auto& piece : in_pieces(text)) {
      reader.append(piece);
      for (;;) {
        auto incoming = reader.next();
        RC_ASSERT(incoming.has_value());
        if (!*incoming) break;
        RC_ASSERT((*incoming)->request.headers.size() == 2U);
        read.push_back((*incoming)->request.body);
      }
    }
    RC_ASSERT(read == bodies);
  });
}

TEST(HttpReader, TheLastChunkMayArriveByteByByte) {
  RequestReader requests({});
  for (const char c : std::string("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                                  "0\r\n\r")) {
    requests.append({&c, 1});
    ASSERT_FALSE(*requests.next());
  }
  requests.append("\n");
  EXPECT_TRUE(*requests.next());
}

TEST(HttpReader, AChunkIsHandedOnBeforeTheNextOneComes) {
  ResponseReader responses({}, BodyRule::present);
  ASSERT_TRUE(responses.feed("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"));
  for (const std::string chunk : {"a", "b", "cd", "e"}) {
    ASSERT_TRUE(responses.feed(fmt::format("{}\r\n{}\r\n", chunk.size(), chunk)));
    EXPECT_EQ(responses.take_body(), chunk);
  }
}

TEST(HttpReader, NoBytesCrashIt) {
  expect_holds("garbage is an error or nothing", [](const std::string& garbage) {
    RequestReader requests({.header = 100, .body = 100});
    requests.append("GET /" + garbage);
    (void)requests.next();
    ResponseReader responses({.header = 100, .body = 100}, BodyRule::present);
    if (responses.feed("HTTP/1.1 200 OK\r\n" + garbage)) (void)responses.finish();
  });
}

}  // namespace
}  // namespace muster::http
