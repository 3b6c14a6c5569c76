#include "app/cli/bundle.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "app/cli/output.hpp"
#include "app/cli/verb.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "edge/process/files.hpp"

namespace muster {
namespace {

Result<> write_new(const std::string& path, std::string_view text) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd && errno == EEXIST)
    return fail(Kind::conflict, fmt::format("{} is there already", printable(path)),
                "name another file: -f FILE");
  if (!fd) return fail_errno(fmt::format("make {}", printable(path)), errno);
  return process::write_all(fd.get(), text);
}

Result<int> run(Context& context, const Parsed& parsed) {
  if (parsed.operands.size() != 1)
    return fail(Kind::usage, "bundle takes one job", "muster bundle ID");
  TRY(const auto bundle, make_bundle(context.paths, {.job = parsed.operands.front(),
                                                     .has_logs = !parsed.has("no-logs")}));
  const auto path =
      parsed.value("file").value_or(fmt::format("{}/muster-{}.txt", context.dir, bundle.id));
  if (path == "-") {
    context.out->write(bundle.text);
    return 0;
  }
  TRY_VOID(write_new(path, bundle.text));
  print_line(context, printable(path));
  say(context, "read it before you send it");
  return 0;
}

}  // namespace

Verb verb_bundle() {
  return {.name = "bundle",
          .aliases = {},
          .group = "About muster",
          .summary = "Write all about a job into one file, for a report",
          .usage = "bundle [--no-logs] [-f FILE] ID",
          .operands = Operands::some,
          .options =
              {{.name = "file", .letter = 'f', .value = "FILE", .text = "where to (- is stdout)"},
               {.name = "no-logs", .text = "leave the ends of logs out"}},
          .run = run};
}

}  // namespace muster
