#include <fcntl.h>
#include <sys/stat.h>

#include "base/unique_fd.hpp"
#include "core/tree/chunker.hpp"
#include "unit/edge_tree/lab.hpp"

namespace muster::test {
namespace {

class Maker {
 public:
  Maker(const Lab& lab, std::uint64_t seed) : lab_(lab), rng_(seed) {}

  void make(int size) {
    for (int i = 0; i < size; ++i) one();
    // Last, and the inner ones first: a folder that forbids writing takes no more files.
    for (auto at = folders_.rbegin(); at != folders_.rend(); ++at)
      if (!at->empty() && rng_.one_in(3))
        (void)!::chmod(lab_.path(*at).c_str(), static_cast<mode_t>(rng_.below(01000)));
  }

 private:
  /// Any byte but '/' and NUL; sometimes as long as a name can be.
  std::string name() {
    constexpr std::string_view kOdd = "\n\\\t *?[]!#'\"\x01\x7f\x80\xc3\xfe\xff-. ~";
    std::string text;
    const auto size = rng_.one_in(12) ? 255 : 1 + rng_.below(12);
    while (text.size() < size)
      text +=
          rng_.one_in(2) ? kOdd[rng_.below(kOdd.size())] : static_cast<char>('a' + rng_.below(26));
    return text == "." || text == ".." ? "dots" : text;
  }

  std::string place() {
    const auto& folder = folders_[rng_.below(folders_.size())];
    const auto path = folder.empty() ? name() : folder + "/" + name();
    // Longer ones cannot be named in one call, here or elsewhere.
    return path.size() > 3000 ? name() : path;
  }

  void one() {
    const auto path = place();
    if (::faccessat(AT_FDCWD, lab_.path(path).c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0) return;
    switch (rng_.below(8)) {
      case 0:
      case 1:
        lab_.dir(path);
        folders_.push_back(path);
        break;
      case 2: lab_.link(path, target()); break;
      case 3: lab_.file(path, "", mode()); break;
      case 4: sparse(path); break;
      case 5: lab_.file(path, noise(rng_, near_a_limit()), mode()); break;
      default: lab_.file(path, noise(rng_, rng_.below(5000)), mode()); break;
    }
  }

  unsigned mode() { return static_cast<unsigned>(rng_.below(01000)); }

  std::string target() {
    switch (rng_.below(5)) {
      case 0: return "/etc/passwd";
      case 1: return "../../../../../../tmp";
      case 2: return "nowhere/" + name();
      case 3: return std::string(4000, 'x');
      default: return ".";
    }
  }

  std::size_t near_a_limit() {
    constexpr std::size_t kLimits[] = {tree::kWholeFile, tree::kLeastChunk, tree::kMostChunk,
                                       tree::kUsualChunk + tree::kLeastChunk};
    return kLimits[rng_.below(4)] - 1 + rng_.below(3);
  }

  /// Data and holes in turn; the last piece may be either.
  void sparse(const std::string& path) {
    lab_.file(path, "", mode());
    const UniqueFd fd(::open(lab_.path(path).c_str(), O_WRONLY | O_CLOEXEC));
    off_t at = 0;
    for (auto pieces = 1 + rng_.below(4); pieces > 0; --pieces) {
      const auto step = static_cast<off_t>((1 + rng_.below(40)) * 16384);
      if (rng_.one_in(2)) {
        const auto bytes = noise(rng_, static_cast<std::size_t>(step));
        ASSERT_EQ(::pwrite(fd.get(), bytes.data(), bytes.size(), at), step);
      }
      at += step;
    }
    ASSERT_EQ(::ftruncate(fd.get(), at), 0);
  }

  const Lab& lab_;
  Rng rng_;
  std::vector<std::string> folders_{""};
};

}  // namespace

void make_strange_tree(const Lab& lab, std::uint64_t seed, int size) {
  Maker(lab, seed).make(size);
}

}  // namespace muster::test
