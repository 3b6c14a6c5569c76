#include "base/text.hpp"

#include <rapidcheck/gtest.h>

namespace muster {
namespace {

TEST(Text, PrintableHidesNothingAndObeysNothing) {
  EXPECT_EQ(printable("plain ü"), "plain ü");
  EXPECT_EQ(printable("\x1b[31mred\x07"), "\\x1b[31mred\\x07");
  EXPECT_EQ(printable("a\nb\tc"), "a\\nb\\tc");
  EXPECT_EQ(printable("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(printable("\u202e"), "\\u202e");
  EXPECT_EQ(printable("\xc2\x9b"), "\\x9b");
}

TEST(Text, Utf8IsCheckedStrictly) {
  EXPECT_TRUE(is_utf8("abc \u00fc \u20ac \U0001F600"));
  EXPECT_FALSE(is_utf8("\xc0\x80"));          // overlong
  EXPECT_FALSE(is_utf8("\xed\xa0\x80"));      // surrogate
  EXPECT_FALSE(is_utf8("\xf5\x80\x80\x80"));  // beyond Unicode
  EXPECT_FALSE(is_utf8("\xe2\x82"));          // cut
}

TEST(Text, ShellQuotedReadsBackInAShell) {
  EXPECT_EQ(shell_quoted(std::vector<std::string>{"echo", "", "a b", "it's", "$x"}),
            "echo '' 'a b' 'it'\\''s' '$x'");
}

TEST(Text, NearestFindsTypos) {
  const std::vector<std::string> verbs{"submit", "query", "logs", "abort"};
  EXPECT_EQ(nearest("sumbit", verbs), "submit");
  EXPECT_EQ(nearest("lgos", verbs), "logs");
  EXPECT_EQ(nearest("teleport", verbs), std::nullopt);
}

TEST(Text, ClippedCountsCodePoints) {
  EXPECT_EQ(clipped("short", 10), "short");
  EXPECT_EQ(clipped("abcdef", 4), "abc…");
  EXPECT_EQ(columns_of(clipped("üüüüüü", 3)), 3U);
}

RC_GTEST_PROP(Text, Base64RoundTrips, (const std::string& bytes)) {
  RC_ASSERT(from_base64(to_base64(bytes)).value() == bytes);
}
RC_GTEST_PROP(Text, HexRoundTrips, (const std::string& bytes)) {
  RC_ASSERT(from_hex(to_hex(bytes)).value() == bytes);
}
RC_GTEST_PROP(Text, PrintableHasNoControlBytes, (const std::string& bytes)) {
  for (const char c : printable(bytes)) RC_ASSERT(static_cast<unsigned char>(c) >= 0x20);
}
RC_GTEST_PROP(Text, EditDistanceIsSymmetric, (const std::string& a, const std::string& b)) {
  RC_ASSERT(edit_distance(a, b) == edit_distance(b, a));
}

TEST(Text, BadBase64IsRefused) {
  for (const char* bad : {"A", "A===", "AA=A", "A*==", "AAA"})
    EXPECT_FALSE(from_base64(bad)) << bad;
}

}  // namespace
}  // namespace muster
