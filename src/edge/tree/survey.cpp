#include "edge/tree/survey.hpp"

#include <algorithm>
#include <map>

#include "edge/fs/walk.hpp"

namespace muster::snapshot {

Result<Survey> survey_tree(const std::string& top) {
  constexpr std::size_t kShown = 5;
  Survey survey;
  std::map<std::string, std::uint64_t> sizes;  // by the first part of the path
  TRY_VOID(fs::walk(top, {}, [&](fs::Seen&& seen) -> Result<> {
    if (seen.kind != tree::EntryKind::file) return {};
    ++survey.files;
    survey.bytes += seen.size;
    const auto slash = seen.path.find('/');
    sizes[slash == std::string::npos ? seen.path : seen.path.substr(0, slash + 1)] += seen.size;
    return {};
  }));
  survey.largest.assign(sizes.begin(), sizes.end());
  const auto shown = std::min(kShown, survey.largest.size());
  std::partial_sort(
      survey.largest.begin(), survey.largest.begin() + static_cast<std::ptrdiff_t>(shown),
      survey.largest.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  survey.largest.resize(shown);
  return survey;
}

}  // namespace muster::snapshot
