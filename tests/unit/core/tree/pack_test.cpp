#include "core/tree/pack.hpp"

#include <rapidcheck/gtest.h>
#include <zstd.h>

#include <set>

#include "base/hash.hpp"
#include "unit/core/tree/samples.hpp"

namespace muster::tree {
namespace {

Result<TablesPlace> place_of(std::string_view pack) {
  const auto size = std::min(pack.size(), kTrailerSize);
  return find_tables(pack.substr(pack.size() - size), pack.size());
}

Result<PackTables> tables_of(std::string_view pack) {
  TRY(const auto place, place_of(pack));
  return decode_tables(pack.substr(place.offset, place.size), place);
}

Result<std::string> block_of(std::string_view pack, const Block& block) {
  return open_block(pack.substr(block.offset, block.stored), block);
}

PackWriter::Done pack_of(const std::vector<std::string>& chunks) {
  PackWriter writer;
  for (const auto& chunk : chunks) writer.add(hash_of(chunk), chunk);
  return writer.end();
}

/// Every chunk of the pack, found by its hash and hashed again.
void expect_holds(std::string_view pack, const std::vector<std::string>& chunks) {
  const auto tables = tables_of(pack).value();
  std::vector<std::string> blocks;
  for (const auto& block : tables.blocks) blocks.push_back(block_of(pack, block).value());
  for (const auto& chunk : chunks) {
    const auto place = find(tables, hash_of(chunk));
    ASSERT_TRUE(place);
    ASSERT_EQ(blocks[place->block].substr(place->offset, place->size), chunk);
  }
}

/// Text that compresses, of a size of its own.
std::string small_chunk(int i) {
  std::string text;
  for (int line = 0; line <= i % 40; ++line) text += fmt::format("line {} of file {}\n", line, i);
  return text;
}

TEST(Pack, ThousandsOfSmallAndSomeLargeChunksAreReadBack) {
  std::vector<std::string> chunks;
  for (int i = 0; i < 10'000; ++i) {
    chunks.push_back(small_chunk(i));
    if (i % 2500 == 0) chunks.push_back(noise(300'000 + static_cast<std::size_t>(i), 7));
    if (i % 5000 == 1) chunks.push_back(std::string(kMostChunk, static_cast<char>('a' + i % 26)));
  }
  const auto done = pack_of(chunks);
  expect_holds(done.bytes, chunks);
  EXPECT_EQ(done.name, place_of(done.bytes).value().hash);
  EXPECT_EQ(tables_of(done.bytes).value().chunks.size(), chunks.size());
  EXPECT_EQ(find(tables_of(done.bytes).value(), hash_of("another")), std::nullopt);
}

RC_GTEST_PROP(Pack, AnyChunksAreReadBack, ()) {
  std::vector<std::string> chunks;
  const auto seeds = *rc::gen::container<std::set<std::uint64_t>>(rc::gen::inRange(0, 1 << 20));
  for (const auto seed : seeds) {
    const auto size = 1 + seed % 5 * seed % 3000;
    chunks.push_back(seed % 2 == 0 ? noise(8 + size, seed) : std::to_string(seed) + small_chunk(9));
  }
  expect_holds(pack_of(chunks).bytes, chunks);
}

TEST(Pack, SmallChunksShareBlocksAndLargeOnesHaveTheirOwn) {
  std::vector<std::string> chunks{noise(1000, 1), noise(kBlockSize / 2, 2), noise(2000, 3)};
  const auto tables = tables_of(pack_of(chunks).bytes).value();
  ASSERT_EQ(tables.blocks.size(), 2U);
  const auto first = find(tables, hash_of(chunks[0])).value();
  const auto large = find(tables, hash_of(chunks[1])).value();
  const auto last = find(tables, hash_of(chunks[2])).value();
  EXPECT_EQ(first.block, last.block);
  EXPECT_NE(first.block, large.block);
  // In the order they came in.
  EXPECT_EQ(first.offset, 0U);
  EXPECT_EQ(last.offset, 1000U);
}

TEST(Pack, WhatDoesNotCompressIsStoredAsItIs) {
  const auto tables = tables_of(pack_of({noise(1U << 20, 1)}).bytes).value();
  EXPECT_EQ(tables.blocks.at(0).stored, tables.blocks.at(0).size);
  const auto text = tables_of(pack_of({std::string(1U << 20, 'a')}).bytes).value();
  EXPECT_LT(text.blocks.at(0).stored, 1000U);
}

TEST(Pack, AChunkIsAddedOnce) {
  PackWriter writer;
  EXPECT_TRUE(writer.is_empty());
  writer.add(hash_of("a"), "a");
  const auto size = writer.size();
  writer.add(hash_of("a"), "a");
  EXPECT_EQ(writer.size(), size);
  EXPECT_TRUE(writer.has(hash_of("a")));
  EXPECT_FALSE(writer.has(hash_of("b")));
  EXPECT_EQ(tables_of(writer.end().bytes).value().chunks.size(), 1U);
  EXPECT_TRUE(writer.is_empty());
  EXPECT_FALSE(writer.has(hash_of("a")));
}

TEST(Pack, AnEndedWriterBeginsAnew) {
  PackWriter writer;
  writer.add(hash_of("a"), "a");
  const auto first = writer.end();
  writer.add(hash_of("a"), "a");
  const auto second = writer.end();
  EXPECT_EQ(first.bytes, second.bytes);
  EXPECT_EQ(first.name, second.name);
}

TEST(Pack, MemoryThatIsUsedAgainChangesNothing) {
  PackWriter writer;
  writer.add(hash_of("a"), "a");
  auto first = writer.end();
  const auto bytes = first.bytes;
  writer.reuse(std::move(first.bytes));
  EXPECT_TRUE(writer.is_empty());
  writer.add(hash_of("a"), "a");
  EXPECT_EQ(writer.end().bytes, bytes);
}

TEST(Pack, ManyTinyChunksFillAPackAsManyBytesDo) {
  PackWriter writer;
  for (std::size_t i = 0; i < kPackChunks; ++i) {
    EXPECT_FALSE(writer.is_full()) << i;
    writer.add(hash_of(std::to_string(i)), std::to_string(i));
  }
  EXPECT_TRUE(writer.is_full());
  EXPECT_LT(writer.size(), kPackSize);
  for (std::uint64_t i = 0; i < 16; ++i) {
    const auto bytes = noise(1U << 20, i);
    writer.add(hash_of(bytes), bytes);
  }
  EXPECT_TRUE(writer.is_full());
}

TEST(Pack, ThePackIsNeverLargerThanTheWriterSaid) {
  PackWriter writer;
  for (int i = 0; i < 3000; ++i) {
    const auto bytes =
        i % 100 == 0 ? noise(280'000, static_cast<std::uint64_t>(i))
                     : noise(8 + static_cast<std::size_t>(i) % 50, static_cast<std::uint64_t>(i));
    writer.add(hash_of(bytes), bytes);
  }
  const auto said = writer.size();
  EXPECT_LE(writer.end().bytes.size(), said);
}

TEST(Pack, EveryBitFlippedIsFound) {
  std::vector<std::string> chunks{"one", "two", small_chunk(30), small_chunk(31), small_chunk(35)};
  chunks.push_back(std::string(kBlockSize, 'l'));
  auto pack = pack_of(chunks).bytes;
  const auto good = tables_of(pack).value();
  ASSERT_EQ(good.blocks.size(), 2U);
  const auto is_damage_found = [&] {
    const auto tables = tables_of(pack);
    if (!tables) return true;
    for (const auto& block : tables->blocks)
      if (!block_of(pack, block)) return true;
    return false;
  };
  ASSERT_FALSE(is_damage_found());
  for (std::size_t bit = 0; bit < pack.size() * 8; ++bit) {
    const auto flip = [&] { pack[bit / 8] = static_cast<char>(pack[bit / 8] ^ (1 << bit % 8)); };
    flip();
    ASSERT_TRUE(is_damage_found()) << "bit " << bit;
    flip();
  }
}

TEST(Pack, APackCutShortIsFound) {
  const auto pack = pack_of({"one", "two", small_chunk(30)}).bytes;
  for (std::size_t size = 0; size < pack.size(); ++size)
    ASSERT_FALSE(tables_of(std::string_view(pack).substr(0, size))) << size;
}

// --- tables that have their hash and are wrong all the same ------------------------------------

Result<PackTables> decoded(const PackTables& tables, std::uint64_t blocks_end,
                           const std::string& more = {}) {
  const auto bytes = encode(tables) + more;
  return decode_tables(bytes, {.offset = blocks_end, .size = bytes.size(), .hash = hash_of(bytes)});
}

PackTables two_chunks() {
  PackTables tables;
  tables.blocks = {{.stored = 10, .size = 10}, {.offset = 10, .stored = 5, .size = 20}};
  tables.chunks = {{.hash = hash_of("b"), .block = 0, .offset = 0, .size = 10},
                   {.hash = hash_of("a"), .block = 1, .offset = 0, .size = 20}};
  std::sort(tables.chunks.begin(), tables.chunks.end());
  return tables;
}

/// The chunk that is alone in block 1.
ChunkPlace& in_second(PackTables& tables) {
  return tables.chunks[0].block == 1 ? tables.chunks[0] : tables.chunks[1];
}

TEST(HostilePack, TablesThatFitAreRead) {
  EXPECT_EQ(decoded(two_chunks(), 15).value(), two_chunks());
}

TEST(HostilePack, TablesThatCannotBeAreRefused) {
  const std::vector<std::function<void(PackTables&)>> damages{
      [](PackTables& t) { std::swap(t.chunks[0], t.chunks[1]); },
      [](PackTables& t) { t.chunks[1] = t.chunks[0]; },
      [](PackTables& t) { t.chunks.pop_back(); },
      [](PackTables& t) { t.blocks.pop_back(); },
      [](PackTables& t) { t.blocks[1].size = 4; },
      [](PackTables& t) { t.blocks[1].stored = 0; },
      [](PackTables& t) { t.blocks[1].stored = 6; },
      [](PackTables& t) { t.blocks[0].size = kMostBlock + 1; },
      [](PackTables& t) { t.blocks[0].stored = t.blocks[0].size = 0xFFFF'FFFF; },
      [](PackTables& t) { in_second(t).block = 2; },
      [](PackTables& t) { in_second(t).offset = 1; },
      [](PackTables& t) { in_second(t).size = 21; },
      [](PackTables& t) { in_second(t).size = 19; },
      [](PackTables& t) { in_second(t).size = 0; },
      [](PackTables& t) { in_second(t).offset = 0xFFFF'FFFF; }};
  for (std::size_t i = 0; i < damages.size(); ++i) {
    auto tables = two_chunks();
    damages[i](tables);
    const auto got = decoded(tables, 15);
    ASSERT_FALSE(got) << i;
    EXPECT_EQ(got.error().kind, Kind::corrupt);
  }
  EXPECT_FALSE(decoded(two_chunks(), 14));
  EXPECT_FALSE(decoded(two_chunks(), 16));
  EXPECT_FALSE(decoded(two_chunks(), 15, "x"));
}

TEST(HostilePack, CountsBeyondTheBytesAreRefused) {
  for (const auto& bytes : {std::string("\xff\xff\xff\xff\xff\xff\xff\xff\x7f"),
                            std::string("\0\xff\xff\xff\xff\x7f", 6), std::string()})
    EXPECT_FALSE(decode_tables(bytes, {.size = bytes.size(), .hash = hash_of(bytes)}));
}

TEST(HostilePack, TrailersThatPointElsewhereAreRefused) {
  const TablesPlace good{.offset = 100, .size = 50};
  EXPECT_TRUE(find_tables(encode(good), 214));
  EXPECT_FALSE(find_tables(encode(good), 213));
  EXPECT_FALSE(find_tables(encode(good), 63));
  EXPECT_FALSE(find_tables(encode(TablesPlace{.offset = ~std::uint64_t{0}, .size = 151}), 214));
  EXPECT_FALSE(find_tables(encode(TablesPlace{.size = kMostTables + 1}), kMostTables + 65));
  auto newer = encode(good);
  newer[8] = 2;
  EXPECT_EQ(find_tables(newer, 214).error().kind, Kind::usage);
}

std::string compressed(std::string_view bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 3));
  return out;
}

Result<std::string> opened(std::string_view stored, std::size_t size) {
  return open_block(stored, {.stored = static_cast<std::uint32_t>(stored.size()),
                             .size = static_cast<std::uint32_t>(size),
                             .check = xxh3(stored)});
}

TEST(HostilePack, ABlockIsExactlyOneFrameOfItsSize) {
  const std::string bytes(10'000, 'a');
  const auto frame = compressed(bytes);
  EXPECT_EQ(opened(frame, bytes.size()).value(), bytes);
  EXPECT_FALSE(opened(frame, bytes.size() - 1));
  EXPECT_FALSE(opened(frame, bytes.size() + 1));
  EXPECT_FALSE(opened(frame + frame, 2 * bytes.size()));
  EXPECT_FALSE(opened(frame.substr(1), bytes.size()));
  EXPECT_FALSE(opened(frame.substr(0, frame.size() - 1), bytes.size()));
  const std::string skipped("\x50\x2A\x4D\x18\0\0\0\0", 8);
  EXPECT_FALSE(opened(skipped + frame, bytes.size()));
  EXPECT_FALSE(opened(frame + skipped, bytes.size()));
}

TEST(HostilePack, ABombIsStoppedAtTheSizeOfItsBlock) {
  const auto bomb = compressed(std::string(64U << 20, '\0'));
  EXPECT_FALSE(opened(bomb, bomb.size() + 1));
  EXPECT_FALSE(opened(bomb, kMostBlock));
  EXPECT_FALSE(opened(bomb, 64U << 20));
}

}  // namespace
}  // namespace muster::tree
