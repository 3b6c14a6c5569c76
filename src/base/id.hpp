/// Ids are types: a JobId is not a NodeName, though both are strings.
#pragma once
#include <compare>
#include <string>
#include <string_view>
#include <utility>

namespace muster {

template <class Tag>
class Id {
 public:
  Id() = default;
  explicit Id(std::string value) : value_(std::move(value)) {}
  const std::string& str() const { return value_; }
  bool empty() const { return value_.empty(); }
  auto operator<=>(const Id&) const = default;

 private:
  std::string value_;
};

using JobId = Id<struct JobTag>;
using NodeName = Id<struct NodeTag>;

}  // namespace muster
