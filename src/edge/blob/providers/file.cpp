#include "base/text.hpp"
#include "edge/blob/file_store.hpp"
#include "edge/blob/provider.hpp"

namespace muster {
namespace {

constexpr std::string_view kExample = "file:///path/of/a/folder";

Result<std::unique_ptr<BlobStore>> open(std::string_view place) {
  // The path is taken as it is, without "%20": it is one that somebody could type in a shell.
  const bool is_path = place.starts_with('/') && place.find('\0') == std::string_view::npos;
  if (!is_path)
    return fail(
        Kind::usage,
        fmt::format("\"file://{}\" names no folder: its path is not absolute", printable(place)),
        fmt::format("write three slashes: {}", kExample));
  while (place.size() > 1 && place.ends_with('/')) place.remove_suffix(1);
  return std::make_unique<FileStore>(std::string(place));
}

}  // namespace

BlobProvider provider_file() { return {.scheme = "file", .example = kExample, .open = open}; }

}  // namespace muster
