#include "app/cli/context.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>

#include "base/text.hpp"
#include "base/units.hpp"
#include "edge/fs/files.hpp"

namespace muster {
namespace {

class FdWriter final : public Writer {
 public:
  FdWriter(int fd, std::string name) : fd_(fd), name_(std::move(name)) {}

  void write(std::string_view bytes) override {
    while (!bytes.empty() && error_ == 0) {
      const auto count = ::write(fd_, bytes.data(), bytes.size());
      if (count >= 0)
        bytes.remove_prefix(static_cast<std::size_t>(count));
      else if (errno == EAGAIN)
        wait();
      else if (errno != EINTR)
        error_ = errno;
    }
  }

  bool is_broken() const override { return error_ != 0; }

  Result<> finish() override {
    if (error_ == 0) return {};
    return fail_errno(fmt::format("{} takes nothing more", name_), error_);
  }

 private:
  // A terminal shared with another program may be set not to block: wait until it takes more.
  void wait() const {
    pollfd entry{fd_, POLLOUT, 0};
    ::poll(&entry, 1, 1000);
  }

  int fd_;
  std::string name_;
  int error_ = 0;
};

std::string value_of(const Environment& env, const char* name) {
  const auto found = env.find(name);
  return found == env.end() ? std::string() : found->second;
}

bool wants_color(const Environment& env, const Globals& globals) {
  return !globals.no_color && value_of(env, "NO_COLOR").empty() &&
         value_of(env, "TERM") != "dumb" && !value_of(env, "TERM").empty();
}

std::size_t terminal_width(const Environment& env) {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const auto columns = parse_whole(value_of(env, "COLUMNS"), 20, 10'000);
  return columns ? static_cast<std::size_t>(*columns) : 80;
}

/// $PWD when it is true: it keeps the links by which the person came here. Empty: the folder is
/// gone.
std::string current_dir(const Environment& env) {
  const std::string pwd = value_of(env, "PWD");
  struct stat here{};
  struct stat there{};
  if (pwd.starts_with('/') && ::stat(".", &here) == 0 && ::stat(pwd.c_str(), &there) == 0 &&
      here.st_dev == there.st_dev && here.st_ino == there.st_ino)
    return pwd;
  std::array<char, PATH_MAX> buffer{};
  // A folder that was removed, or that lies outside this root, has no path.
  const bool has_path = ::getcwd(buffer.data(), buffer.size()) != nullptr && buffer[0] == '/';
  return has_path ? buffer.data() : "";
}

std::string own_program() {
  std::array<char, PATH_MAX> buffer{};
  const auto length = ::readlink("/proc/self/exe", buffer.data(), buffer.size());
  return length <= 0 ? "muster" : std::string(buffer.data(), static_cast<std::size_t>(length));
}

std::optional<Account> own_account() {
  const auto passwd = fs::read_file("/etc/passwd");
  return passwd ? find_account(*passwd, ::getuid()) : std::nullopt;
}

}  // namespace

std::unique_ptr<Writer> fd_writer(int fd, std::string name) {
  return std::make_unique<FdWriter>(fd, std::move(name));
}

Result<Api*> Context::api() {
  if (!open_api) return fail(Kind::internal, "no way to the server is installed");
  return open_api(*this);
}

Environment process_environment() {
  Environment env;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto equals = text.find('=', 1);
    if (equals == std::string_view::npos) continue;
    env.try_emplace(std::string(text.substr(0, equals)), text.substr(equals + 1));
  }
  return env;
}

// Read here and not by getpwuid: a static program must not load name service modules.
std::optional<Account> find_account(std::string_view passwd, unsigned uid) {
  for (const auto line : split(passwd, '\n')) {
    const auto parts = split(line, ':');
    if (parts.size() < 7) continue;
    const auto number = parse_whole(parts[2], 0, UINT_MAX);
    if (number && static_cast<unsigned>(*number) == uid)
      return Account{std::string(parts[0]), std::string(parts[5])};
  }
  return std::nullopt;
}

Context make_bare_context(const Globals& globals) {
  Context context;
  context.out = fd_writer(STDOUT_FILENO, "stdout");
  context.err = fd_writer(STDERR_FILENO, "stderr");
  context.in_is_tty = ::isatty(STDIN_FILENO) == 1;
  context.out_is_tty = ::isatty(STDOUT_FILENO) == 1;
  context.err_is_tty = ::isatty(STDERR_FILENO) == 1;
  context.env = process_environment();
  context.width = context.out_is_tty ? terminal_width(context.env) : 0;
  const bool color = wants_color(context.env, globals);
  context.color = color && context.out_is_tty;
  context.err_color = color && context.err_is_tty;
  context.dir = current_dir(context.env);
  context.program = own_program();
  context.globals = globals;
  return context;
}

Result<Context> make_context(const Globals& globals) {
  Context context = make_bare_context(globals);
  const auto account = own_account();
  // The account decides, not $USER: ids must not depend on a variable.
  context.user = account                                  ? account->name
                 : !value_of(context.env, "USER").empty() ? value_of(context.env, "USER")
                                                          : fmt::format("uid{}", ::getuid());
  Whereabouts where{.home_flag = globals.home, .passwd_home = {}, .dir = context.dir};
  if (account && account->home.starts_with('/')) where.passwd_home = account->home;
  TRY(context.paths, find_paths(context.env, where));
  return context;
}

}  // namespace muster
