/// Parts of a job document as people read them; shared by the table and the long forms. Every text
/// given back is safe on a terminal.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "app/cli/output.hpp"
#include "base/time.hpp"
#include "core/model/json.hpp"

namespace muster {

/// A text of the document, printable; empty when absent.
std::string shown_at(const json::object& object, std::string_view name);
std::optional<WallTime> time_at(const json::object& object, std::string_view name);

/// A time of the document on this person's clock, to the second.
std::string local_time_at(const json::object& object, std::string_view name);

/// The command as one would type it.
std::string command_of(const json::object& job);
/// "user_code (exit 3)", of a job or an attempt that has ended.
std::string end_text(const json::object& end);
/// The same after its state, or nothing where the state says it all.
std::string end_after_state(const json::object& job);
Style style_of_state(std::string_view state);

}  // namespace muster
