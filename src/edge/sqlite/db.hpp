/// SQLite, owned: connections, cached prepared statements, transactions. Every failure becomes an
/// Error that names the file and the statement. A Db and all that is borrowed from it belong to one
/// thread; several threads open one Db each.
#pragma once
#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/time.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace muster::sqlite {

/// Sorts after every text: the open end of a range of texts.
struct AboveAllText {};

/// A prepared statement, borrowed from its Db's cache and given back, reset, when this goes away.
/// Must not outlive the Db.
class Statement {
 public:
  struct Slot;

  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&& other) noexcept;
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement();

  /// Sets the parameters ?1, ?2, ... in order. Bytes are copied. A failure is told by step().
  template <class... Args>
  Statement& bind(const Args&... args) {
    int at = 0;
    (put(++at, args), ...);
    return *this;
  }
  template <std::integral T>
  void put(int at, T value) {
    put_integer(at, static_cast<std::int64_t>(value));
  }
  void put(int at, std::string_view text);
  void put(int at, AboveAllText);

  /// One row further; false at the end.
  Result<bool> step();
  /// To the end; then it may be bound and run again.
  Result<> run();
  /// Runs once with these parameters. Their bytes are not copied: they live as long as the call.
  template <class... Args>
  Result<> run_with(const Args&... args) {
    lends_ = true;
    auto result = bind(args...).run();
    forget();
    return result;
  }
  void reset();

  std::int64_t integer(int column) const;
  /// Valid until the next step or reset.
  std::string_view text(int column) const;
  bool is_null(int column) const;

 private:
  friend class Db;
  Statement(sqlite3* connection, const std::string* path, Slot* slot);
  Statement(sqlite3* connection, const std::string* path, std::unique_ptr<Slot> own);
  void put_integer(int at, std::int64_t value);
  tl::unexpected<Error> failed(int code) const;
  void give_back();
  void forget();

  sqlite3* connection_ = nullptr;
  const std::string* path_ = nullptr;
  std::unique_ptr<Slot> own_;  // set: not of the cache
  Slot* slot_ = nullptr;
  bool lends_ = false;  // bytes are bound without a copy
  int bind_code_ = 0;   // the first parameter that could not be bound
};

enum class OpenMode { create, existing, read_only };
enum class Checkpoint { passive, truncate };

class Db {
 public:
  static Result<Db> open(const std::string& path, OpenMode mode);
  Db(Db&&) noexcept;
  Db& operator=(Db&&) noexcept;
  ~Db();

  /// Prepared once for each text. A statement that is in use already is prepared a second time.
  Result<Statement> statement(std::string_view sql);
  /// Several statements without parameters: pragmas and migrations.
  Result<> script(const std::string& sql);
  template <class... Args>
  Result<> run(std::string_view sql, const Args&... args) {
    TRY(auto prepared, statement(sql));
    return prepared.run_with(args...);
  }
  /// The first column of the first row; 0 when there is no row.
  template <class... Args>
  Result<std::int64_t> integer(std::string_view sql, const Args&... args) {
    TRY(auto prepared, statement(sql));
    TRY(const bool has_row, prepared.bind(args...).step());
    return has_row ? prepared.integer(0) : 0;
  }

  /// Rows changed by the statement that ran last.
  std::int64_t changes() const;
  bool in_transaction() const;
  /// How long to wait for another process's lock.
  void wait_at_most(Duration wait);
  /// Bytes of the write-ahead log as of this connection's last commit.
  std::int64_t wal_bytes() const;
  /// Moves the log into the database; false when readers kept some of it back.
  Result<bool> checkpoint(Checkpoint mode);
  const std::string& path() const;

 private:
  struct State;
  explicit Db(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

enum class Access { read, write };

/// All or nothing: rolled back when it goes away without commit().
class Transaction {
 public:
  static Result<Transaction> begin(Db& db, Access access);
  Transaction(Transaction&& other) noexcept : db_(std::exchange(other.db_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Result<> commit();

 private:
  explicit Transaction(Db& db) : db_(&db) {}
  Db* db_;
};

}  // namespace muster::sqlite
