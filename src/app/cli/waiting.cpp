#include "app/cli/waiting.hpp"

#include <unistd.h>

#include "app/api/start.hpp"
#include "app/cli/job_cells.hpp"
#include "base/text.hpp"
#include "core/model/states.hpp"

namespace muster {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kPatience(1000);  // most jobs have started by then
constexpr milliseconds kPause(2000);

}  // namespace

Waiting::Waiting(const Context& context, std::string id)
    : home_(context.paths.state), id_(std::move(id)), width_(context.width) {
  if (context.err_is_tty && !context.globals.quiet) thread_ = std::thread([this] { watch(); });
}

Waiting::~Waiting() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  over_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool Waiting::is_over_after(milliseconds pause) {
  std::unique_lock lock(mutex_);
  return over_.wait_for(lock, pause, [this] { return is_over_; });
}

void Waiting::watch() {
  for (auto pause = kPatience; !is_over_after(pause) && look();) pause = kPause;
}

bool Waiting::look() {
  auto api = api::connect_only(home_);
  const auto document = api ? (*api)->call({.route = "jobs.get", .id = id_})
                            : Result<std::string>(tl::unexpected(api.error()));
  if (!document) return true;  // the server may be on its way back
  const auto parsed = parse_json(*document);
  if (!parsed || !parsed->is_object()) return false;
  const auto& job = parsed->get_object();
  const auto state = named<JobState>(text_at(job, "state"));
  if (!state || is_final(*state)) return false;
  if (*state != JobState::queued) {
    told_.clear();  // it may come back here by a retry
    return true;
  }
  const auto& reasons = list_at(job, "reasons");
  if (reasons.empty()) return true;
  const auto& reason = reasons.front().as_object();
  if (std::exchange(told_, text_at(reason, "code")) == text_at(reason, "code")) return true;
  const auto text =
      wrapped(fmt::format("muster: job {} waits: {}", id_, shown_at(reason, "text")), width_, 2) +
      "\n";
  (void)!::write(STDERR_FILENO, text.data(), text.size());
  return true;
}

}  // namespace muster
