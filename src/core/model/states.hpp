/// The states of jobs and attempts. `unreachable` is a flag beside the state, never a state.
#pragma once
#include <cstdint>

#include "core/model/names.hpp"

namespace muster {

enum class JobState : std::uint8_t {
  queued,
  starting,
  running,
  stopping,
  held,
  succeeded,
  failed,
  cancelled
};
enum class AttemptState : std::uint8_t { launching, preparing, barrier, running, stopping, ended };

inline bool is_final(JobState state) {
  return state == JobState::succeeded || state == JobState::failed || state == JobState::cancelled;
}

template <>
std::span<const Named<JobState>> names<JobState>();
template <>
std::span<const Named<AttemptState>> names<AttemptState>();

}  // namespace muster
