#include "core/model/pod_settings.hpp"

namespace muster {

template <>
std::span<const Named<PodSecurity>> names<PodSecurity>() {
  using enum PodSecurity;
  static constexpr Named<PodSecurity> kRows[] = {
      {automatic, "auto"}, {restricted, "restricted"}, {baseline, "baseline"}, {image, "image"}};
  return kRows;
}

template <>
std::span<const Named<Spot>> names<Spot>() {
  using enum Spot;
  static constexpr Named<Spot> kRows[] = {{never, "never"}, {prefer, "prefer"}, {only, "only"}};
  return kRows;
}

}  // namespace muster
