#include <set>

#include <rapidcheck/gtest.h>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "base/table.hpp"
#include "base/text.hpp"
#include "base/time.hpp"
#include "base/units.hpp"

namespace muster {
namespace {

TEST(Time, Rfc3339HasMicrosecondsAndUtc) {
  EXPECT_EQ(to_rfc3339({0}), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(to_rfc3339({1'772'366'400'123'456}), "2026-03-01T12:00:00.123456Z");
}

RC_GTEST_PROP(Time, Rfc3339RoundTrips, ()) {
  const WallTime at{*rc::gen::inRange<std::int64_t>(0, 4'000'000'000'000'000)};
  RC_ASSERT(parse_rfc3339(to_rfc3339(at)).value() == at);
}

TEST(Time, DurationsAreReadAndShown) {
  EXPECT_EQ(parse_duration("90").value(), std::chrono::seconds(90));
  EXPECT_EQ(parse_duration("1h30m").value(), std::chrono::minutes(90));
  EXPECT_EQ(parse_duration("250ms").value(), std::chrono::milliseconds(250));
  EXPECT_EQ(parse_duration("1.5h").value(), std::chrono::minutes(90));
  for (const char* bad : {"", "h", "-1s", "5 m", "1h30", "1e9d", "nan"})
    EXPECT_FALSE(parse_duration(bad)) << bad;
  EXPECT_EQ(to_text(Duration(std::chrono::minutes(125))), "2h05m");
  EXPECT_EQ(to_text(Duration(std::chrono::milliseconds(4200))), "4.2s");
}

TEST(Units, SizesAreReadAndShown) {
  EXPECT_EQ(parse_bytes("16G").value().count, 16LL << 30);
  EXPECT_EQ(parse_bytes("1.5Ti").value().count, 3LL << 39);
  EXPECT_EQ(parse_bytes("1GB").value().count, 1'000'000'000);
  for (const char* bad : {"", "G", "-1", "1X", "1e30", "99999999P", "inf", "nan", "nanG"})
    EXPECT_FALSE(parse_bytes(bad)) << bad;
  EXPECT_EQ(to_text(Bytes{3LL << 29}), "1.5 GiB");
  EXPECT_EQ(parse_cpus("0.5").value().count, 500);
  EXPECT_EQ(parse_cpus("250m").value().count, 250);
  EXPECT_FALSE(parse_cpus("many"));
  EXPECT_FALSE(parse_whole("12x", 0, 100));
  EXPECT_FALSE(parse_whole("101", 0, 100));
}

TEST(Error, EveryKindHasItsRow) {
  const std::set<int> codes{2, 4, 5, 6, 7, 8, 9, 70, 130};
  std::set<int> seen;
  for (const Kind kind :
       {Kind::usage, Kind::not_found, Kind::conflict, Kind::denied, Kind::exhausted,
        Kind::unavailable, Kind::corrupt, Kind::cancelled, Kind::internal}) {
    seen.insert(row_of(kind).exit_code);
    EXPECT_EQ(kind_by_name(row_of(kind).name)->kind, kind);
    EXPECT_EQ(kind_by_status(row_of(kind).http_status)->kind, kind);
  }
  EXPECT_EQ(seen, codes);
}

TEST(Error, ContextIsAddedNotReplaced) {
  const Result<int> inner = fail(Kind::usage, "bad flag", "use another");
  const auto outer = within(within(inner, "line 3"), "file x");
  EXPECT_EQ(outer.error().what, "bad flag");
  EXPECT_EQ(outer.error().where, "file x: line 3");
  EXPECT_EQ(to_text(outer.error()), "bad flag\n  where: file x: line 3\n  fix:   use another");
}

TEST(Hash, KnownDigests) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Xxh3 pieces;
  pieces.feed("ab");
  pieces.feed("c");
  Xxh3 whole;
  whole.feed("abc");
  EXPECT_EQ(pieces.hex(), whole.hex());
  EXPECT_EQ(whole.hex(), "78af5f94892f3950");
}

TEST(Hash, PermutationNeverRepeats) {
  std::set<std::uint32_t> seen;
  for (std::uint32_t i = 0; i < 100'000; ++i) EXPECT_TRUE(seen.insert(permute32(i, 42)).second);
  EXPECT_NE(permute32(1, 42), permute32(1, 43));
}

TEST(Table, FoldsEqualColumnsAndClipsToTheWidth) {
  const Table table{
      .columns = {{.title = "ID"},
                  {.title = "USER", .may_fold = true},
                  {.title = "COMMAND", .is_flexible = true}},
      .rows = {{"a1", "ann", "python train.py --with-many-arguments"}, {"b22", "ann", "true"}}};
  EXPECT_EQ(to_text(table, {.width = 24}),
            "USER: ann\nID   COMMAND\na1   python train.py --…\nb22  true\n");
  EXPECT_EQ(to_text(table, {.tab_separated = true}),
            "ID\tUSER\tCOMMAND\na1\tann\tpython train.py --with-many-arguments\nb22\tann\ttrue\n");
}

}  // namespace
}  // namespace muster
