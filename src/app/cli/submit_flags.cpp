#include "app/cli/submit_flags.hpp"

#include <sys/resource.h>
#include <sys/stat.h>

#include "edge/process/spawn.hpp"

namespace muster {
namespace {

constexpr const char* kLimits[] = {"as",      "core",   "cpu",   "data", "fsize",
                                   "memlock", "nofile", "nproc", "stack"};

int own_umask() {
  const mode_t mask = ::umask(077);
  ::umask(mask);
  return static_cast<int>(mask);
}

bool is_submit_flag(std::string_view name) {
  for (const auto& field : spec::submit_fields())
    if (!field.flag.empty() && field.flag == name) return true;
  return false;
}

}  // namespace

std::vector<Option> submit_flags() {
  std::vector<Option> options;
  for (const auto& field : spec::submit_fields()) {
    if (field.flag.empty()) continue;
    options.push_back({.name = field.flag,
                       .letter = field.letter,
                       .value = field.value,
                       .text = field.text,
                       .group = field.group,
                       .repeats = field.repeats});
  }
  return options;
}

Result<spec::SubmitOptions> submit_options(const Parsed& parsed) {
  spec::SubmitOptions options;
  options.command = parsed.operands;
  options.cluster = parsed.globals.cluster;
  for (const auto& [name, value] : parsed.options)
    if (is_submit_flag(name)) TRY_VOID(spec::set_by_flag(options, name, value));
  return options;
}

Result<spec::Submitter> submitter_of(const Context& context) {
  if (context.dir.empty())
    return fail(Kind::not_found, "the current folder does not exist any more",
                "cd to a folder that does");
  spec::Submitter submitter{.user = context.user,
                            .dir = context.dir,
                            .env = context.env,
                            .umask = own_umask(),
                            .nice = ::getpriority(PRIO_PROCESS, 0),
                            .limits = {}};
  for (const char* name : kLimits)
    if (const auto limit = process::soft_limit(name)) submitter.limits[name] = *limit;
  return submitter;
}

}  // namespace muster
