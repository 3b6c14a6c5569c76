#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>

#include "edge/process/clocks.hpp"
#include "edge/process/port_check.hpp"
#include "edge/process/watcher.hpp"

namespace muster::process {
namespace {

NodeOrder order_for(const LocalDeps& deps, const Launch& launch, int node, const Slot& slot) {
  NodeOrder order{.home = deps.home,
                  .home_id = deps.home_id,
                  .build_id = deps.build_id,
                  .node = node,
                  .slot = slot,
                  .plan = {}};
  const auto& plan = *launch.plan;
  order.plan = {.ref = plan.ref,
                .epoch = plan.epoch,
                .argv = plan.argv,
                .dir = plan.dir,
                .folder = plan.folder,
                .env = plan.env,
                .nodes = {},
                .time_limit = plan.time_limit,
                .grace = plan.grace,
                .signal_to = plan.signal_to,
                .memory_limit = plan.memory_limit,
                .umask = plan.umask,
                .nice = plan.nice,
                .limits = plan.limits,
                .folders = plan.folders};
  for (const auto& one : plan.nodes)
    if (one.index == node) order.plan.nodes.push_back(one);
  return order;
}

}  // namespace

void Watcher::carry_out(const LaunchNodes& task) {
  const auto& ref = task.launch.ref;
  // 1. A node that has traces is not launched: it is looked after.
  std::vector<int> fresh;
  for (const int node : task.nodes) {
    const SeatKey key{ref, node};
    if (serials_.contains(key)) continue;
    const auto traces = look_at(dir_of(key), key.ref.attempt);
    if (traces && traces->meaning == Traces::Meaning::not_started)
      fresh.push_back(node);
    else
      carry_out(Adopt{key});
  }
  // 2. The port, while nobody of the attempt can be using it yet.
  if (fresh.size() == task.launch.plan->nodes.size() && !is_port_free(task.launch.port)) {
    for (const int node : fresh) show({ref, node}, PortTaken{task.launch.port});
    return;
  }
  // 3. The rest is started.
  for (const int node : fresh) {
    const auto started = start(task.launch, node);
    if (started) continue;
    const auto why = to_line(started.error());
    deps_.log.error("launch failed", {{"job", ref.job.str()}, {"why", why}});
    // Half an order may have arrived: with a record there it is not carried out.
    (void)leave_tombstone(dir_of({ref, node}), ref.attempt, "never_started: " + why);
    show({ref, node}, Lost{Cause::never_started, why});
  }
}

Result<> Watcher::start(const Launch& launch, int node) {
  TRY(auto slot, pool_.acquire());
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return fail_errno("cannot make a socket pair", errno);
  UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  const auto order = order_for(deps_, launch, node, slot.slot);
  const int before = zygote_.fd();
  UniqueFd again(::fcntl(theirs.get(), F_DUPFD_CLOEXEC, 0));
  auto sent = zygote_.send(order, std::move(theirs), slot.lock.get());
  // The zygote that was there may have died without our knowing: a new one gets the order.
  if (!sent && before >= 0) sent = zygote_.send(order, std::move(again), slot.lock.get());
  again.reset();
  watch_zygote();
  if (!sent) {
    pool_.release(std::move(slot));
    return sent;
  }
  const auto serial = add_seat({launch.ref, node});
  seats_.at(serial).slot = std::move(slot);
  connect_link(serial, std::move(ours));
  return {};
}

void Watcher::carry_out(const Stop& task) {
  for (int node = 0; node < task.nodes; ++node) {
    const SeatKey key{task.ref, node};
    const auto at = serials_.find(key);
    const bool is_new = at == serials_.end();
    if (is_new) {
      const auto known = board_.find(key);
      if (known && (std::holds_alternative<Ended>(*known) || std::holds_alternative<Lost>(*known)))
        continue;
    }
    const auto serial = is_new ? add_seat(key) : at->second;
    auto& seat = seats_.at(serial);
    seat.stop = Asked{.what = "stop", .why = task.why, .grace = task.grace, .signal = 0};
    if (is_new)
      find_out(serial);
    else
      send_stop(seat);
  }
}

/// Nothing is recorded and nothing is repeated: who is not there does not get it.
void Watcher::carry_out(const Signal& task) {
  for (int node = 0; node < task.nodes; ++node) {
    const auto at = serials_.find({task.ref, node});
    if (at == serials_.end() || !seats_.at(at->second).link.is_open()) continue;
    seats_.at(at->second)
        .link.send(to_line(
            Asked{.what = "signal", .why = {}, .grace = Duration(0), .signal = task.number}));
  }
}

void Watcher::carry_out(const Acknowledge& task) {
  const SeatKey key{task.ref, task.node};
  silent_ends_.erase(key);
  const auto at = serials_.find(key);
  if (at == serials_.end()) return board_.erase(key);
  auto& seat = seats_.at(at->second);
  seat.is_acknowledged = true;
  if (!seat.link.is_open()) return forget(at->second);
  seat.link.send(to_line(Asked{.what = "ack"}));
}

void Watcher::carry_out(const Adopt& task) {
  if (serials_.contains(task.key)) return;
  find_out(add_seat(task.key));
}

void Watcher::watch_zygote() {
  if (zygote_.fd() < 0) return;
  epoll_event event{.events = EPOLLIN | EPOLLRDHUP, .data = {.u64 = 1}};
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, zygote_.fd(), &event);  // EEXIST: watched already
}

/// Orders it had not carried out show by themselves: their links end. The next launch starts
/// another.
void Watcher::zygote_died() {
  deps_.log.warn("the zygote ended; the next launch starts another");
  zygote_.close();
  for (const auto& [serial, seat] : seats_)
    if (!seat.is_over && seat.alive.state == AttemptState::preparing) changed_.insert(seat.key.ref);
}

}  // namespace muster::process
