#include "core/model/pod_lines.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <vector>

namespace muster {
namespace {

using Streams = std::map<std::pair<int, PodStream>, std::string>;

/// Puts every piece where its offset says; a gap or an overlap fails.
struct Rebuilt {
  Streams streams;
  std::string foreign;
  bool is_exact = true;
  void take(const PodLine& line) {
    if (line.rank < 0) {
      foreign += line.bytes;
      return;
    }
    auto& text = streams[{line.rank, line.stream}];
    is_exact = is_exact && text.size() == line.offset;
    text += line.bytes;
  }
};

Rebuilt read_in_pieces(std::string_view log, std::size_t piece) {
  Rebuilt out;
  PodLineReader reader;
  const auto each = [&](const PodLine& line) { out.take(line); };
  for (; !log.empty(); log.remove_prefix(std::min(piece, log.size())))
    reader.read(log.substr(0, piece), each);
  reader.finish(each);
  return out;
}

/// As container runtimes do: a carriage return before a newline is lost.
std::string through_a_runtime(std::string_view log) {
  std::string out;
  for (const char c : log) {
    if (c == '\n' && out.ends_with('\r')) out.pop_back();
    out += c;
  }
  return out;
}

/// Text with the bytes that matter in it more often than by chance.
rc::Gen<std::string> telling_text() {
  const auto byte = rc::gen::weightedOneOf<char>({{4, rc::gen::arbitrary<char>()},
                                                  {2, rc::gen::just('\n')},
                                                  {2, rc::gen::just('\r')},
                                                  {1, rc::gen::elementOf(std::string("0o -es "))}});
  return rc::gen::container<std::string>(byte);
}

RC_GTEST_PROP(PodLines, AnyBytesInAnyPiecesComeBackExactly, ()) {
  Streams wrote;
  std::map<std::pair<int, PodStream>, PodLineWriter> writers;
  std::string log;
  const auto writes = *rc::gen::inRange(0, 40);
  for (int i = 0; i < writes; ++i) {
    const std::pair key(*rc::gen::inRange(0, 3), static_cast<PodStream>(*rc::gen::inRange(0, 3)));
    auto bytes = *telling_text();
    if (*rc::gen::inRange(0, 10) == 0) bytes += std::string(PodLineWriter::kLongest, 'x') + bytes;
    auto& writer = writers.try_emplace(key, key.first, key.second).first->second;
    writer.write(bytes, log);
    wrote[key] += bytes;
    if (*rc::gen::inRange(0, 4) == 0) writer.flush(log);
    RC_ASSERT(writer.taken() == wrote[key].size());
  }
  for (auto& [key, writer] : writers) writer.flush(log);
  std::erase_if(wrote, [](const auto& one) { return one.second.empty(); });
  const auto back = read_in_pieces(through_a_runtime(log), *rc::gen::inRange(1, 100));
  RC_ASSERT(back.is_exact);
  RC_ASSERT(back.foreign.empty());
  RC_ASSERT(back.streams == wrote);
}

RC_GTEST_PROP(PodLines, NoByteOfAnyLogIsLostHoweverItIsCut, ()) {
  const auto log = *telling_text();
  const auto whole = read_in_pieces(log, log.size() + 1);
  const auto cut = read_in_pieces(log, *rc::gen::inRange(1, 20));
  RC_ASSERT(whole.streams == cut.streams);
  RC_ASSERT(whole.foreign == cut.foreign);
}

TEST(PodLines, LinesReadLikeThis) {
  PodLineWriter out(3, PodStream::out);
  PodLineWriter err(0, PodStream::err);
  std::string log;
  out.write("step 1\nstep", log);
  err.write("warm\r\n", log);
  out.flush(log);
  out.write(" 2\n", log);
  EXPECT_EQ(log, "3o 0 step 1\n0e 0r warm\n3o 7- step\n3o 11  2\n");
}

TEST(PodLines, ALongLineLeavesInPieces) {
  PodLineWriter writer(0, PodStream::out);
  std::string log;
  writer.write(std::string(PodLineWriter::kLongest + 1, 'x'), log);
  EXPECT_TRUE(writer.is_holding());
  EXPECT_EQ(log, "0o 0- " + std::string(PodLineWriter::kLongest, 'x') + "\n");
}

TEST(PodLines, ForeignLinesAreGivenAsTheyAre) {
  const std::string log = "panic: no\n0o 0 yes\n0x 0 no\n00o 0 no\n-1o 0 no\n0o 01 no\ncut";
  const auto back = read_in_pieces(log, 5);
  EXPECT_EQ(back.streams, (Streams{{{0, PodStream::out}, "yes\n"}}));
  EXPECT_EQ(back.foreign, "panic: no\n0x 0 no\n00o 0 no\n-1o 0 no\n0o 01 no\ncut");
}

TEST(PodLines, AForeignLineWithoutEndTakesBoundedMemoryAndHidesNoFrame) {
  std::string log(3 * PodLineReader::kForeign, 'y');
  log += " 0o 0 this belongs to it\n0o 0 yes\n";
  PodLineReader reader;
  std::size_t longest = 0, frames = 0, bytes = 0;
  reader.read(log, [&](const PodLine& line) {
    longest = std::max(longest, line.bytes.size());
    (line.rank < 0 ? bytes : frames) += line.rank < 0 ? line.bytes.size() : 1;
  });
  EXPECT_LE(longest, PodLineReader::kForeign);
  EXPECT_EQ(frames, 1U);
  EXPECT_EQ(bytes, log.size() - std::string("0o 0 yes\n").size());
}

}  // namespace
}  // namespace muster
