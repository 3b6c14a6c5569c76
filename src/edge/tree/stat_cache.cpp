#include "edge/tree/stat_cache.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "edge/fs/times.hpp"

namespace muster::snapshot {
namespace {

constexpr std::string_view kMagic = "MUSTSTAT";
constexpr std::uint64_t kVersion = 2;
constexpr std::size_t kFields = 8 + 8 + 8 + 8 + 32 + 32;  // magic version taken entries root store
constexpr std::size_t kHeader = kFields + 8;              // and their XXH3-64
constexpr std::size_t kFlush = 1U << 20;
/// File times come from a clock that ticks every 10 ms at worst, or every two seconds on file
/// systems that keep whole seconds.
constexpr std::int64_t kTick = 20'000'000;
constexpr std::int64_t kCoarseTick = 2'000'000'000;
/// Times of two file systems may come from two clocks, of this machine and of a file server.
constexpr std::int64_t kOtherClock = 60'000'000'000;

std::int64_t newest_of(const fs::Seen& seen) { return std::max(seen.mtime_ns, seen.ctime_ns); }

bool has_whole_seconds(const fs::Seen& seen) {
  return seen.mtime_ns % 1'000'000'000 == 0 && seen.ctime_ns % 1'000'000'000 == 0;
}

tree::Hash store_hash(std::string_view store) { return tree::hash_of(store); }

/// Of a mapped file. It is read again if need be; kept, it would be this process's memory, and the
/// more of it the larger the tree is. `begin` and `end` are multiples of a page.
void forget(std::string_view mapped, std::size_t begin, std::size_t end) {
  ::madvise(const_cast<char*>(mapped.data()) + begin, end - begin, MADV_DONTNEED);
}

}  // namespace

StatCache StatCache::open(const std::string& path, std::string_view store) {
  StatCache cache;
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat info{};
  if (!fd || ::fstat(fd.get(), &info) != 0 || info.st_uid != ::geteuid() ||
      info.st_size < static_cast<off_t>(kHeader))
    return cache;
  const auto size = static_cast<std::size_t>(info.st_size);
  void* map = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (map == MAP_FAILED) return cache;
  cache.map_ = {map, [size](void* at) { ::munmap(at, size); }};
  cache.bytes_ = {static_cast<const char*>(map), size};
  cache.device_ = info.st_dev;
  if (!cache.read_header(store)) return {};
  cache.advance();
  cache.passed_ = 0;
  return cache;
}

bool StatCache::read_header(std::string_view store) {
  tree::Cursor in(bytes_);
  const auto magic = in.take(kMagic.size());
  const auto version = in.u64();
  taken_ns_ = static_cast<std::int64_t>(in.u64());
  entries_ = in.u64();
  const auto root = in.hash();
  if (magic != kMagic || version != kVersion || in.hash() != store_hash(store)) return false;
  // A half-written or rotten cache is no cache; each leaf is checked when it is reached.
  if (in.u64() != xxh3(bytes_.substr(0, kFields)) || in.is_broken()) return false;
  root_ = root;
  at_ = kHeader;
  return true;
}

bool StatCache::next_leaf() {
  if (at_ == bytes_.size()) return false;
  const auto leaf = read_cached_leaf(bytes_.substr(at_));
  if (!leaf) return false;
  const auto behind = at_ / kFlush * kFlush;
  if (behind > forgotten_) forget(bytes_, forgotten_, behind);
  forgotten_ = behind;
  leaf_ = *leaf;
  rows_ = CachedRows(leaf_);
  at_ += leaf_.all.size();
  return true;
}

void StatCache::advance() {
  ++passed_;
  ++place_;
  has_current_ = rows_.advance();
  if (has_current_ || !next_leaf()) return;
  place_ = 0;
  has_current_ = rows_.advance();
}

const CachedEntry* StatCache::find(const std::string& path) {
  while (has_current_ && tree::before(rows_.current().entry.path, path)) advance();
  return has_current_ && rows_.current().entry.path == path ? &rows_.current() : nullptr;
}

void StatCache::first_leaves(std::size_t size,
                             const std::function<void(std::string_view)>& each) const {
  const auto end = kHeader + size;
  for (std::size_t at = kHeader; at < end;) {
    const auto next = std::min(end, (at / kFlush + 1) * kFlush);
    each(bytes_.substr(at, next - at));
    forget(bytes_, at / kFlush * kFlush, next / kFlush * kFlush);
    at = next;
  }
}

bool StatCache::is_same(const CachedEntry& cached, const fs::Seen& now) const {
  const auto& was = cached.seen;
  if (was.kind != now.kind || was.mode != now.mode) return false;
  if (now.kind == tree::EntryKind::folder) return true;
  const auto tick = now.device != device_    ? kOtherClock
                    : has_whole_seconds(now) ? kCoarseTick
                                             : kTick;
  return was.size == now.size && was.mtime_ns == now.mtime_ns && was.ctime_ns == now.ctime_ns &&
         was.inode == now.inode && was.device == now.device && newest_of(now) + tick < taken_ns_;
}

Result<StatCacheWriter> StatCacheWriter::begin(const std::string& path) {
  StatCacheWriter writer;
  writer.path_ = path;
  writer.temporary_ = fmt::format("{}.{}", path, to_hex(random_bytes(6)));
  writer.fd_.reset(::open(writer.temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  struct stat info{};
  if (!writer.fd_ || ::fstat(writer.fd_.get(), &info) != 0)
    return fail_errno(fmt::format("cannot write {}", writer.temporary_), errno);
  writer.taken_ns_ = fs::ns_of(info.st_mtim);
  writer.buffer_.assign(kHeader, '\0');  // filled in at the end
  return writer;
}

StatCacheWriter::~StatCacheWriter() {
  if (fd_) ::unlink(temporary_.c_str());
}

Result<> StatCacheWriter::end_leaf(const tree::Piece& leaf, bool is_ended) {
  leaf_.end(leaf, is_ended, buffer_);
  return buffer_.size() >= kFlush ? flush() : Result<>();
}

Result<> StatCacheWriter::keep(std::string_view leaves) {
  buffer_ += leaves;
  return buffer_.size() >= kFlush ? flush() : Result<>();
}

Result<> StatCacheWriter::flush() {
  std::string_view rest = buffer_;
  while (!rest.empty()) {
    const auto n = ::write(fd_.get(), rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(fmt::format("cannot write {}", temporary_), errno);
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  buffer_.clear();
  return {};
}

Result<> StatCacheWriter::finish(const tree::Hash& root, std::uint64_t entries,
                                 std::string_view store) {
  TRY_VOID(flush());
  std::string header(kMagic);
  tree::put_u64(header, kVersion);
  tree::put_u64(header, static_cast<std::uint64_t>(taken_ns_));
  tree::put_u64(header, entries);
  tree::put_hash(header, root);
  tree::put_hash(header, store_hash(store));
  tree::put_u64(header, xxh3(header));
  if (::pwrite(fd_.get(), header.data(), header.size(), 0) != static_cast<ssize_t>(header.size()))
    return fail_errno(fmt::format("cannot write {}", temporary_), errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0)
    return fail_errno(fmt::format("cannot put {} in its place", path_), errno);
  fd_.reset();
  return {};
}

}  // namespace muster::snapshot
