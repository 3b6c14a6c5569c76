#include "app/server/followers.hpp"

#include "app/server/job_json.hpp"
#include "edge/http/sse.hpp"

namespace muster::server {
namespace {

constexpr std::size_t kEventsAtOnce = 200;

bool is_last_of_job(const EventRow& row) { return row.kind == "finished"; }

/// A reader that comes back after the end must not wait for more.
bool is_over(Records& records, JobSeq job) {
  const auto detail = records.detail(job);
  return !detail || is_final(detail->job.state);
}

}  // namespace

void Followers::add(Wish wish, std::shared_ptr<http::Stream> stream) {
  auto one = std::make_shared<One>();
  one->wish = wish;
  one->stream = std::move(stream);
  {
    const std::lock_guard lock(mutex_);
    all_.push_back(one);
  }
  advance(one);
}

std::list<std::shared_ptr<Followers::One>> Followers::current() {
  const std::lock_guard lock(mutex_);
  all_.remove_if([](const auto& one) { return one->done || one->stream->is_closed(); });
  return all_;
}

std::size_t Followers::count() { return current().size(); }

void Followers::wake() {
  for (const auto& one : current()) advance(one);
}

void Followers::heartbeat() {
  for (const auto& one : current()) (void)one->stream->write(http::sse_heartbeat());
}

/// One reader at a time per follower; a wake-up during a read leads to another read.
void Followers::advance(const std::shared_ptr<One>& one) {
  one->again = true;
  if (one->busy.exchange(true)) return;
  office_.readers.run([this, one](Records& records) { read_some(one, records); },
                      [one](const Error&) { one->stream->close(); });
}

void Followers::read_some(const std::shared_ptr<One>& one, Records& records) {
  one->again = false;
  const auto rows = records.events(one->wish.after, one->wish.job, kEventsAtOnce);
  bool is_done = !rows;
  for (const auto& row : rows.value_or(std::vector<EventRow>())) {
    one->wish.after = row.sequence;
    const bool is_taken = one->stream->write(http::to_sse(
        {.id = std::to_string(row.sequence), .event = row.kind, .data = event_json(row)}));
    is_done = is_done || !is_taken || (one->wish.job && is_last_of_job(row));
  }
  const bool has_more = rows && rows->size() == kEventsAtOnce;
  if (!has_more && !one->wish.follow) is_done = true;
  if (!is_done && rows->empty() && one->wish.job) is_done = is_over(records, *one->wish.job);
  if (is_done) {
    one->done = true;
    one->stream->close();
    return;
  }
  if (has_more) one->again = true;
  // A slow peer: go on when it has taken what it was given.
  if (one->stream->pending() > 0 && has_more) {
    one->stream->on_drain([this, one] {
      one->busy = false;
      advance(one);
    });
    return;
  }
  one->busy = false;
  if (one->again) advance(one);
}

}  // namespace muster::server
