#include "edge/sqlite/db.hpp"

#include <sqlite3.h>

#include <unordered_map>

#include "base/check.hpp"
#include "edge/sqlite/failure.hpp"

namespace muster::sqlite {

struct Statement::Slot {
  sqlite3_stmt* raw = nullptr;
  bool is_used = false;
};

namespace {

constexpr Duration kLockWait = std::chrono::seconds(2);

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>{}(text);
  }
};
using Cache = std::unordered_map<std::string, Statement::Slot, TextHash, std::equal_to<>>;

int last_errno_of(sqlite3_file* file) {
  int number = 0;
  if (file != nullptr && file->pMethods != nullptr)
    file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &number);
  return number;
}

/// errno beneath a failed call. Rolling back often wipes the connection's own note of it, but the
/// files remember.
int system_error_of(sqlite3* connection) {
  if (const int number = sqlite3_system_errno(connection); number != 0) return number;
  sqlite3_file* file = nullptr;
  sqlite3_file_control(connection, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);
  if (const int number = last_errno_of(file); number != 0) return number;
  file = nullptr;
  sqlite3_file_control(connection, "main", SQLITE_FCNTL_FILE_POINTER, &file);
  return last_errno_of(file);
}

tl::unexpected<Error> failed_on(sqlite3* connection, int code, std::string_view path,
                                std::string_view sql) {
  const bool system = (code & 0xFF) == SQLITE_IOERR || (code & 0xFF) == SQLITE_CANTOPEN;
  Failure failure{.code = code, .system_error = 0, .message = sqlite3_errstr(code)};
  if (connection != nullptr && system) failure.system_error = system_error_of(connection);
  // errmsg says more than errstr, but only while it speaks of this very failure.
  if (connection != nullptr && sqlite3_extended_errcode(connection) == code)
    failure.message = sqlite3_errmsg(connection);
  return tl::unexpected<Error>(error_of(failure, path, sql));
}

}  // namespace

// Statements
// ---------------------------------------------------------------------------------------

Statement::Statement(sqlite3* connection, const std::string* path, Slot* slot)
    : connection_(connection), path_(path), slot_(slot) {
  slot_->is_used = true;
}

Statement::Statement(sqlite3* connection, const std::string* path, std::unique_ptr<Slot> own)
    : connection_(connection), path_(path), own_(std::move(own)), slot_(own_.get()) {}

Statement::Statement(Statement&& other) noexcept
    : connection_(other.connection_),
      path_(other.path_),
      own_(std::move(other.own_)),
      slot_(std::exchange(other.slot_, nullptr)),
      bind_code_(other.bind_code_) {}

Statement& Statement::operator=(Statement&& other) noexcept {
  if (this == &other) return *this;
  give_back();
  connection_ = other.connection_;
  path_ = other.path_;
  own_ = std::move(other.own_);
  slot_ = std::exchange(other.slot_, nullptr);
  bind_code_ = other.bind_code_;
  return *this;
}

Statement::~Statement() { give_back(); }

void Statement::give_back() {
  if (slot_ == nullptr) return;
  if (own_ != nullptr) {
    sqlite3_finalize(slot_->raw);
    own_.reset();
  } else {
    sqlite3_reset(slot_->raw);
    sqlite3_clear_bindings(slot_->raw);
    slot_->is_used = false;
  }
  slot_ = nullptr;
}

void Statement::put_integer(int at, std::int64_t value) {
  const int code = sqlite3_bind_int64(slot_->raw, at, value);
  if (code != SQLITE_OK && bind_code_ == SQLITE_OK) bind_code_ = code;
}

void Statement::put(int at, std::string_view text) {
  // A null pointer would bind NULL; an empty text is a text.
  const char* bytes = text.data() == nullptr ? "" : text.data();
  const auto keep = lends_ ? SQLITE_STATIC : SQLITE_TRANSIENT;
  const int code = sqlite3_bind_text64(slot_->raw, at, bytes, text.size(), keep, SQLITE_UTF8);
  if (code != SQLITE_OK && bind_code_ == SQLITE_OK) bind_code_ = code;
}

void Statement::put(int at, AboveAllText) {
  // SQLite orders every BLOB after every TEXT.
  const int code = sqlite3_bind_zeroblob(slot_->raw, at, 0);
  if (code != SQLITE_OK && bind_code_ == SQLITE_OK) bind_code_ = code;
}

Result<bool> Statement::step() {
  if (bind_code_ != SQLITE_OK) return failed(bind_code_);
  const int code = sqlite3_step(slot_->raw);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return failed(code);
}

Result<> Statement::run() {
  Result<bool> stepped = true;
  while (stepped && *stepped) stepped = step();
  reset();
  if (!stepped) return tl::unexpected<Error>(std::move(stepped).error());
  return {};
}

void Statement::reset() {
  sqlite3_reset(slot_->raw);
  bind_code_ = SQLITE_OK;
}

void Statement::forget() {
  sqlite3_clear_bindings(slot_->raw);
  lends_ = false;
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(slot_->raw, column);
}

std::string_view Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(slot_->raw, column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(slot_->raw, column))};
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(slot_->raw, column) == SQLITE_NULL;
}

