#include "unit/edge_tree/lab.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <functional>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "edge/fs/files.hpp"
#include "edge/fs/remove_tree.hpp"
#include "edge/tree/restore.hpp"

namespace muster::test {
namespace {

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Holes of 64 KiB and more, as text.
std::string holes_of(const std::string& path, off_t size) {
  constexpr off_t kLeast = 64 << 10;
  std::string text;
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  for (off_t at = 0; at < size;) {
    const auto hole = ::lseek(fd.get(), at, SEEK_HOLE);
    if (hole < 0 || hole >= size) break;
    const auto data = ::lseek(fd.get(), hole, SEEK_DATA);
    at = data < 0 ? size : data;
    if (at - hole >= kLeast) text += fmt::format(" hole {}-{}", hole, at);
  }
  return text;
}

void look_into(const std::string& folder, const std::string& prefix, Picture& picture) {
  for (const auto& name : fs::entries(folder)) {
    const auto path = folder + "/" + name;
    struct stat info{};
    if (::lstat(path.c_str(), &info) != 0) continue;
    auto& text = picture[prefix + name];
    if (S_ISLNK(info.st_mode)) {
      text = "link " + std::filesystem::read_symlink(path).string();
    } else if (S_ISDIR(info.st_mode)) {
      text = fmt::format("folder {:o}", info.st_mode & 07777);
      look_into(path, prefix + name + "/", picture);
    } else {
      text = fmt::format("file {:o} {} {}{}", info.st_mode & 07777, info.st_size,
                         sha256_hex(bytes_of(path)), holes_of(path, info.st_size));
    }
  }
}

}  // namespace

Picture picture_of(const std::string& top) {
  Picture picture;
  look_into(top, "", picture);
  return picture;
}

std::string difference(const Picture& a, const Picture& b) {
  std::string text;
  const auto told = [](const Picture& from, const std::string& path) {
    const auto at = from.find(path);
    return at == from.end() ? std::string("nothing") : at->second;
  };
  auto all = a;
  all.insert(b.begin(), b.end());
  for (const auto& [path, ignored] : all)
    if (told(a, path) != told(b, path))
      text += fmt::format("{}: {} / {}\n", printable(path), told(a, path), told(b, path));
  return text;
}

std::string noise(Rng& rng, std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t at = 0; at < size; at += 8) {
    const auto number = rng.next();
    std::memcpy(bytes.data() + at, &number, std::min<std::size_t>(8, size - at));
  }
  return bytes;
}

Lab::Lab() : blobs_(folder_.file("store")) { std::filesystem::create_directory(top()); }

Lab::~Lab() {
  for (const auto& name : fs::entries(folder_.path().string())) fs::remove_tree(folder_.file(name));
}

std::string Lab::room(const std::string& name) const {
  const auto path = folder_.file(name);
  std::filesystem::create_directory(path);
  return path;
}

void Lab::file(const std::string& name, std::string_view bytes, unsigned mode) const {
  std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
  std::ofstream(path(name), std::ios::binary) << bytes;
  ASSERT_EQ(::chmod(path(name).c_str(), mode), 0) << printable(name);
}

void Lab::dir(const std::string& name, unsigned mode) const {
  std::filesystem::create_directories(path(name));
  ASSERT_EQ(::chmod(path(name).c_str(), mode), 0);
}

void Lab::link(const std::string& name, const std::string& target) const {
  std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
  ASSERT_EQ(::symlink(target.c_str(), path(name).c_str()), 0) << printable(name);
}

void Lab::remove(const std::string& name) const { fs::remove_tree(path(name)); }

snapshot::SendOptions Lab::options() const {
  return {.top = top(), .store = "file://" + store(), .cache_file = cache()};
}

snapshot::Sent Lab::send() { return must(snapshot::send_tree(blobs_, options())); }

tree::Hash Lab::id_without_cache() {
  const TempFolder other;
  FileStore blobs(other.file("store"));
  auto how = options();
  how.cache_file.clear();
  return must(snapshot::send_tree(blobs, how)).id;
}

Picture Lab::restored(const tree::Hash& id) {
  const auto to = room(fmt::format("restored{}", ++rooms_));
  snapshot::Chunks chunks(blobs_);
  must(snapshot::restore(chunks, id, to));
  auto picture = picture_of(to);
  fs::remove_tree(to);
  return picture;
}

void Lab::let_the_clock_tick() const {
  const auto probe = folder_.file("clock");
  const auto now = [&] {
    struct stat info{};
    const UniqueFd fd(::open(probe.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    EXPECT_EQ(::futimens(fd.get(), nullptr), 0);
    EXPECT_EQ(::fstat(fd.get(), &info), 0);
    return info.st_mtim.tv_sec * 1'000'000'000LL + info.st_mtim.tv_nsec;
  };
  constexpr std::int64_t kEnough = 25'000'000;
  const auto begin = now();
  while (now() < begin + kEnough) ::usleep(1000);
}

std::map<std::string, std::uint64_t> Lab::objects(const std::string& prefix) {
  std::map<std::string, std::uint64_t> found;
  must(blobs_.list(prefix, [&](const BlobInfo& info) {
    found[info.name] = info.size;
    return true;
  }));
  return found;
}

int in_child(const std::function<int()>& work) {
  const auto child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

std::optional<std::uint64_t> killed_in_child(const std::function<void()>& work,
                                             std::uint64_t life_us) {
  // It begins when the child says so: a fork takes long where there is much memory or load.
  int began[2], took[2];
  if (::pipe(began) != 0 || ::pipe(took) != 0) ADD_FAILURE() << "no pipes";
  const auto child = ::fork();
  if (child == 0) {
    const auto start = std::chrono::steady_clock::now();
    (void)!::write(began[1], "b", 1);
    work();
    const std::uint64_t us = std::chrono::duration_cast<std::chrono::microseconds>(
                                 std::chrono::steady_clock::now() - start)
                                 .count();
    (void)!::write(took[1], &us, sizeof us);
    ::_exit(0);
  }
  ::close(began[1]);
  ::close(took[1]);
  char byte = 0;
  (void)!::read(began[0], &byte, 1);
  // Waits for the end of its work, but no longer than it may live.
  pollfd done{.fd = took[0], .events = POLLIN, .revents = 0};
  const timespec life{static_cast<time_t>(life_us / 1'000'000),
                      static_cast<long>(life_us % 1'000'000 * 1000)};
  ::ppoll(&done, 1, life_us == UINT64_MAX ? nullptr : &life, nullptr);
  ::kill(child, SIGKILL);
  std::uint64_t us = 0;
  const bool is_done = ::read(took[0], &us, sizeof us) == sizeof us;
  ::close(began[0]);
  ::close(took[0]);
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return is_done ? std::optional(us) : std::nullopt;
}

}  // namespace muster::test
