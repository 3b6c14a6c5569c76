/// Takes values out of a text that are nobody's business: known ones, what follows the names that
/// such values usually have, proofs in headers, passwords in addresses. Errs on the side of taking
/// out too much. Pure; any thread.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// What stands in the place of a value.
constexpr std::string_view kRedacted = "[redacted]";

/// Whether what has this name is usually secret: HF_TOKEN, password, AccountKey, sig.
bool is_secret_name(std::string_view name);

/// `known` are values that must not appear; those of less than 4 bytes are not looked for.
std::string redacted(std::string_view text, const std::vector<std::string>& known);

}  // namespace muster
