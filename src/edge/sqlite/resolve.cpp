#include "base/text.hpp"
#include "edge/sqlite/records.hpp"

namespace muster {
namespace {

constexpr std::size_t kLongestText = 1024;
constexpr std::size_t kCandidatesShown = 8;
constexpr std::int64_t kRecentJobs = 500;  // where a misspelt word is looked for
constexpr std::int64_t kRecentDigits = 10'000;

struct Candidate {
  JobSeq seq = 0;
  std::string id;
  std::string name;
  std::string state;
  auto operator<=>(const Candidate&) const = default;
};
using Candidates = std::vector<Candidate>;

/// The first text after all those that begin with `prefix`; nothing when there is none.
std::optional<std::string> end_of_prefix(std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xFF') prefix.pop_back();
  if (prefix.empty()) return std::nullopt;
  prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

/// One more than are shown, so that "and more" is known.
Result<Candidates> gather(sqlite::Statement& rows) {
  Candidates found;
  for (;;) {
    TRY(const bool has_row, rows.step());
    if (!has_row) return found;
    found.push_back({rows.integer(0), std::string(rows.text(1)), std::string(rows.text(2)),
                     std::string(rows.text(3))});
  }
}

Result<Candidates> in_range(sqlite::Db& db, std::string_view sql, const std::string& prefix) {
  TRY(auto rows, db.statement(sql));
  rows.bind(prefix);
  if (const auto end = end_of_prefix(prefix)) {
    rows.put(2, *end);
  } else {
    rows.put(2, sqlite::AboveAllText{});
  }
  rows.put(3, kCandidatesShown + 1);
  return gather(rows);
}

Result<Candidates> by_prefix(sqlite::Db& db, const std::string& text) {
  return in_range(db,
                  "SELECT seq, id, name, state FROM jobs WHERE id >= ?1 AND id < ?2"
                  " ORDER BY id DESC LIMIT ?3",
                  text);
}

Result<Candidates> by_suffix(sqlite::Db& db, const std::string& text) {
  return in_range(db,
                  "SELECT seq, id, name, state FROM jobs WHERE rid >= ?1 AND rid < ?2"
                  " ORDER BY rid DESC LIMIT ?3",
                  std::string(text.rbegin(), text.rend()));
}

/// The beginning of the eight digits that tables show; of the jobs a table would show.
Result<Candidates> by_digits(sqlite::Db& db, const std::string& text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  if (text.size() > 8 || text.find_first_not_of(kDigits) != std::string::npos) return Candidates();
  TRY(auto rows, db.statement("SELECT seq, id, name, state FROM jobs"
                              " WHERE seq > (SELECT max(seq) FROM jobs) - ?3"
                              " AND substr(id, -8, ?4) = ?1 ORDER BY seq DESC LIMIT ?2"));
  rows.bind(text, kCandidatesShown + 1, kRecentDigits, static_cast<std::int64_t>(text.size()));
  return gather(rows);
}

Result<Candidates> by_name(sqlite::Db& db, const std::string& text) {
  TRY(auto rows, db.statement("SELECT seq, id, name, state FROM jobs WHERE name = ?1"
                              " ORDER BY seq DESC LIMIT ?2"));
  rows.bind(text, kCandidatesShown + 1);
  return gather(rows);
}

tl::unexpected<Error> ambiguous(std::string_view text, Candidates all) {
  std::sort(all.begin(), all.end(), std::greater<>());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  Error error{.kind = Kind::usage};
  error.what = fmt::format("\"{}\" may mean several jobs", printable(text));
  error.why = "it is part of several ids, or several jobs have this name; newest first";
  const auto shown = std::min(all.size(), kCandidatesShown);
  for (const auto& one : std::span(all).first(shown))
    error.fix.push_back(
        fmt::format("{}  {}  {}", printable(one.id), one.state, printable(one.name)));
  if (all.size() > shown) error.fix.back() += "  (and more)";
  return tl::unexpected<Error>(std::move(error));
}

Result<JobSeq> not_found(sqlite::Db& db, std::string_view text) {
  std::vector<std::string> words;
  TRY(auto rows, db.statement("SELECT id, name FROM jobs ORDER BY seq DESC LIMIT ?1"));
  rows.bind(kRecentJobs);
  for (;;) {
    TRY(const bool has_row, rows.step());
    if (!has_row) break;
    for (const int column : {0, 1})
      // Distance costs the product of the lengths; what is far longer is not near.
      if (rows.text(column).size() <= text.size() + 3) words.emplace_back(rows.text(column));
  }
  const auto near = text.size() <= 128 ? nearest(text, words) : std::nullopt;
  return fail(Kind::not_found, fmt::format("no job \"{}\"", printable(clipped(text, 64))),
              near ? fmt::format("did you mean \"{}\"?", printable(*near))
                   : "list the jobs: muster query --all");
}

}  // namespace

Result<JobSeq> Records::resolve(std::string_view typed) {
  if (trimmed(typed).empty())
    return fail(Kind::usage, "an empty text names no job", "give an id or a name");
  if (typed.size() > kLongestText)
    return fail(Kind::usage, fmt::format("a job's name of {} bytes is refused", typed.size()),
                fmt::format("use its id, or at most {} bytes", kLongestText));
  const std::string text(typed);
  TRY(const auto whole, db_.integer("SELECT seq FROM jobs WHERE id = ?1", text));
  if (whole != 0) return whole;
  Candidates all;
  for (const auto find : {by_name, by_prefix, by_suffix, by_digits}) {
    TRY(auto found, find(db_, text));
    if (found.size() == 1) return found.front().seq;
    all.insert(all.end(), found.begin(), found.end());
  }
  if (!all.empty()) return ambiguous(text, std::move(all));
  return not_found(db_, text);
}

}  // namespace muster
