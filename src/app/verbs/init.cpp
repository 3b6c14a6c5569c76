#include <chrono>

#include "app/cli/output.hpp"
#include "app/cli/own_snapshots.hpp"
#include "app/cli/take_code.hpp"
#include "base/text.hpp"
#include "base/time.hpp"
#include "core/model/json.hpp"
#include "edge/blob/open.hpp"
#include "edge/tree/chunks.hpp"

namespace muster {
namespace {

/// Of a tree that had not changed only the id is known.
Result<tree::Root> root_of(const Context& context, const snapshot::Sent& sent) {
  if (!sent.root.leaves.empty()) return sent.root;
  TRY(const auto blobs, open_blob_store(own_store(context)));
  TRY(const auto bytes, snapshot::Chunks(*blobs).get_root(sent.id));
  return tree::decode_root(bytes);
}

std::string record_of(const Taken& taken, const tree::Root& root, double seconds) {
  json::array links;
  for (const auto& name : taken.sent.ignored_at_top) links.push_back(bytes_to_json(name));
  return json::serialize(json::object{{"schema", 1},
                                      {"snapshot", taken.code.snapshot},
                                      {"top", bytes_to_json(taken.code.top)},
                                      {"entries", root.entries},
                                      {"bytes", root.bytes},
                                      {"files_read", taken.sent.files_read},
                                      {"new_chunks", taken.sent.new_chunks},
                                      {"sent_bytes", taken.sent.stored_bytes},
                                      {"links", std::move(links)},
                                      {"seconds", seconds}});
}

void print_taken(Context& context, const Taken& taken, const tree::Root& root, Duration took) {
  const auto& sent = taken.sent;
  print_line(context, fmt::format("snapshot {}", paint(context, Style::bold, taken.code.snapshot)));
  print_text(context, fmt::format("  of {}: {} in {} entries", printable(taken.code.top),
                                  size_text(root.bytes), root.entries));
  print_text(context,
             fmt::format("  files read: {}, new chunks: {}, sent: {}, took {}", sent.files_read,
                         sent.new_chunks, size_text(sent.stored_bytes), to_text(took)));
  if (sent.ignored_at_top.empty()) return;
  std::vector<std::string> names;
  for (const auto& name : sent.ignored_at_top) names.push_back(printable(name));
  print_text(context, fmt::format("  left out and linked: {}", join(names, ", ")));
}

Result<int> run(Context& context, const Parsed& parsed) {
  const auto home = context.env.find("HOME");
  const auto top = code_top(context.dir, home == context.env.end() ? "" : home->second);
  if (top.empty())
    return fail(Kind::usage, fmt::format("{} is no project folder", printable(context.dir)),
                "go to the folder of your code; jobs run in place here, without a snapshot");
  const auto begun = std::chrono::steady_clock::now();
  CodeTaker code(context);
  TRY(const auto taken, code.send_folder(top, parsed.has("allow-racy")));
  const auto took = std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - begun);
  TRY(const auto root, root_of(context, taken.sent));
  if (wants_record(context))
    TRY_VOID(
        print_record(context, record_of(taken, root, std::chrono::duration<double>(took).count())));
  else if (context.globals.format == Format::name || context.globals.quiet)
    print_line(context, taken.code.snapshot);
  else
    print_taken(context, taken, root, took);
  return 0;
}

}  // namespace

Verb verb_init() {
  return {.name = "init",
          .aliases = {},
          .group = "Code",
          .summary = "Send this folder ahead of the next submit",
          .usage = "init [options]",
          .operands = Operands::none,
          .options = {{.name = "allow-racy",
                       .text = "take files that change while they are read as they are"}},
          .run = run};
}

}  // namespace muster
