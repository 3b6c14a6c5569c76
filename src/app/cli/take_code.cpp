#include "app/cli/take_code.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>

#include "app/cli/git_info.hpp"
#include "app/cli/output.hpp"
#include "app/cli/own_snapshots.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "edge/blob/open.hpp"
#include "edge/fs/files.hpp"
#include "edge/fs/own_folder.hpp"
#include "edge/fs/parent.hpp"
#include "edge/tree/survey.hpp"

namespace muster {
namespace {

constexpr std::uint64_t kLarge = 256U << 20;
constexpr std::uint64_t kMany = 50'000;

/// A folder such as /tmp, where things of all kinds and people lie.
bool is_everybodys(const std::string& dir) {
  struct stat info{};
  return ::stat(dir.c_str(), &info) == 0 &&
         (info.st_mode & (S_ISVTX | S_IWOTH)) == (S_ISVTX | S_IWOTH);
}

std::string without_end_slashes(std::string dir) {
  while (dir.size() > 1 && dir.ends_with('/')) dir.pop_back();
  return dir;
}

/// A line that is rewritten while files are read; appears when it takes long, goes when done.
class Bar {
 public:
  explicit Bar(const Context& context) : is_shown_(context.err_is_tty && !context.globals.quiet) {}
  ~Bar() {
    if (has_drawn_) (void)!::write(STDERR_FILENO, "\r\x1b[K", 4);
  }
  void tell(const snapshot::Progress& progress) {
    const auto now = std::chrono::steady_clock::now();
    if (!is_shown_ || now < next_) return;
    next_ = now + std::chrono::milliseconds(200);
    const auto text = fmt::format("\r\x1b[Kmuster: snapshot: {} entries, {} files read ({})",
                                  progress.entries, progress.files_read,
                                  to_text(Bytes{static_cast<std::int64_t>(progress.bytes_read)}));
    has_drawn_ = ::write(STDERR_FILENO, text.data(), text.size()) > 0;
  }

