// For scenarios with the real agent: what a server does for a pod, without a server.
//   agent_tool bundle STORE ID   writes a snapshot as a bundle to stdout
#include <unistd.h>

#include <cstdio>
#include <string>

#include "edge/blob/open.hpp"
#include "edge/process/files.hpp"
#include "edge/tree/bundle.hpp"

namespace muster {
namespace {

Result<> bundle(const std::string& store, const std::string& id) {
  TRY(const auto blobs, open_blob_store(store));
  const auto hash = tree::from_hex(id);
  if (!hash) return fail(Kind::usage, "not an id");
  TRY_VOID(snapshot::write_bundle(*blobs, *hash, [](std::string_view bytes) {
    return process::write_all(STDOUT_FILENO, bytes);
  }));
  return {};
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  if (argc != 4 || std::string(argv[1]) != "bundle") return 2;
  const auto done = muster::bundle(argv[2], argv[3]);
  if (!done) std::fprintf(stderr, "%s\n", muster::to_line(done.error()).c_str());
  return done ? 0 : 1;
}
