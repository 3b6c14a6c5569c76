// Every kind of event, as stored: a file per kind and version, for ever.
#include <algorithm>
#include <filesystem>
#include <set>

#include "base/text.hpp"
#include "core/model/codec.hpp"
#include "golden.hpp"
#include "samples.hpp"

namespace muster::golden {
namespace {

std::string file_of(std::string_view kind, int version) {
  return fmt::format("events/{}.v{}.json", kind, version);
}

template <std::size_t I = 0>
void add_kinds(std::vector<std::string_view>& kinds) {
  if constexpr (I < std::variant_size_v<EventBody>) {
    kinds.push_back(kind_of(EventBody(std::in_place_index<I>)));
    add_kinds<I + 1>(kinds);
  }
}

std::vector<std::string_view> all_kinds() {
  std::vector<std::string_view> kinds;
  add_kinds(kinds);
  return kinds;
}

TEST(GoldenEvents, EveryKindIsWrittenAsItsFileHasIt) {
  std::set<std::string_view> seen;
  for (const auto& body : sample_events()) {
    seen.insert(kind_of(body));
    expect_golden(file_of(kind_of(body), kEventVersion), unfolded(encode_body(body)));
  }
  for (const auto kind : all_kinds()) EXPECT_TRUE(seen.contains(kind)) << "no sample of " << kind;
}

TEST(GoldenEvents, EveryFileIsReadAndThePresentVersionIsWrittenBackToTheSameText) {
  for (const auto kind : all_kinds())
    for (int version = 1; version <= kEventVersion; ++version) {
      SCOPED_TRACE(file_of(kind, version));
      const auto text = source_text("tests/golden/" + file_of(kind, version));
      const auto body = decode_body(kind, version, text);
      ASSERT_TRUE(body) << to_text(body.error());
      EXPECT_EQ(kind_of(*body), kind);
      if (version == kEventVersion) {
        EXPECT_EQ(unfolded(encode_body(*body)), text);
      }
    }
}

TEST(GoldenEvents, EveryFileBelongsToAKind) {
  const auto folder = std::filesystem::path(MUSTER_SOURCE_DIR) / "tests/golden/events";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto name = entry.path().filename().string();
    const auto kinds = all_kinds();
    EXPECT_TRUE(std::count(kinds.begin(), kinds.end(), split(name, '.').front()) == 1)
        << entry.path() << ": events of that kind are still stored somewhere";
  }
}

TEST(GoldenEvents, ANewerVersionIsRefusedSayingWhatToUse) {
  const auto body = decode_body("started", kEventVersion + 1, R"({"attempt":1})");
  ASSERT_FALSE(body);
  EXPECT_EQ(body.error().kind, Kind::corrupt);
  EXPECT_EQ(body.error().fix.size(), 1U);
}

}  // namespace
}  // namespace muster::golden
