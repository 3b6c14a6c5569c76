#include "core/tree/git_index.hpp"

#include <algorithm>

namespace muster::tree {

namespace {

constexpr std::size_t kMostNames = 64U << 20;
constexpr std::size_t kLongestName = 4096;
constexpr std::size_t kBeforeHash = 40;  // times, device, inode, mode, owners, size
constexpr std::size_t kModeAt = 24;
constexpr std::uint32_t kExtended = 0x4000;

tl::unexpected<Error> broken(std::string_view why) {
  return fail(Kind::corrupt, fmt::format("git's index cannot be read: {}", why));
}

std::uint32_t number_at(std::string_view bytes, std::size_t at, std::size_t size = 4) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < size; ++i)
    number = number << 8 | static_cast<unsigned char>(bytes[at + i]);
  return number;
}

/// File, link, another repository, or a folder of a sparse checkout.
bool is_mode(std::uint32_t mode) {
  const auto type = mode >> 12;
  return type == 8 || type == 10 || type == 14 || type == 4;
}

}  // namespace

/// One reading of the bytes, with hashes of a given size.
class GitIndexReader {
 public:
  GitIndexReader(std::string_view bytes, std::size_t hash_size)
      : bytes_(bytes), hash_size_(hash_size) {}

  Result<GitIndex> read() {
    constexpr std::size_t kHeader = 12;
    if (bytes_.size() < kHeader + hash_size_ || !bytes_.starts_with("DIRC"))
      return broken("it does not begin as one");
    version_ = number_at(bytes_, 4);
    if (version_ < 2 || version_ > 4) return broken(fmt::format("version {}", version_));
    const auto count = number_at(bytes_, 8);
    end_ = bytes_.size() - hash_size_;
    at_ = kHeader;
    // Each takes this many bytes at least: no room is made for more than there can be.
    if (count > (end_ - at_) / (kBeforeHash + hash_size_ + 2)) return broken("it is too short");
    out_.ends_.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) TRY_VOID(read_entry());
    TRY_VOID(read_extensions());
    return std::move(out_);
  }

 private:
  Result<> read_entry() {
    const auto begin = at_;
    const auto fixed = kBeforeHash + hash_size_ + 2;
    if (end_ - at_ < fixed + 2) return broken("an entry is cut off");
    if (!is_mode(number_at(bytes_, at_ + kModeAt))) return broken("an entry is of no known kind");
    const auto flags = number_at(bytes_, at_ + fixed - 2, 2);
    at_ += fixed;
    if ((flags & kExtended) != 0 && version_ == 2) return broken("an entry has unknown flags");
    if ((flags & kExtended) != 0) at_ += 2;
    if (version_ == 4) TRY_VOID(drop_end_of_last());
    if (version_ < 4) name_.clear();
    const auto zero = bytes_.substr(0, end_).find('\0', at_);
    if (zero == std::string_view::npos) return broken("a name has no end");
    if (name_.size() + zero - at_ > kLongestName) return broken("a name is too long");
    name_ += bytes_.substr(at_, zero - at_);
    // Older versions fill an entry up to a multiple of eight, with one zero at least.
    at_ = version_ == 4 ? zero + 1 : begin + (zero - begin + 8) / 8 * 8;
    if (at_ > end_) return broken("an entry is cut off");
    return add();
  }

  /// Version 4 says how many bytes of the name before are not part of this one.
  Result<> drop_end_of_last() {
    std::uint64_t drop = 0;
    for (bool is_first = true;; is_first = false) {
      if (at_ >= end_ || drop > kLongestName) return broken("a name is cut off");
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      drop = is_first ? byte & 127U : ((drop + 1) << 7) + (byte & 127U);
      if ((byte & 128U) == 0) break;
    }
    if (drop > name_.size()) return broken("a name goes back too far");
    name_.resize(name_.size() - drop);
    return {};
  }

  /// Of a path that is being merged there are several, one after the other.
  Result<> add() {
    if (name_.empty()) return broken("a name is empty");
    if (out_.size() > 0) {
      const auto last = out_.name(out_.size() - 1);
      if (last == name_) return {};
      if (last > name_) return broken("names are not in order");
    }
    if (out_.names_.size() + name_.size() > kMostNames)
      return fail(Kind::exhausted, "git tracks more names than are looked at");
    out_.names_ += name_;
    out_.ends_.push_back(static_cast<std::uint32_t>(out_.names_.size()));
    return {};
  }

  /// What follows may be skipped when its name begins with a capital.
  Result<> read_extensions() {
    while (at_ < end_) {
      if (end_ - at_ < 8) return broken("its end is cut off");
      const auto name = bytes_.substr(at_, 4);
      const auto size = number_at(bytes_, at_ + 4);
      at_ += 8;
      if (size > end_ - at_) return broken("its end is cut off");
      at_ += size;
      if (name == "link")
        return fail(Kind::usage, "git's index is split in two files",
                    "join them: git update-index --no-split-index");
      if ((name.front() < 'A' || name.front() > 'Z') && name != "sdir")
        return broken("it has a part that is not known");
    }
    return {};
  }

  std::string_view bytes_;
  std::size_t hash_size_;
  std::uint32_t version_ = 0;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  std::string name_;
  GitIndex out_;
};

Result<GitIndex> GitIndex::parse(std::string_view bytes) {
  constexpr std::size_t kSha1 = 20, kSha256 = 32;
  auto index = GitIndexReader(bytes, kSha1).read();
  if (index || index.error().kind != Kind::corrupt) return index;
  // Which hashes it has stands elsewhere; with the wrong ones nothing fits.
  auto other = GitIndexReader(bytes, kSha256).read();
  return other ? std::move(other) : std::move(index);
}

std::string_view GitIndex::name(std::size_t i) const {
  const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
  return std::string_view(names_).substr(begin, ends_[i] - begin);
}

std::size_t GitIndex::first_not_before(std::string_view path) const {
  std::size_t low = 0, high = size();
  while (low < high) {
    const auto middle = low + (high - low) / 2;
    if (name(middle) < path)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

GitIndex::Holds GitIndex::holds(std::string_view path) const {
  const auto at = first_not_before(path);
  if (at < size() && name(at) == path) return Holds::itself;
  const auto inside = std::string(path) + "/";
  const auto below = first_not_before(inside);
  const bool is_below = below < size() && name(below).starts_with(inside);
  return is_below ? Holds::below : Holds::nothing;
}

}  // namespace muster::tree
