// Watches, lists and logs from arbitrary bytes: the same, however they are cut.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/model/json.hpp"
#include "edge/kube/item_splitter.hpp"
#include "edge/kube/log_lines.hpp"
#include "edge/kube/status.hpp"
#include "edge/kube/watch_lines.hpp"

namespace {

using namespace muster::kube;

template <class Feed>
bool in_pieces(std::string_view bytes, std::size_t piece, const Feed& feed) {
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size())))
    if (!feed(bytes.substr(0, piece))) return false;
  return true;
}

std::string watch(std::string_view bytes, std::size_t piece) {
  WatchLines lines(1024);
  std::string seen;
  in_pieces(bytes, piece, [&](std::string_view part) {
    return lines
        .feed(part,
              [&](WatchType type, const boost::json::object& object) -> muster::Result<> {
                seen += std::to_string(static_cast<int>(type)) + boost::json::serialize(object);
                (void)version_of(object);
                if (type == WatchType::error) (void)api_error(object);
                return {};
              })
        .has_value();
  });
  return seen;
}

std::string list(std::string_view bytes, std::size_t piece) {
  ItemSplitter splitter;
  std::string seen;
  const bool is_read = in_pieces(bytes, piece, [&](std::string_view part) {
    return splitter
        .feed(part,
              [&](std::string_view item) -> muster::Result<> {
                seen += item;
                return {};
              })
        .has_value();
  });
  const auto rest = splitter.finish();
  return is_read && rest ? seen + *rest : "refused";
}

std::string log(std::string_view bytes, std::size_t piece) {
  LogLines lines(200);
  std::string seen;
  const LogLines::OnLine on_line = [&](const RawLogLine& line) {
    seen += std::string(line.time) + "|" + std::string(line.text) + (line.has_newline ? "\n" : "|");
    return true;
  };
  in_pieces(bytes, piece, [&](std::string_view part) { return lines.feed(part, on_line); });
  lines.finish(on_line);
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2 || size > 4000) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t piece = 1U + data[0];
  if (watch(bytes, piece) != watch(bytes, bytes.size())) std::abort();
  if (list(bytes, piece) != list(bytes, bytes.size())) std::abort();
  if (log(bytes, piece) != log(bytes, bytes.size())) std::abort();
  (void)muster::kube::api_error(422, bytes, {{"Retry-After", std::string(bytes.substr(0, 20))}});
  return 0;
}
