#include "edge/process/node_setup.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/hash.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "edge/fs/files.hpp"
#include "edge/fs/links.hpp"
#include "edge/fs/lock_file.hpp"
#include "edge/fs/remove_tree.hpp"
#include "edge/process/clocks.hpp"
#include "edge/process/exec_program.hpp"
#include "edge/process/requirements.hpp"
#include "edge/process/setup_env.hpp"
#include "edge/tree/boot_mark.hpp"
#include "edge/tree/copy.hpp"
#include "edge/tree/idle_trees.hpp"

namespace muster::process {
namespace {

constexpr const char* kVenvScript =
    "set -e\n"
    "python3 -m venv \"$1\"\n"
    "\"$1/bin/python\" -m pip install --disable-pip-version-check --no-input -r \"$2\"\n";

constexpr timespec kLookPause{0, 20'000'000};

/// Where the programs of a set-up write, and how long each may take (0: for ever).
struct Bounds {
  std::string log;
  Duration limit{0};
};
Bounds bounds_of(const std::string& attempt_dir, Duration limit) {
  return {attempt_dir + "/" + kSetupLog, limit};
}

struct Work {
  std::vector<std::string> argv;
  std::string dir;
  const Environment& env;
  const Bounds& bounds;
};

std::string end_of_log(const std::string& path) {
  constexpr std::size_t kLines = 5;
  const auto text = fs::read_file(path, 256U << 20).value_or("");
  const auto lines = split(trimmed(text), '\n');
  std::string end;
  for (auto i = lines.size() - std::min(lines.size(), kLines); i < lines.size(); ++i)
    end += (end.empty() ? "" : " | ") + printable(lines[i]);
  return end;
}

tl::unexpected<Error> failed_setup(std::string what, const std::string& log) {
  auto failed = fail(Kind::usage, std::move(what), "read " + log);
  failed.value().where = "setup";
  failed.value().why = end_of_log(log);
  return failed;
}

[[noreturn]] void become(const Work& work, int log) {
  ::dup2(log, 1);
  ::dup2(log, 2);
  const int null = ::open("/dev/null", O_RDONLY);
  ::dup2(null, 0);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  std::vector<std::string> env;
  for (const auto& [name, value] : work.env) env.push_back(name + "=" + value);
  if (::chdir(work.dir.c_str()) == 0) (void)exec_program(work.argv, env);
  ::_exit(127);
}

/// The status of its end; nothing: it took too long, and was killed.
std::optional<int> end_of(pid_t pid, Duration limit) {
  const auto until = monotonic_now() + limit;
  for (int status = 0;;) {
    const bool has_limit = limit.count() > 0;
    const pid_t got = ::waitpid(pid, &status, has_limit ? WNOHANG : 0);
    if (got == pid) return status;
    if (got < 0 && errno != EINTR) return status;
    if (!has_limit) continue;
    if (monotonic_now() >= until) break;
    ::nanosleep(&kLookPause, nullptr);
  }
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  return std::nullopt;
}

Result<> run_logged(const Work& work, std::string_view what) {
  const auto& path = work.bounds.log;
  const UniqueFd log(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!log) return fail_errno(fmt::format("cannot write {}", path), errno);
  const pid_t pid = ::fork();
  if (pid < 0) return fail_errno("cannot make a process", errno);
  if (pid == 0) become(work, log.get());
  const auto status = end_of(pid, work.bounds.limit);
  if (!status)
    return failed_setup(fmt::format("{} took longer than the job's time limit of {}", what,
                                    to_text(work.bounds.limit)),
                        path);
  if (WIFEXITED(*status) && WEXITSTATUS(*status) == 0) return {};
  return failed_setup(WIFEXITED(*status)
                          ? fmt::format("{} ended with exit code {}", what, WEXITSTATUS(*status))
                          : fmt::format("{} was ended by signal {}", what, WTERMSIG(*status)),
                      path);
}

std::string restored(const FolderPlan& plan) { return plan.trees + "/" + plan.snapshot; }

/// One environment for each list of requirements and each PATH by which a python is found.
/// The attempt's link to it is made under the lock: who collects sees that it is used.
Result<> make_venv(const FolderPlan& plan, const std::string& tree, const Environment& env,
                   const std::string& attempt_dir, const Bounds& bounds) {
  const auto list = tree + "/" + plan.requirements;
  const auto wanted = requirements_of(tree, plan.requirements);
  if (!wanted)
    return failed_setup(fmt::format("the snapshot has no {}", printable(plan.requirements)),
                        bounds.log);
  // What lies in the tree is installed as it is there: then the tree counts as well.
  const auto content = wanted->text + (wanted->needs_tree ? plan.snapshot : std::string());
  const auto name = sha256_hex(content + '\0' + installing_env(env)).substr(0, 32);
  const auto venv = plan.venvs + "/" + name;
  TRY_VOID(fs::make_dirs(plan.venvs));
  TRY(const auto lock, fs::lock_file(venv + ".lock"));
  const auto link = attempt_dir + "/" + kSetupVenv;
  if (::symlink(venv.c_str(), link.c_str()) != 0 && errno != EEXIST)
    return fail_errno(fmt::format("cannot link {}", link), errno);
  const auto mark = venv + "/" + snapshot::kVenvMark;
  if (fs::exists(mark)) {
    snapshot::renew_mark(mark);
    return {};
  }
  fs::remove_tree(venv);  // what a killed set-up left
  TRY_VOID(run_logged({{"/bin/sh", "-c", kVenvScript, "setup", venv, list}, tree, env, bounds},
                      "installing the requirements"));
  return fs::write_whole(mark, wanted->text);
}

Result<> run_setup(const FolderPlan& plan, const std::string& tree, const Environment& env,
                   const Bounds& bounds) {
  auto inside = env;
  inside["PWD"] = tree;
  return run_logged({{"/bin/sh", "-c", plan.setup}, tree, inside, bounds}, "the set-up");
}

/// The set-up text runs in a copy; when it has succeeded, the copy is the tree of all such jobs.
Result<> make_tree(const FolderPlan& plan, const std::string& tree, const Environment& env,
                   const Bounds& bounds) {
  TRY(const auto lock, fs::lock_file(tree + ".lock"));
  TRY(const bool is_there, snapshot::is_whole(tree));
  if (is_there) return {};
  const auto temporary = tree + ".new";
  fs::remove_tree(temporary);
  fs::remove_tree(tree);
  TRY_VOID(fs::make_dirs(temporary));
  TRY_VOID(snapshot::copy_tree(restored(plan), temporary));
  const auto done = run_setup(plan, temporary, env, bounds);
  if (!done) {
    fs::remove_tree(temporary);
    return done;
  }
  if (::rename(temporary.c_str(), tree.c_str()) != 0)
    return fail_errno(fmt::format("cannot move {}", temporary), errno);
  return snapshot::mark_whole(tree);
}

/// What the set-up text and the ranks run with.
Result<Environment> make_surroundings(const FolderPlan& plan, const std::string& tree,
                                      const Environment& env, const std::string& attempt_dir,
                                      const Bounds& bounds) {
  auto surroundings = env;
  if (plan.requirements.empty()) return surroundings;
  TRY_VOID(make_venv(plan, tree, env, attempt_dir, bounds));
  use_setup(surroundings, attempt_dir);
  return surroundings;
}

}  // namespace

std::string prepared_tree(const FolderPlan& plan, const Environment& env) {
  if (plan.setup.empty()) return restored(plan);
  auto seen = plan.setup + '\0' + plan.requirements + '\0';
  for (const auto& [name, value] : setup_environment(env)) seen += name + '=' + value + '\0';
  return restored(plan) + "." + sha256_hex(seen).substr(0, 16);
}

Result<> set_up(const FolderPlan& plan, const Environment& env, const std::string& attempt_dir,
                Duration limit) {
  const auto bounds = bounds_of(attempt_dir, limit);
  const auto own = setup_environment(env);
  TRY(const auto surroundings, make_surroundings(plan, restored(plan), own, attempt_dir, bounds));
  if (plan.setup.empty()) return {};
  const auto tree = prepared_tree(plan, env);
  TRY_VOID(make_tree(plan, tree, surroundings, bounds));
  const auto link = attempt_dir + "/" + kSetupTree;
  if (::symlink(tree.c_str(), link.c_str()) != 0 && errno != EEXIST)
    return fail_errno(fmt::format("cannot link {}", link), errno);
  return {};
}

Result<> set_up_in(const std::string& tree, const FolderPlan& plan, const Environment& env,
                   const std::string& attempt_dir, Duration limit) {
  const auto bounds = bounds_of(attempt_dir, limit);
  TRY(const auto surroundings, make_surroundings(plan, tree, env, attempt_dir, bounds));
  return plan.setup.empty() ? Result<>() : run_setup(plan, tree, surroundings, bounds);
}

std::string setup_venv(const std::string& attempt_dir) {
  return fs::link_target(attempt_dir + "/" + kSetupVenv);
}

void use_setup(Environment& env, const std::string& attempt_dir) {
  const auto venv = setup_venv(attempt_dir);
  if (venv.empty()) return;
  env["VIRTUAL_ENV"] = venv;
  env["PATH"] = venv + "/bin:" + env["PATH"];
  env.erase("PYTHONHOME");
}

}  // namespace muster::process
