#include "app/cli/waiting.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "app/api/start.hpp"
#include "app/cli/job_cells.hpp"
#include "base/text.hpp"
#include "core/model/states.hpp"

namespace muster {
namespace {

constexpr int kPatience = 1000;  // most jobs have started by then
constexpr int kPause = 2000;

}  // namespace

Waiting::Waiting(const Context& context, std::string id)
    : home_(context.paths.state),
      id_(std::move(id)),
      width_(context.width),
      over_(::eventfd(0, EFD_CLOEXEC)) {
  const bool has_reader = context.err_is_tty && !context.globals.quiet;
  if (has_reader && over_) thread_ = std::thread([this] { watch(); });
}

Waiting::~Waiting() {
  if (!thread_.joinable()) return;
  ::eventfd_write(over_.get(), 1);
  thread_.join();
}

bool Waiting::is_over_after(int milliseconds) const {
  pollfd over{over_.get(), POLLIN, 0};
  return ::poll(&over, 1, milliseconds) != 0;
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
  const auto& reasons = list_at(job, "reasons");
  if (reasons.empty() || *state == JobState::stopping) {
    told_.clear();  // it may come back here by a retry
    return true;
  }
  const auto& reason = reasons.front().as_object();
  if (std::exchange(told_, text_at(reason, "code")) == text_at(reason, "code")) return true;
  const auto text =
      wrapped(fmt::format("muster: job {} waits: {}", id_, shown_at(reason, "text")), width_, 2) +
      "\n";
  (void)!::write(STDERR_FILENO, text.data(), text.size());
  return true;
}

}  // namespace muster
