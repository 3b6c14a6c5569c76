// WebSocket frames from arbitrary bytes: the same messages, however they are cut; what a command's
// last status and a plug-in's credentials mean.
#include "edge/kube/ws_frames.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "edge/kube/credentials.hpp"
#include "edge/kube/exec.hpp"
#include "edge/kube/rfc3339.hpp"

namespace {

using namespace muster::kube;

std::string messages(std::string_view bytes, std::size_t piece) {
  WsReader reader(2000);
  std::string seen;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    const auto fed = reader.feed(bytes.substr(0, piece),
                                 [&](WsOp op, std::string_view payload) -> muster::Result<> {
                                   seen += std::to_string(static_cast<int>(op)) + ":";
                                   seen += payload;
                                   return {};
                                 });
    if (!fed) break;
  }
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2 || size > 4000) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (messages(bytes, 1U + data[0]) != messages(bytes, bytes.size())) std::abort();
  (void)exec_outcome(bytes);
  (void)parse_exec_credential(bytes);
  (void)nanoseconds_of(bytes);
  return 0;
}
