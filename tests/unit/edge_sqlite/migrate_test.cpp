#include "edge/sqlite/migrate.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "edge/sqlite/records.hpp"
#include "edge/sqlite/store.hpp"
#include "unit/edge_sqlite/builders.hpp"

namespace muster::sqlite {
namespace {

using test::must;
using test::TempFolder;

struct Migrations : testing::Test {
  TempFolder folder;
  NoLog log;
  std::string path = folder.file("store.db");

  std::vector<Migration> with_second(std::string sql) {
    auto all = must(built_in_migrations());
    all.push_back({static_cast<int>(all.size()) + 1, "next", std::move(sql)});
    return all;
  }
  Kind refusal() {
    const auto opened = open_store(path, log);
    if (opened) return Kind::internal;
    EXPECT_FALSE(opened.error().why.empty());
    EXPECT_FALSE(opened.error().fix.empty());
    return opened.error().kind;
  }
};

TEST_F(Migrations, ANewStoreIsPrivateAndMarkedAsOurs) {
  must(open_store(path, log));
  struct stat about{};
  ASSERT_EQ(::stat(path.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600U);
  auto db = must(Db::open(path, OpenMode::read_only));
  EXPECT_EQ(must(db.integer("PRAGMA application_id")), kApplicationId);
  EXPECT_EQ(must(db.integer("PRAGMA user_version")), std::ssize(must(built_in_migrations())));
}

TEST_F(Migrations, OpeningAgainChangesNothing) {
  const auto first = must(must(open_store(path, log))->home_id());
  const auto second = must(must(open_store(path, log))->home_id());
  EXPECT_EQ(first, second);
  EXPECT_EQ(first.size(), 36U);
}

TEST_F(Migrations, AnOlderStoreIsCopiedThenMigrated) {
  test::Writer writer;
  must(must(open_store(path, log))->commit(writer.submit(test::queued_job(1))));
  const auto migrations = with_second("ALTER TABLE jobs ADD COLUMN colour TEXT");
  const auto step = migrations.back().number;
  {
    auto db = must(Db::open(path, OpenMode::existing));
    must(migrate(db, migrations, log));
    EXPECT_EQ(must(db.integer("PRAGMA user_version")), step);
    EXPECT_EQ(must(db.integer("SELECT count(*) FROM jobs WHERE colour IS NULL")), 1);
  }
  const auto copy = fmt::format("{}.before-{}", path, step);
  const auto old = must(open_store(copy, log));
  EXPECT_EQ(must(old->load()).jobs.size(), 1U) << "the copy is a store of the older version";
}

TEST_F(Migrations, AFailedStepLeavesTheStoreAsItWas) {
  must(open_store(path, log));
  {
    auto db = must(Db::open(path, OpenMode::existing));
    const auto result =
        migrate(db, with_second("CREATE TABLE colours (c); INSERT INTO nowhere VALUES (1)"), log);
    ASSERT_FALSE(result);
    EXPECT_NE(result.error().where.find("migration next"), std::string::npos);
    EXPECT_EQ(must(db.integer("SELECT count(*) FROM sqlite_schema WHERE name = 'colours'")), 0);
  }
  must(open_store(path, log));
}

TEST_F(Migrations, ANewerStoreIsRefusedUntouched) {
  must(open_store(path, log));
  {
    auto db = must(Db::open(path, OpenMode::existing));
    must(migrate(db, with_second("CREATE TABLE colours (c)"), log));
  }
  EXPECT_EQ(refusal(), Kind::conflict);
  const auto reader = open_records(path);
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().kind, Kind::conflict);
}

TEST_F(Migrations, AForeignDatabaseIsRefusedUntouched) {
  {
    auto db = must(Db::open(path, OpenMode::create));
    must(db.script("CREATE TABLE photos (a); INSERT INTO photos VALUES (1)"));
  }
  EXPECT_EQ(refusal(), Kind::conflict);
  auto db = must(Db::open(path, OpenMode::read_only));
  EXPECT_EQ(must(db.integer("SELECT count(*) FROM sqlite_schema")), 1);
}

TEST_F(Migrations, AReaderRefusesAnEmptyFile) {
  {
    std::ofstream made(path);
  }
  const auto reader = open_records(path);
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().kind, Kind::conflict);
}

}  // namespace
}  // namespace muster::sqlite