tl::unexpected<Error> Statement::failed(int code) const {
  return failed_on(connection_, code, *path_, sqlite3_sql(slot_->raw));
}

// Connections
// --------------------------------------------------------------------------------------

struct Db::State {
  std::string path;
  sqlite3* connection = nullptr;
  Cache cache;
  std::int64_t wal_pages = 0;
  std::int64_t page_bytes = 0;

  ~State() {
    for (auto& [sql, slot] : cache) sqlite3_finalize(slot.raw);
    const int code = sqlite3_close(connection);
    MUSTER_CHECK(code == SQLITE_OK, "a statement of {} outlived its connection", path);
  }
};

Db::Db(std::unique_ptr<State> state) : state_(std::move(state)) {}
Db::Db(Db&&) noexcept = default;
Db& Db::operator=(Db&&) noexcept = default;
Db::~Db() = default;

Result<Db> Db::open(const std::string& path, OpenMode mode) {
  auto state = std::make_unique<State>();
  state->path = path;
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  flags |= mode == OpenMode::read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  if (mode == OpenMode::create) flags |= SQLITE_OPEN_CREATE;
  const int code = sqlite3_open_v2(path.c_str(), &state->connection, flags, nullptr);
  if (code != SQLITE_OK) return failed_on(state->connection, code, path, {});
  // One connection writes and checkpoints: two at once may meet SQLite's race of a restarting log
  // (mended in 3.51.3, after the version linked here).
  const int leave_log = mode == OpenMode::read_only ? 1 : 0;
  sqlite3_db_config(state->connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, leave_log, nullptr);
  sqlite3_wal_hook(
      state->connection,
      [](void* mine, sqlite3*, const char*, int pages) {
        static_cast<State*>(mine)->wal_pages = pages;
        return SQLITE_OK;
      },
      state.get());
  Db db(std::move(state));
  db.wait_at_most(kLockWait);
  // A damaged page is noticed when it is read; a damaged schema cannot call functions.
  TRY_VOID(
      db.script("PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF;"
                "PRAGMA temp_store = MEMORY;"));
  // The first look into the file: what is no database is told here.
  TRY_VOID(db.integer("PRAGMA schema_version"));
  TRY(db.state_->page_bytes, db.integer("PRAGMA page_size"));
  return db;
}

Result<Statement> Db::statement(std::string_view sql) {
  auto& cache = state_->cache;
  const auto found = cache.find(sql);
  if (found != cache.end() && !found->second.is_used)
    return Statement(state_->connection, &state_->path, &found->second);
  sqlite3_stmt* raw = nullptr;
  const int code = sqlite3_prepare_v3(state_->connection, sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
  if (code != SQLITE_OK) return failed_on(state_->connection, code, state_->path, sql);
  if (found != cache.end())  // given to somebody: this one lives for its user alone
    return Statement(state_->connection, &state_->path,
                     std::make_unique<Statement::Slot>(Statement::Slot{.raw = raw}));
  auto& slot = cache.emplace(sql, Statement::Slot{.raw = raw}).first->second;
  return Statement(state_->connection, &state_->path, &slot);
}

Result<> Db::script(const std::string& sql) {
  const int code = sqlite3_exec(state_->connection, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return failed_on(state_->connection, code, state_->path, sql);
  return {};
}

std::int64_t Db::changes() const { return sqlite3_changes64(state_->connection); }
bool Db::in_transaction() const { return sqlite3_get_autocommit(state_->connection) == 0; }
std::int64_t Db::wal_bytes() const { return state_->wal_pages * state_->page_bytes; }
const std::string& Db::path() const { return state_->path; }

void Db::wait_at_most(Duration wait) {
  using std::chrono::milliseconds;
  const auto count = std::chrono::duration_cast<milliseconds>(wait).count();
  sqlite3_busy_timeout(state_->connection, static_cast<int>(count));
}

Result<bool> Db::checkpoint(Checkpoint mode) {
  const bool truncates = mode == Checkpoint::truncate;
  const int how = truncates ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE;
  wait_at_most(Duration(0));  // never wait for a reader: what it holds back is moved next time
  int pages = 0;
  int moved = 0;
  const int code = sqlite3_wal_checkpoint_v2(state_->connection, "main", how, &pages, &moved);
  wait_at_most(kLockWait);
  if ((code & 0xFF) == SQLITE_BUSY) return false;
  if (code != SQLITE_OK) return failed_on(state_->connection, code, state_->path, "checkpoint");
  if (truncates) state_->wal_pages = 0;
  return moved == pages;
}

// Transactions
// -------------------------------------------------------------------------------------

Result<Transaction> Transaction::begin(Db& db, Access access) {
  TRY_VOID(db.run(access == Access::write ? "BEGIN IMMEDIATE" : "BEGIN"));
  return Transaction(db);
}

Result<> Transaction::commit() {
  TRY_VOID(db_->run("COMMIT"));
  db_ = nullptr;
  return {};
}

Transaction::~Transaction() {
  // SQLite rolls back by itself after some failures. Rolling back a log needs neither room nor
  // luck, so there is nothing to tell.
  if (db_ != nullptr && db_->in_transaction()) (void)db_->run("ROLLBACK");
}

}  // namespace muster::sqlite
