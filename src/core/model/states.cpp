#include "core/model/states.hpp"

namespace muster {

template <>
std::span<const Named<JobState>> names<JobState>() {
  using enum JobState;
  static constexpr Named<JobState> kRows[] = {
      {queued, "queued"}, {starting, "starting"},   {running, "running"}, {stopping, "stopping"},
      {held, "held"},     {succeeded, "succeeded"}, {failed, "failed"},   {cancelled, "cancelled"}};
  return kRows;
}

template <>
std::span<const Named<AttemptState>> names<AttemptState>() {
  using enum AttemptState;
  static constexpr Named<AttemptState> kRows[] = {
      {launching, "launching"}, {preparing, "preparing"}, {barrier, "barrier"},
      {running, "running"},     {stopping, "stopping"},   {ended, "ended"}};
  return kRows;
}

}  // namespace muster
