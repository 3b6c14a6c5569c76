/// Enumerators and their words, in one table each: `name_of(JobState::queued)`,
/// `named<JobState>("queued")`.
#pragma once
#include <optional>
#include <span>
#include <string_view>

namespace muster {

template <class E>
struct Named {
  E value;
  std::string_view name;
};

/// Specialised beside each enumeration; the rows are the closed list of words.
template <class E>
std::span<const Named<E>> names();

template <class E>
std::string_view name_of(E value) {
  for (const auto& row : names<E>())
    if (row.value == value) return row.name;
  return "?";
}

template <class E>
std::optional<E> named(std::string_view name) {
  for (const auto& row : names<E>())
    if (row.name == name) return row.value;
  return std::nullopt;
}

}  // namespace muster
