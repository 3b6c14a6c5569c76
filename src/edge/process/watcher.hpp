/// The thread of the local backend: it alone talks to the zygote and to shims, holds cgroup slots,
/// and kills what dead shims left behind. What it sees goes onto the board, and a hint to the
/// driver.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <variant>
#include <vector>

#include "edge/process/leftovers.hpp"
#include "edge/process/lines.hpp"
#include "edge/process/local_backend.hpp"
#include "edge/process/sight_board.hpp"
#include "edge/process/slot_pool.hpp"
#include "edge/process/zygote_client.hpp"

namespace muster::process {

struct LaunchNodes {
  Launch launch;
  std::vector<int> nodes;
};
/// An attempt of an earlier server: find out how it stands, and stay in touch.
struct Adopt {
  SeatKey key;
};
using Task = std::variant<LaunchNodes, Stop, Signal, Acknowledge, Adopt>;

class Watcher {
 public:
  /// `deps` and `board` must outlive it.
  Watcher(const LocalDeps& deps, SightBoard& board);
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  // From any thread:
  void post(Task task);
  void on_change(std::function<void(std::vector<AttemptRef>)> hint);
  std::string_view tier() const { return tier_; }

 private:
  using Serial = std::uint64_t;
  struct Seat {
    SeatKey key;
    LineChannel link;
    HeldSlot slot;  // what was given to it; empty when an earlier server did that
    std::optional<Asked> stop;
    Alive alive{AttemptState::preparing, -1};
    bool is_over = false;  // it has said its last word
    bool is_acknowledged = false;
    std::optional<ShimMark> mark;
    std::optional<Leftovers> leftovers;
    Duration since{0};  // of looking, or of cleaning up
    Duration pause{0};
  };

  void loop();
  void take_tasks();
  void fire_timers();
  int wait_ms() const;
  void give_hints();

  // Tasks (watcher_tasks.cpp).
  void carry_out(const LaunchNodes& task);
  void carry_out(const Stop& task);
  void carry_out(const Signal& task);
  void carry_out(const Acknowledge& task);
  void carry_out(const Adopt& task);
  Result<> start(const Launch& launch, int node);
  void zygote_died();
  void watch_zygote();

  // Seats (watcher_seats.cpp).
  Serial add_seat(const SeatKey& key);
  void connect_link(Serial serial, UniqueFd fd);
  void hear(Serial serial);
  void heard(Seat& seat, const Said& said);
  void find_out(Serial serial);
  void stay_in_touch(Serial serial);
  void not_started(Serial serial);
  void clean_up(Serial serial);
  void conclude(Serial serial, Sight sight);
  void forget(Serial serial);
  void leave_seat(Serial serial);
  void again_in(Serial serial, Duration pause);
  void show(const SeatKey& key, Sight sight);
  void send_stop(Seat& seat);
  std::string dir_of(const SeatKey& key) const;

  const LocalDeps& deps_;
  SightBoard& board_;
  SlotPool pool_;
  std::string tier_;
  ZygoteClient zygote_;
  UniqueFd epoll_;
  UniqueFd wake_;
  std::map<Serial, Seat> seats_;
  std::map<SeatKey, Serial> serials_;
  std::set<std::pair<Duration, Serial>> timers_;
  std::map<SeatKey, int> silent_ends_;  // shims that went without a word or a trace
  std::set<AttemptRef> changed_;
  Serial next_serial_ = 2;  // 0 and 1 are the wake-up and the zygote

  std::mutex mutex_;  // guards the two below
  std::vector<Task> tasks_;
  std::function<void(std::vector<AttemptRef>)> hint_;
  std::atomic<bool> is_ending_ = false;
  std::thread thread_;
};

}  // namespace muster::process
