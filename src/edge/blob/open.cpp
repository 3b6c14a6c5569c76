#include "edge/blob/open.hpp"

#include "base/text.hpp"
#include "edge/blob/provider.hpp"

namespace muster {
namespace {

constexpr std::string_view kMark = "://";

std::string examples() {
  std::vector<std::string> known;
  for (const auto& provider : all_blob_providers()) known.emplace_back(provider.example);
  return fmt::format("use one of: {}", join(known, ", "));
}

}  // namespace

Result<std::unique_ptr<BlobStore>> open_blob_store(std::string_view url) {
  const auto mark = url.find(kMark);
  if (mark == std::string_view::npos)
    return fail(Kind::usage, fmt::format("\"{}\" is no address of a store", printable(url)),
                examples());
  const auto scheme = url.substr(0, mark);
  for (const auto& provider : all_blob_providers())
    if (provider.scheme == scheme) return provider.open(url.substr(mark + kMark.size()));
  return fail(Kind::usage, fmt::format("no store is called \"{}://\"", printable(scheme)),
              examples());
}

}  // namespace muster
