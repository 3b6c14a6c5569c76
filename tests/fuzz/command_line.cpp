// Any words, separated by NUL bytes, as a command line, and any text as a job in JSON.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "app/cli/parse.hpp"
#include "app/cli/submit_flags.hpp"
#include "base/text.hpp"
#include "core/spec/resolve.hpp"

namespace {

void resolve_any(const muster::spec::SubmitOptions& options) {
  muster::spec::Submitter submitter;
  submitter.dir = "/";
  (void)muster::spec::resolve(options, {}, {}, submitter);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> words;
  for (const auto word : muster::split(text, '\0')) words.emplace_back(word);
  const std::vector<muster::Verb> verbs{
      {.name = "submit", .operands = muster::Operands::command, .options = muster::submit_flags()},
      {.name = "logs", .operands = muster::Operands::some}};
  if (const auto parsed = muster::parse_command_line(words, verbs)) {
    // The user's command is always the end of the words, byte for byte.
    const auto& rest = parsed->operands;
    const bool is_command = parsed->verb != nullptr && parsed->verb->name == "submit";
    if (is_command && !std::equal(rest.rbegin(), rest.rend(), words.rbegin())) std::abort();
    if (const auto options = muster::submit_options(*parsed)) resolve_any(*options);
  }
  if (const auto options = muster::spec::submit_options_from_json(text)) resolve_any(*options);
  return 0;
}
