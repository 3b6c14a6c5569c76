#include "edge/tree/stat_cache.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/hash.hpp"
#include "base/text.hpp"

namespace muster::snapshot {
namespace {

constexpr std::string_view kMagic = "MUSTSTAT";
constexpr std::uint64_t kVersion = 1;
constexpr std::size_t kHeader = 8 + 8 + 8 + 8 + 32 + 32;  // magic version taken entries root store
constexpr std::size_t kSum = 16;                          // XXH3-64 as hex, at the end
constexpr std::size_t kFlush = 1U << 20;
/// File times come from a clock that ticks every 10 ms at worst, or every two seconds on file
/// systems that keep whole seconds.
constexpr std::int64_t kTick = 20'000'000;
constexpr std::int64_t kCoarseTick = 2'000'000'000;

std::int64_t newest_of(const fs::Seen& seen) { return std::max(seen.mtime_ns, seen.ctime_ns); }

bool has_whole_seconds(const fs::Seen& seen) {
  return seen.mtime_ns % 1'000'000'000 == 0 && seen.ctime_ns % 1'000'000'000 == 0;
}

void put_piece(std::string& out, const tree::Piece& piece) {
  tree::put_varint(out, piece.size * 2 + (piece.is_hole ? 1 : 0));
  if (!piece.is_hole) tree::put_hash(out, piece.hash);
}

tree::Piece read_piece(tree::Cursor& in) {
  const auto number = in.varint();
  tree::Piece piece{.is_hole = (number & 1) != 0, .size = number / 2, .hash = {}};
  if (!piece.is_hole) piece.hash = in.hash();
  return piece;
}

tree::Hash store_hash(std::string_view store) { return tree::hash_of(store); }

/// Of a mapped file. It is read again if need be; kept, it would be this process's memory, and the
/// more of it the larger the tree is. `begin` and `end` are multiples of a page.
void forget(std::string_view mapped, std::size_t begin, std::size_t end) {
  ::madvise(const_cast<char*>(mapped.data()) + begin, end - begin, MADV_DONTNEED);
}

std::int64_t ns_of(const timespec& at) { return at.tv_sec * 1'000'000'000LL + at.tv_nsec; }

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
  return cache.read_header(store) ? cache.rewound() : StatCache();
}

StatCache StatCache::rewound() const {
  StatCache again;
  if (!map_) return again;
  again = *this;
  again.current_ = {};
  again.left_ = entries_;
  again.is_begun_ = false;
  again.forgotten_ = 0;
  again.cursor_ = tree::Cursor(bytes_.substr(kHeader, bytes_.size() - kSum - kHeader));
  again.advance();
  return again;
}

bool StatCache::read_header(std::string_view store) {
  tree::Cursor in(bytes_);
  const auto magic = in.take(kMagic.size());
  const auto version = in.u64();
  taken_ns_ = static_cast<std::int64_t>(in.u64());
  entries_ = in.u64();
  const auto root = in.hash();
  if (magic != kMagic || version != kVersion || in.hash() != store_hash(store) || in.is_broken())
    return false;
  // The last bytes vouch for all before them: a half-written or rotten cache is no cache.
  if (bytes_.size() < kHeader + kSum) return false;
  Xxh3 sum;
  const auto end = bytes_.size() - kSum;
  for (std::size_t at = 0; at < end; at += kFlush) {
    sum.feed(bytes_.substr(at, std::min(kFlush, end - at)));
    if (at + kFlush <= end) forget(bytes_, at, at + kFlush);
  }
  if (bytes_.substr(bytes_.size() - kSum) != sum.hex()) return false;
  root_ = root;
  return true;
}

void StatCache::advance() {
  has_current_ = false;
  if (left_ == 0) return;
  --left_;
  auto& in = *cursor_;
  auto& [seen, entry] = current_;
  const auto shared = in.varint();
  entry.path.resize(std::min<std::uint64_t>(shared, entry.path.size()));
  entry.path += in.take(in.varint());
  const auto shape = in.varint();
  entry.kind = static_cast<tree::EntryKind>(shape & 3);
  entry.mode = static_cast<std::uint16_t>((shape >> 2) & 0777);
  entry.target = in.take(in.varint());
  const auto pieces = in.varint();
  entry.pieces.clear();
  for (std::uint64_t i = 0; i < pieces && !in.is_broken(); ++i)
    entry.pieces.push_back(read_piece(in));
  seen.kind = entry.kind;
  seen.mode = entry.mode;
  seen.size = in.varint();
  seen.mtime_ns = static_cast<std::int64_t>(in.u64());
  seen.ctime_ns = static_cast<std::int64_t>(in.u64());
  seen.inode = in.varint();
  seen.device = in.varint();
  has_current_ = !in.is_broken();
  const auto behind = (bytes_.size() - kSum - in.left()) / kFlush * kFlush;
  if (behind <= forgotten_ || in.is_broken()) return;
  forget(bytes_, forgotten_, behind);
  forgotten_ = behind;
}

const CachedEntry* StatCache::next() {
  if (std::exchange(is_begun_, true)) advance();
  return has_current_ ? &current_ : nullptr;
}

const CachedEntry* StatCache::find(const std::string& path) {
  while (has_current_ && tree::before(current_.entry.path, path)) advance();
  return has_current_ && current_.entry.path == path ? &current_ : nullptr;
}

bool StatCache::is_same(const CachedEntry& cached, const fs::Seen& now) const {
  const auto& was = cached.seen;
  if (was.kind != now.kind || was.mode != now.mode) return false;
  if (now.kind == tree::EntryKind::folder) return true;
  const auto tick = has_whole_seconds(now) ? kCoarseTick : kTick;
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
  writer.taken_ns_ = ns_of(info.st_mtim);
  writer.buffer_.assign(kHeader, '\0');  // filled in at the end
  return writer;
}

StatCacheWriter::~StatCacheWriter() {
  if (fd_) ::unlink(temporary_.c_str());
}

Result<> StatCacheWriter::add(const fs::Seen& seen, const tree::Entry& entry) {
  const auto differ =
      std::mismatch(entry.path.begin(), entry.path.end(), last_path_.begin(), last_path_.end());
  const auto shared = static_cast<std::size_t>(differ.first - entry.path.begin());
  auto& out = buffer_;
  tree::put_varint(out, shared);
  tree::put_varint(out, entry.path.size() - shared);
  out.append(entry.path, shared);
  tree::put_varint(out, static_cast<std::uint64_t>(entry.kind) | std::uint64_t{entry.mode} << 2);
  tree::put_varint(out, entry.target.size());
  out += entry.target;
  tree::put_varint(out, entry.pieces.size());
  for (const auto& piece : entry.pieces) put_piece(out, piece);
  tree::put_varint(out, seen.size);
  tree::put_u64(out, static_cast<std::uint64_t>(seen.mtime_ns));
  tree::put_u64(out, static_cast<std::uint64_t>(seen.ctime_ns));
  tree::put_varint(out, seen.inode);
  tree::put_varint(out, seen.device);
  last_path_ = entry.path;
  ++entries_;
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

Result<std::string> StatCacheWriter::sum_of_all() const {
  Xxh3 sum;
  std::string piece(kFlush, '\0');
  for (off_t at = 0;;) {
    const auto n = ::pread(fd_.get(), piece.data(), piece.size(), at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(fmt::format("cannot read {}", temporary_), errno);
    if (n == 0) return sum.hex();
    sum.feed({piece.data(), static_cast<std::size_t>(n)});
    at += n;
  }
}

Result<> StatCacheWriter::finish(const tree::Hash& root, std::string_view store) {
  TRY_VOID(flush());
  std::string header(kMagic);
  tree::put_u64(header, kVersion);
  tree::put_u64(header, static_cast<std::uint64_t>(taken_ns_));
  tree::put_u64(header, entries_);
  tree::put_hash(header, root);
  tree::put_hash(header, store_hash(store));
  if (::pwrite(fd_.get(), header.data(), header.size(), 0) != static_cast<ssize_t>(header.size()))
    return fail_errno(fmt::format("cannot write {}", temporary_), errno);
  TRY(buffer_, sum_of_all());
  TRY_VOID(flush());
  if (::rename(temporary_.c_str(), path_.c_str()) != 0)
    return fail_errno(fmt::format("cannot put {} in its place", path_), errno);
  fd_.reset();
  return {};
}

}  // namespace muster::snapshot
