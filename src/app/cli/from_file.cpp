#include "app/cli/from_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <set>

#include "app/api/error_json.hpp"
#include "app/cli/client.hpp"
#include "app/cli/files.hpp"
#include "app/cli/output.hpp"
#include "app/cli/settle_secrets.hpp"
#include "app/cli/submit_flags.hpp"
#include "app/cli/take_code.hpp"
#include "app/server/env_store.hpp"
#include "app/server/intake.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "core/model/json.hpp"
#include "edge/node/probe.hpp"

namespace muster {
namespace {

constexpr std::size_t kLinesAtOnce = 1000;
constexpr std::size_t kBytesAtOnce = 16U << 20;

/// What is the same for every line: read once.
struct Place {
  spec::Config config;
  node::Machine machine;
  spec::Submitter submitter;
  CodeTaker& code;
};

Result<spec::ResolvedJob> resolve_line(const Context& context, const Place& place,
                                       std::string_view line, const spec::SubmitOptions& defaults) {
  TRY(const auto options, spec::submit_options_from_json(line, defaults));
  TRY(const auto profile,
      spec::profile_of(place.config,
                       options.cluster ? *options.cluster : spec::chosen_profile(place.config)));
  TRY(auto job, spec::resolve(options, profile, node::machine_nodes(place.machine, profile),
                              place.submitter));
  TRY_VOID(settle_secrets(context, job.env));
  if (job.spec.key.empty()) job.spec.key = to_hex(random_bytes(16));
  TRY_VOID(place.code.take(job));
  return job;
}

/// Lines of one request: what was sent, and which lines of the file they are.
class LineBatch {
 public:
  LineBatch(Context& context, const spec::SubmitOptions& defaults, Place place)
      : context_(context), defaults_(defaults), place_(std::move(place)) {}

  Result<> add(std::string_view line) {
    ++line_number_;
    if (trimmed(line).empty()) return {};
    const auto job = resolve_line(context_, place_, line, defaults_);
    if (!job) {
      TRY_VOID(send());  // answers stay in the order of the lines
      refuse(line_number_, job.error());
      return {};
    }
    const bool is_new = sent_envs_.insert(server::env_id_of(job->env)).second;
    body_ += server::submission_json(*job, is_new) + "\n";
    numbers_.push_back(line_number_);
    return numbers_.size() >= kLinesAtOnce || body_.size() >= kBytesAtOnce ? send() : Result<>();
  }

  Result<> send() {
    if (numbers_.empty()) return {};
    TRY(const auto answer, call_again(context_, {.route = "jobs.batch", .body = body_}));
    const auto lines = split(answer, '\n');
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      if (i >= lines.size())
        return fail(Kind::corrupt, "the server answered fewer lines than it was sent");
      TRY_VOID(take_answer(numbers_[i], lines[i]));
    }
    body_.clear();
    numbers_.clear();
    sent_envs_.clear();  // the server may forget an environment between requests
    return {};
  }

  int exit_code() const { return exit_code_; }
  /// How it went, where not everything did.
  void tell() {
    if (refused_ != 0)
      say(context_,
          fmt::format("submitted {} of {} jobs; mend the lines named above and send those",
                      accepted_, accepted_ + refused_));
  }

 private:
  Result<> take_answer(std::size_t number, std::string_view line) {
    TRY(const auto parsed, parse_json(line));
    if (const auto* error = field(parsed.as_object(), "error")) {
      refuse(number, api::error_from_json(400, json::serialize(*error)));
      return {};
    }
    const auto* id = field(parsed.as_object(), "id");
    if (id == nullptr || !id->is_string())
      return fail(Kind::corrupt, "the server's answer has no id");
    print_line(context_, std::string_view(id->get_string()));
    ++accepted_;
    return {};
  }

  void refuse(std::size_t number, Error error) {
    error.where = error.where.empty() ? fmt::format("line {}", number)
                                      : fmt::format("line {}: {}", number, error.where);
    const int code = print_error(context_, error);
    ++refused_;
    if (exit_code_ == 0) exit_code_ = code;
  }

  Context& context_;
  spec::SubmitOptions defaults_;
  Place place_;
  std::size_t line_number_ = 0;
  std::string body_;
  std::vector<std::size_t> numbers_;
  std::set<std::string> sent_envs_;
  int exit_code_ = 0;
  std::size_t accepted_ = 0;
  std::size_t refused_ = 0;
};

Result<> read_lines(int fd, const std::string& name, LineBatch& batch) {
  std::string rest;
  char buffer[65536];
  for (;;) {
    const auto n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EISDIR)
      return fail(Kind::usage, fmt::format("{} is a folder", printable(name)),
                  "--from takes a file with one JSON job a line");
    if (n < 0) return fail_errno(fmt::format("cannot read {}", name), errno);
    if (n == 0) break;
    rest.append(buffer, static_cast<std::size_t>(n));
    std::size_t at = 0;
    for (auto end = rest.find('\n'); end != std::string::npos; end = rest.find('\n', at)) {
      TRY_VOID(batch.add(std::string_view(rest).substr(at, end - at)));
      at = end + 1;
    }
    rest.erase(0, at);
    if (rest.size() > (8U << 20)) return fail(Kind::usage, "a line is longer than 8 MiB");
  }
  return rest.empty() ? Result<>() : batch.add(rest);
}

}  // namespace

Result<int> submit_from(Context& context, const std::string& file,
                        const spec::SubmitOptions& defaults) {
  if (!defaults.command.empty())
    return fail(Kind::usage, "--from takes its commands from the file", "leave the command out");
  if (defaults.key)
    return fail(Kind::usage, "--key with --from would make all lines one job",
                "give each line a \"key\" of its own");
  TRY(auto config, load_config(context));
  TRY(const auto machine, node::probe_machine());
  UniqueFd opened;
  if (file != "-") {
    opened.reset(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (!opened) return fail_errno(fmt::format("cannot open {}", file), errno);
  }
  TRY(auto submitter, submitter_of(context));
  CodeTaker code(context);
  LineBatch batch(context, defaults, {std::move(config), machine, std::move(submitter), code});
  TRY_VOID(read_lines(opened ? opened.get() : STDIN_FILENO, file, batch));
  TRY_VOID(batch.send());
  batch.tell();
  return batch.exit_code();
}

}  // namespace muster
