#include <unistd.h>

#include <cerrno>

#include "app/cli/output.hpp"
#include "app/cli/verb.hpp"
#include "base/text.hpp"
#include "core/model/json.hpp"
#include "edge/fs/own_folder.hpp"
#include "edge/fs/secrets.hpp"

namespace muster {
namespace {

constexpr std::size_t kLargest = 1U << 20;

Result<std::string> read_stdin() {
  std::string bytes;
  char buffer[4096];
  for (;;) {
    const auto n = ::read(STDIN_FILENO, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("cannot read stdin", errno);
    if (n == 0) break;
    bytes.append(buffer, static_cast<std::size_t>(n));
    if (bytes.size() > kLargest) return fail(Kind::usage, "a secret has at most 1 MiB");
  }
  if (bytes.ends_with('\n')) bytes.pop_back();
  return bytes;
}

Result<int> set(Context& context, const fs::Secrets& secrets, const std::string& name) {
  TRY_VOID(secrets.check(name));
  if (context.in_is_tty) say(context, "type the value, then Ctrl-D");
  TRY(const auto value, read_stdin());
  if (value.empty())
    return fail(Kind::usage, "stdin was empty: nothing is set",
                fmt::format("printf %s VALUE | muster secret set {}", printable(name)));
  TRY_VOID(fs::claim_folder(context.paths.state, "server.lock"));
  TRY_VOID(secrets.set(name, value));
  say(context, fmt::format("set; jobs get it by -e NAME=secret://{}", name));
  return 0;
}

Result<int> list(Context& context, const fs::Secrets& secrets) {
  TRY(const auto names, secrets.names());
  if (wants_record(context)) {
    json::array all;
    for (const auto& name : names) all.push_back(bytes_to_json(name));
    json::object out{{"schema", 1}};
    out["secrets"] = std::move(all);
    TRY_VOID(print_record(context, json::serialize(out)));
    return 0;
  }
  if (names.empty()) say(context, "no secrets; set one: muster secret set NAME");
  for (const auto& name : names) print_line(context, name);
  return 0;
}

Result<int> run(Context& context, const Parsed& parsed) {
  const auto& words = parsed.operands;
  const fs::Secrets secrets(context.paths.state + "/secrets");
  if (words.size() == 1 && words.front() == "list") return list(context, secrets);
  if (words.size() == 2 && words.front() == "set") return set(context, secrets, words[1]);
  if (words.size() == 2 && words.front() == "rm") {
    TRY_VOID(secrets.remove(words[1]));
    return 0;
  }
  return fail(Kind::usage, "secret needs to know what to do",
              "muster secret set NAME, muster secret list, or muster secret rm NAME");
}

}  // namespace

Verb verb_secret() {
  return {.name = "secret",
          .aliases = {},
          .group = "Code",
          .summary = "Keep values that must not be seen",
          .usage = "secret set NAME | secret list | secret rm NAME",
          .operands = Operands::some,
          .options = {},
          .run = run};
}

}  // namespace muster
