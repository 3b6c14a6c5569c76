#include "app/agent/short_record.hpp"

#include <algorithm>

#include "core/model/json.hpp"
#include "edge/process/attempt_dir.hpp"

namespace muster::agent {
namespace {

/// Fields of a rank and the step at which they are left out, with all of the steps before.
struct LeftOut {
  std::string_view field;
  int step;
};
constexpr LeftOut kLeftOut[] = {
    {"out_xxh3", 1},   {"err_xxh3", 1},  {"started", 2},      {"ended", 2},     {"cpu_us", 3},
    {"peak_bytes", 3}, {"oom_kills", 3}, {"ended_run_us", 4}, {"out_bytes", 5}, {"err_bytes", 5}};
constexpr int kSteps = 5;
constexpr std::size_t kFewWords = 600;  // of a text that is too long
constexpr std::size_t kFewest = 60;     // where each byte of it may become six

bool is_default(const json::value& value) {
  return (value.is_int64() && value.get_int64() == 0) ||
         (value.is_string() && value.get_string().empty());
}

/// Cut between characters.
std::string few_words(std::string_view text, std::size_t size) {
  if (text.size() <= size) return std::string(text);
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;
  return std::string(text.substr(0, size)) + "…";
}

const RankExit* first_failure(const ExitRecord& record) {
  const RankExit* first = nullptr;
  for (const auto& rank : record.ranks)
    if (rank.failed() && (first == nullptr || rank.ended_run_us < first->ended_run_us))
      first = &rank;
  return first;
}

/// A record without ranks means that nothing was started: one stays, where there was one.
std::vector<RankExit>::const_iterator at_most_one(const ExitRecord& record) {
  return record.ranks.begin() + (record.ranks.empty() ? 0 : 1);
}

void move_to_front(ExitRecord& record) {
  const auto* first = first_failure(record);
  if (first == nullptr) return;
  const auto at = record.ranks.begin() + (first - record.ranks.data());
  std::rotate(record.ranks.begin(), at, at + 1);
}

bool is_left_out(std::string_view field, int step) {
  return std::any_of(std::begin(kLeftOut), std::end(kLeftOut),
                     [&](const LeftOut& one) { return one.field == field && one.step <= step; });
}

std::string at_step(int step, const std::string& text) {
  auto parsed = parse_json(text);
  if (!parsed) return text;
  auto& record = parsed->get_object();
  for (auto& rank : record["ranks"].get_array()) {
    json::object kept;
    for (const auto& [name, value] : rank.get_object()) {
      const std::string_view key(name.data(), name.size());
      if (!is_left_out(key, step) && (!is_default(value) || key == "rank")) kept[name] = value;
    }
    rank = std::move(kept);
  }
  return json::serialize(record);
}

}  // namespace

std::string short_record(const ExitRecord& record, int attempt, std::int64_t epoch,
                         std::size_t most) {
  auto text = process::exit_text(record, attempt, epoch);
  if (text.size() <= most) return text;
  ExitRecord shorter = record;
  shorter.why = few_words(record.why, kFewWords);
  shorter.killed_by = few_words(record.killed_by, kFewWords);
  move_to_front(shorter);
  const auto whole = process::exit_text(shorter, attempt, epoch);
  for (int step = 1; step <= kSteps; ++step) {
    text = at_step(step, whole);
    if (text.size() <= most) return text;
  }
  for (const bool only_one : {false, true}) {
    std::erase_if(shorter.ranks, [](const RankExit& rank) { return !rank.failed(); });
    if (shorter.ranks.empty()) shorter.ranks.assign(record.ranks.begin(), at_most_one(record));
    if (only_one && !shorter.ranks.empty()) shorter.ranks.resize(1);
    text = at_step(kSteps, process::exit_text(shorter, attempt, epoch));
    if (text.size() <= most) return text;
  }
  shorter.why = few_words(record.why, kFewest);
  shorter.killed_by = few_words(record.killed_by, kFewest);
  return at_step(kSteps, process::exit_text(shorter, attempt, epoch));
}

}  // namespace muster::agent
