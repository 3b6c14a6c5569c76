/// What a submit and a job do with a snapshot, alone: for bench/snapshot.py.
/// usage: snap send TOP STORE CACHE | snap checkout STORE ID TREES ROOM | snap walk TOP
#include <fmt/core.h>

#include <chrono>
#include <cstdlib>
#include <string>

#include "edge/blob/open.hpp"
#include "edge/fs/files.hpp"
#include "edge/fs/walk.hpp"
#include "edge/tree/overlay.hpp"
#include "edge/tree/restore.hpp"
#include "edge/tree/send.hpp"

namespace muster {
namespace {

Result<std::string> send(const std::string& top, const std::string& store,
                         const std::string& cache) {
  TRY(const auto blobs, open_blob_store(store));
  TRY(const auto sent,
      snapshot::send_tree(*blobs, {.top = top, .store = store, .cache_file = cache}));
  TRY_VOID(snapshot::unpin(*blobs, sent.pin));
  return fmt::format(
      R"("id":"{}","files_read":{},"new_chunks":{},"new_leaves":{},"stored_bytes":{},"is_unchanged":{})",
      tree::to_hex(sent.id), sent.files_read, sent.new_chunks, sent.new_leaves, sent.stored_bytes,
      sent.is_unchanged);
}

/// Up to a folder a job could run in.
Result<std::string> checkout(const std::string& store, const std::string& id,
                             const std::string& trees, const std::string& room) {
  const auto hash = tree::from_hex(id);
  if (!hash) return fail(Kind::usage, "not an id");
  TRY(const auto blobs, open_blob_store(store));
  TRY(const auto tree, snapshot::restore_once(*blobs, *hash, trees));
  for (const char* part : {"/up", "/wk", "/at"}) TRY_VOID(fs::make_dirs(room + part));
  TRY_VOID(snapshot::mount_overlay({tree, room + "/up", room + "/wk", room + "/at"}));
  return fmt::format(R"("entries":{})", fs::entries(room + "/at").size());
}

Result<std::string> walk(const std::string& top) {
  std::uint64_t entries = 0;
  TRY_VOID(fs::walk(top, {}, [&](fs::Seen&&) -> Result<> {
    ++entries;
    return {};
  }));
  return fmt::format(R"("entries":{})", entries);
}

/// The most memory this program had. getrusage would count what its parent had before the exec.
std::int64_t most_kib() {
  const auto status = fs::read_file("/proc/self/status");
  const auto at = status ? status->find("VmHWM:") : std::string::npos;
  return at == std::string::npos ? 0 : std::strtoll(status->c_str() + at + 6, nullptr, 10);
}

Result<std::string> run(const std::vector<std::string>& words) {
  if (words.size() == 4 && words[0] == "send") return send(words[1], words[2], words[3]);
  if (words.size() == 5 && words[0] == "checkout")
    return checkout(words[1], words[2], words[3], words[4]);
  if (words.size() == 2 && words[0] == "walk") return walk(words[1]);
  return fail(Kind::usage, "see the top of bench/snap.cpp");
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  const auto begin = std::chrono::steady_clock::now();
  const auto done = muster::run({argv + 1, argv + argc});
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  if (!done) {
    fmt::print(stderr, "{}\n", muster::to_text(done.error()));
    return 1;
  }
  fmt::print("{{\"ms\":{:.2f},\"most_kib\":{},{}}}\n", took.count(), muster::most_kib(), *done);
  return 0;
}
