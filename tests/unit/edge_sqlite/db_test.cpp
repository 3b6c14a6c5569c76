#include "edge/sqlite/db.hpp"

#include <gtest/gtest.h>

#include "unit/edge_sqlite/builders.hpp"

namespace muster::sqlite {
namespace {

using test::must;
using test::TempFolder;
using namespace std::string_literals;

struct Database : testing::Test {
  TempFolder folder;
  std::string path = folder.file("any.db");
  Db db = must(Db::open(path, OpenMode::create));

  void SetUp() override { must(db.script("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)")); }
  std::int64_t count() { return must(db.integer("SELECT count(*) FROM t")); }
};

TEST_F(Database, BytesComeBackAsTheyWereBound) {
  const auto odd = "nul\0 newline\n not utf-8 \xFF\xFE"s;
  must(db.run("INSERT INTO t VALUES (?1, ?2)", 1, odd));
  must(db.run("INSERT INTO t VALUES (?1, ?2)", 2, std::string_view()));
  auto rows = must(db.statement("SELECT b FROM t ORDER BY a"));
  ASSERT_TRUE(must(rows.step()));
  EXPECT_EQ(rows.text(0), odd);
  ASSERT_TRUE(must(rows.step()));
  EXPECT_FALSE(rows.is_null(0)) << "an empty text is not NULL";
  EXPECT_EQ(rows.text(0), "");
  EXPECT_FALSE(must(rows.step()));
}

TEST_F(Database, AStatementInUseIsPreparedASecondTime) {
  for (int i = 1; i <= 3; ++i) must(db.run("INSERT INTO t VALUES (?1, 'x')", i));
  auto outer = must(db.statement("SELECT a FROM t ORDER BY a"));
  std::int64_t pairs = 0;
  while (must(outer.step())) {
    auto inner = must(db.statement("SELECT a FROM t ORDER BY a"));
    while (must(inner.step())) ++pairs;
  }
  EXPECT_EQ(pairs, 9);
}

TEST_F(Database, ATransactionWithoutCommitLeavesNothing) {
  {
    auto transaction = must(Transaction::begin(db, Access::write));
    must(db.run("INSERT INTO t VALUES (1, 'x')"));
  }
  EXPECT_FALSE(db.in_transaction());
  EXPECT_EQ(count(), 0);
}

TEST_F(Database, ARepeatedKeyIsAConflictThatNamesTheStatement) {
  must(db.run("INSERT INTO t VALUES (1, 'x')"));
  const auto result = db.run("INSERT INTO t VALUES (1, 'y')");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, Kind::conflict);
  EXPECT_NE(result.error().where.find("INSERT INTO t VALUES (1, 'y')"), std::string::npos);
  EXPECT_NE(result.error().where.find("any.db"), std::string::npos);
}

TEST_F(Database, AFullFileIsExhaustedAndSaysWhatToDo) {
  must(db.script("PRAGMA max_page_count = 4"));
  const auto result = db.run("INSERT INTO t VALUES (1, ?1)", std::string(100'000, 'x'));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, Kind::exhausted);
  ASSERT_FALSE(result.error().fix.empty());
  EXPECT_NE(result.error().fix[0].find("disk space"), std::string::npos);
  must(db.run("INSERT INTO t VALUES (1, 'small')"));
}

TEST_F(Database, ALockedFileIsUnavailable) {
  auto other = must(Db::open(path, OpenMode::existing));
  other.wait_at_most(Duration(0));
  auto held = must(Transaction::begin(db, Access::write));
  const auto result = Transaction::begin(other, Access::write);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, Kind::unavailable);
}

TEST_F(Database, AReadOnlyConnectionMayNotWrite) {
  auto reader = must(Db::open(path, OpenMode::read_only));
  const auto result = reader.run("INSERT INTO t VALUES (1, 'x')");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, Kind::denied);
}

TEST_F(Database, AFileThatIsNoDatabaseIsCorrupt) {
  std::ofstream(folder.file("text")) << std::string(5000, 'x');
  const auto result = Db::open(folder.file("text"), OpenMode::existing);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, Kind::corrupt);
}

TEST_F(Database, AFileThatCannotBeOpenedIsDenied) {
  const auto folder_itself = Db::open(folder.path().string(), OpenMode::create);
  ASSERT_FALSE(folder_itself);
  EXPECT_EQ(folder_itself.error().kind, Kind::denied);
  const auto absent = Db::open(folder.file("absent.db"), OpenMode::existing);
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().kind, Kind::denied);
}

TEST_F(Database, NoTextSortsAboveTheOpenEnd) {
  must(db.run("INSERT INTO t VALUES (1, ?1)", std::string("\xFF\xFF\xFF")));
  auto rows = must(db.statement("SELECT count(*) FROM t WHERE b < ?1"));
  rows.bind(AboveAllText{});
  ASSERT_TRUE(must(rows.step()));
  EXPECT_EQ(rows.integer(0), 1);
}

}  // namespace
}  // namespace muster::sqlite