 private:
  bool is_shown_;
  bool has_drawn_ = false;
  std::chrono::steady_clock::time_point next_ =
      std::chrono::steady_clock::now() + std::chrono::seconds(1);
};

/// Told now rather than when the job was queued for hours.
Result<> check_requirements(const std::string& top, const std::string& list) {
  if (list.empty() || fs::exists(top + "/" + list)) return {};
  auto failed =
      fail(Kind::not_found, fmt::format("there is no {} in {}", printable(list), printable(top)),
           "name the file relative to the top of the project, wherever you stand in it");
  failed.value().where = "--requirements";
  return failed;
}

}  // namespace

std::string code_top(const std::string& dir, const std::string& home) {
  const auto here = without_end_slashes(dir);
  const auto refused = without_end_slashes(home);
  if (here == "/" || here == refused || is_everybodys(here)) return {};
  for (auto at = here; at.size() > 1 && at != refused && !is_everybodys(at); at = fs::parent_of(at))
    for (const char* mark : {"muster.yaml", ".musterignore", ".amlignore", ".git"})
      if (fs::exists(at + "/" + mark)) return at;
  return here;
}

std::string own_store(const Context& context) {
  return "file://" + context.paths.state + "/chunks";
}

CodeTaker::~CodeTaker() {
  if (pins_.empty()) return;
  const auto blobs = open_blob_store(own_store(context_));
  for (const auto& pin : pins_)
    if (blobs) (void)snapshot::unpin(**blobs, pin);  // else it ages
}

/// A snapshot that was named, by its first digits or all: it must be there, and stay.
Result<> CodeTaker::hold(std::string& wanted) {
  TRY(const auto store, OwnSnapshots::open(context_));
  TRY(const auto id, store->find(wanted));
  TRY(auto pin, muster::snapshot::pin(store->blobs(), id));
  pins_.push_back(std::move(pin));
  wanted = tree::to_hex(id);
  return {};
}

Result<> CodeTaker::take(spec::ResolvedJob& job) {
  if (!job.spec.code.snapshot.empty()) return hold(job.spec.code.snapshot);
  if (!job.wants_snapshot) return {};
  const auto home = context_.env.find("HOME");
  const auto top = code_top(job.spec.dir, home == context_.env.end() ? "" : home->second);
  if (top.empty()) {
    if (context_.err_is_tty)
      say(context_,
          fmt::format(
              "muster: {} is no project folder: the job {}", printable(job.spec.dir),
              job.spec.pod ? "gets nothing but its image" : "runs in place, without a snapshot"));
    return {};
  }
  TRY_VOID(check_requirements(top, job.spec.code.requirements));
  TRY(auto code, take_folder(top, job.allow_racy));
  const auto dir = without_end_slashes(job.spec.dir);
  if (dir.size() > top.size()) code.below = dir.substr(top.size() + 1);
  if (job.spec.pod) leave_links(code);
  code.setup = job.spec.code.setup;
  code.requirements = job.spec.code.requirements;
  job.spec.code = std::move(code);
  return {};
}

/// A pod cannot follow a link to what lies here; nor does it get what ignore rules leave out.
void CodeTaker::leave_links(Code& code) {
  if (code.links.empty()) return;
  warn(context_,
       fmt::format("the job will not find what ignore rules leave out: {}; a volume of the "
                   "cluster may hold it (volumes)",
                   join(code.links, ", ")));
  code.links.clear();
}

Result<Code> CodeTaker::take_folder(const std::string& top, bool allow_racy) {
  TRY(auto taken, send_folder(top, allow_racy));
  return std::move(taken.code);
}

Result<Taken> CodeTaker::send_folder(const std::string& top, bool allow_racy) {
  if (const auto known = taken_.find(top); known != taken_.end()) return known->second;
  TRY_VOID(fs::claim_folder(context_.paths.state, "server.lock"));
  TRY_VOID(fs::make_dirs(context_.paths.cache + "/stat"));
  const auto name = sha256_hex(top);
  const auto cache_file = fmt::format("{}/stat/{}", context_.paths.cache, name);
  TRY(const auto blobs, open_blob_store(own_store(context_)));
  tell_large(top, cache_file);
  Bar bar(context_);
  snapshot::SendOptions options{
      .top = top,
      .store = own_store(context_),
      .cache_file = cache_file,
      .racy = allow_racy ? snapshot::Racy::record : snapshot::Racy::refuse,
      .leave_out = {context_.paths.state, context_.paths.cache},
      .on_progress = [&](const auto& progress) { bar.tell(progress); }};
  TRY(auto sent, within(snapshot::send_tree(*blobs, options), printable(top)));
  pins_.push_back(sent.pin);
  for (const auto& path : sent.specials)
    warn(context_, fmt::format("{} is no file, folder or link: left out", printable(path)));
  for (const auto& name : sent.partly_at_top)
    warn(context_, fmt::format("{} is ignored but for what git tracks in it: the rest of it is "
                               "neither taken nor linked",
                               printable(name)));
  if (!sent.index_fault.empty())
    warn(context_, fmt::format("{}: files that git tracks but .gitignore names are left out",
                               printable(sent.index_fault)));
  Code code{
      .snapshot = tree::to_hex(sent.id), .top = top, .below = {}, .links = sent.ignored_at_top};
  add_git_info(code, cache_file + ".git");
  return taken_[top] = {.code = std::move(code), .sent = std::move(sent)};
}

/// Before a first snapshot that will take a while: what makes it large.
void CodeTaker::tell_large(const std::string& top, const std::string& cache_file) {
  if (fs::exists(cache_file) || context_.globals.quiet) return;
  const auto survey = snapshot::survey_tree(top);
  if (!survey || (survey->bytes < kLarge && survey->files < kMany)) return;
  say(context_,
      fmt::format("muster: first snapshot of {}: {} files, {}; the largest:", printable(top),
                  survey->files, to_text(Bytes{static_cast<std::int64_t>(survey->bytes)})));
  for (const auto& [name, bytes] : survey->largest)
    say(context_, fmt::format("  {:>10}  {}", to_text(Bytes{static_cast<std::int64_t>(bytes)}),
                              printable(name)));
  say(context_, "  what a job does not need can be left out: .musterignore, as .gitignore");
}

}  // namespace muster
