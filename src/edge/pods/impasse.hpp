/// When waiting does not help: a pod that wants what nobody brings, or a gang of which only a part
/// was placed, so that it keeps nodes from others and cannot begin. Pure.
#pragma once
#include <optional>
#include <string>

#include "core/model/cause.hpp"
#include "edge/pods/board.hpp"

namespace muster::pods {

struct Impasse {
  Cause cause = Cause::none;
  std::string text;
};

/// Nothing when it may still come right by itself.
std::optional<Impasse> impasse_of(const Group& group, int nodes);

}  // namespace muster::pods
