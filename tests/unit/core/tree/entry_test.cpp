#include "core/tree/entry.hpp"

#include <rapidcheck/gtest.h>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "core/tree/wire.hpp"

namespace muster::tree {
namespace {

TEST(Entry, WalkOrderPutsWhatIsInAFolderRightBehindIt) {
  const std::vector<std::string> order{"a",   "a/b", "a/b/c", "a/b-c", "a/c", "a\n",
                                       "a b", "a-b", "a.b",   "ab",    "b",   "\xff"};
  for (std::size_t i = 0; i < order.size(); ++i)
    for (std::size_t k = 0; k < order.size(); ++k)
      EXPECT_EQ(before(order[i], order[k]), i < k) << order[i] << " and " << order[k];
}

/// Few letters, so that paths share beginnings; '\x01' and '.' stand on both sides of '/' or near.
std::string any_path() {
  return *rc::gen::container<std::string>(rc::gen::element('/', '\x01', '.', 'a', '\xff'));
}

RC_GTEST_PROP(Entry, WalkOrderComparesNameByName, ()) {
  const auto a = any_path();
  const auto b = any_path();
  const auto is_less = [](std::string_view x, std::string_view y) {
    return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end(), [](char p, char q) {
      return static_cast<unsigned char>(p) < static_cast<unsigned char>(q);
    });
  };
  const auto names_a = split(a, '/');
  const auto names_b = split(b, '/');
  const bool expected = std::lexicographical_compare(names_a.begin(), names_a.end(),
                                                     names_b.begin(), names_b.end(), is_less);
  // split("") is one empty name; as a path it is the top, which is before everything.
  RC_ASSERT(before(a, b) == (a.empty() ? !b.empty() : !b.empty() && expected));
}

TEST(Entry, AHashIsWrittenAsHexAndReadBackStrictly) {
  const auto hash = hash_of("abc");
  const std::string text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  EXPECT_EQ(to_hex(hash), text);
  EXPECT_EQ(sha256_hex("abc"), text);
  EXPECT_EQ(from_hex(text), hash);
  EXPECT_EQ(from_hex(text.substr(2)), std::nullopt);
  EXPECT_EQ(from_hex(text + "00"), std::nullopt);
  EXPECT_EQ(from_hex("BA" + text.substr(2)), std::nullopt);
  EXPECT_EQ(from_hex("g" + text.substr(1)), std::nullopt);
}

TEST(Wire, NumbersHaveOneForm) {
  for (const char* bad : {"\x80", "\x80\x80", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"}) {
    Cursor in(bad);
    EXPECT_EQ(in.varint(), 0U);
    EXPECT_TRUE(in.is_broken());
  }
  Cursor longer(std::string_view("\x81\x00", 2));
  EXPECT_EQ(longer.varint(), 0U);
  EXPECT_TRUE(longer.is_broken());
}

RC_GTEST_PROP(Wire, WhatIsPutIsReadBack, (std::uint64_t a, std::uint64_t b, unsigned shift)) {
  a >>= shift % 64;
  std::string bytes;
  put_varint(bytes, a);
  put_u64(bytes, b);
  put_hash(bytes, hash_of(bytes));
  Cursor in(bytes);
  RC_ASSERT(in.varint() == a);
  RC_ASSERT(in.u64() == b);
  RC_ASSERT(in.left() == sizeof(Hash));
  RC_ASSERT(in.hash() == hash_of(std::string_view(bytes).substr(0, bytes.size() - sizeof(Hash))));
  RC_ASSERT(!in.is_broken());
  RC_ASSERT(in.take(1).empty());
  RC_ASSERT(in.is_broken());
}

}  // namespace
}  // namespace muster::tree
