#include "core/model/job_spec.hpp"

namespace muster {

template <>
std::span<const Named<SignalTo>> names<SignalTo>() {
  using enum SignalTo;
  static constexpr Named<SignalTo> kRows[] = {{main, "main"}, {group, "group"}, {all, "all"}};
  return kRows;
}

template <>
std::span<const Named<Keep>> names<Keep>() {
  static constexpr Named<Keep> kNames[] = {
      {Keep::all, "all"}, {Keep::outputs, "outputs"}, {Keep::none, "none"}};
  return kNames;
}

}  // namespace muster
