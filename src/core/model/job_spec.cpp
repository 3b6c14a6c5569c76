#include "core/model/job_spec.hpp"

namespace muster {

template <>
std::span<const Named<SignalTo>> names<SignalTo>() {
  using enum SignalTo;
  static constexpr Named<SignalTo> kRows[] = {{main, "main"}, {group, "group"}, {all, "all"}};
  return kRows;
}

}  // namespace muster
