#include "app/server/log_stream.hpp"

#include <algorithm>

#include "app/api/error_json.hpp"
#include "base/units.hpp"

namespace muster::server {
namespace {

constexpr std::size_t kBudget = 1U << 20;
constexpr Duration kShortest = std::chrono::milliseconds(5);
constexpr Duration kLongest = std::chrono::milliseconds(200);

bool is_on(const http::Request& request, std::string_view name) {
  const auto value = request.parameter(name);
  return value && *value != "0" && *value != "false";
}

/// The state of one answer; touched by one reader's thread at a time.
class LogStream : public std::enable_shared_from_this<LogStream> {
 public:
  LogStream(Office& office, Ask ask, LogWish wish)
      : office_(office), ask_(std::move(ask)), wish_(std::move(wish)) {}

  void begin() {
    const auto self = shared_from_this();
    office_.readers.run(
        [self](Records& records) { self->open(records); },
        [self](const Error& error) { self->ask_->answer(api::response_of(error)); });
  }

 private:
  struct Source {
    int attempt = 0;
    int rank = 0;
    std::variant<logs::RankTail, logs::FileTail> tail;

    auto read(std::size_t budget) {
      return std::visit([&](auto& one) { return one.read(budget); }, tail);
    }
    void seek_last_lines(std::size_t lines) {
      (void)std::visit([&](auto& one) { return one.seek_last_lines(lines); }, tail);
    }
    bool is_drained() const {
      return std::visit([](const auto& one) { return one.is_drained(); }, tail);
    }
  };

  void open(Records& records) {
    const auto seq = records.resolve(wish_.job);
    if (!seq) return ask_->answer(api::response_of(seq.error()));
    seq_ = *seq;
    const auto detail = records.detail(seq_);
    if (!detail) return ask_->answer(api::response_of(detail.error()));
    if (const auto fits = check(*detail); !fits)
      return ask_->answer(api::response_of(fits.error()));
    stream_ =
        ask_->stream(200, wish_.framed ? "application/x-muster-log" : "application/octet-stream");
    ask_.reset();
    pump(records);
  }

  Result<> check(const JobDetail& detail) const {
    const int ranks = detail.job.request.ranks();
    if (wish_.rank && *wish_.rank >= ranks)
      return fail(Kind::not_found,
                  fmt::format("job {} has no rank {}", detail.job.id.str(), *wish_.rank),
                  fmt::format("its ranks are 0 to {}", ranks - 1));
    if (wish_.attempt && (*wish_.attempt < 1 || *wish_.attempt > detail.job.attempts))
      return fail(Kind::not_found,
                  fmt::format("job {} has no attempt {}", detail.job.id.str(), *wish_.attempt),
                  fmt::format("it had {} so far", detail.job.attempts));
    return {};
  }

  /// Opens what is there of attempts not yet opened.
  void add_sources(const JobDetail& detail) {
    const bool is_first = last_attempt_ == 0;
    for (const auto& attempt : detail.attempts) {
      if (attempt.n <= last_attempt_) continue;
      const bool is_wanted =
          wish_.attempt ? attempt.n == *wish_.attempt
                        : wish_.all_attempts || !is_first || attempt.n == detail.job.attempts;
      if (is_wanted) add_attempt(detail.job, attempt);
      last_attempt_ = attempt.n;
    }
  }

  void add_attempt(const Job& job, const Attempt& attempt) {
    for (std::size_t node = 0; node < attempt.placements.size(); ++node) {
      const auto& placement = attempt.placements[node];
      const auto dir =
          fmt::format("{}/jobs/{}/a{}/n{}", office_.about.home, job.id.str(), attempt.n, node);
      const int first = placement.first_rank, last = first + placement.ranks - 1;
      if (wish_.setup) {
        const bool is_wanted = !wish_.rank || (*wish_.rank >= first && *wish_.rank <= last);
        if (is_wanted) add_source({attempt.n, first, logs::FileTail(dir + "/setup.log")});
        continue;
      }
      for (int rank = first; rank <= last; ++rank)
        if (!wish_.rank || rank == *wish_.rank)
          add_source({attempt.n, rank, logs::RankTail(dir, rank)});
    }
  }

  void add_source(Source source) {
    if (wish_.tail) source.seek_last_lines(*wish_.tail);
    sources_.push_back(std::move(source));
  }

  /// Sends what is new. True when something was.
  bool send_new() {
    bool any = false;
    for (auto& source : sources_) {
      const auto pieces = source.read(kBudget);
      if (!pieces) continue;
      for (const auto& piece : *pieces) {
        const bool is_err = piece.stream == logs::Stream::err;
        if ((is_err && !wish_.err) || (!is_err && !wish_.out) || piece.bytes.empty()) continue;
        any = true;
        if (wish_.framed)
          (void)stream_->write(fmt::format("{} {} {} {}\n", source.attempt, source.rank,
                                           is_err ? "err" : "out", piece.bytes.size()) +
                               piece.bytes);
        else
          (void)stream_->write(piece.bytes);
      }
      if (stream_->pending() > 4 * kBudget) break;
    }
    return any;
  }

  void pump(Records& records) {
    // The state is read before the files: what a final job wrote is there when it is seen as final.
    const auto detail = records.detail(seq_);
    if (!detail || stream_->is_closed()) return stream_->close();
    add_sources(*detail);
    const bool is_over = !wish_.follow || is_final(detail->job.state) ||
                         (wish_.setup && detail->job.state == JobState::running) ||
                         (wish_.attempt && has_ended(*detail, *wish_.attempt));
    const bool any = send_new();
    const bool is_drained = std::all_of(sources_.begin(), sources_.end(),
                                        [](const auto& source) { return source.is_drained(); });
    if (is_over && is_drained && !any) return stream_->close();
    pause_ = any ? kShortest : std::min(pause_ * 2, kLongest);
    again(any ? Duration(0) : pause_);
  }

  static bool has_ended(const JobDetail& detail, int attempt) {
    for (const auto& one : detail.attempts)
      if (one.n == attempt) return one.state == AttemptState::ended;
    return true;
  }

  void again(Duration delay) {
    const auto self = shared_from_this();
    const auto next = [self] {
      self->office_.readers.run([self](Records& records) { self->pump(records); },
                                [self](const Error&) { self->stream_->close(); });
    };
    if (stream_->pending() > 4 * kBudget)
      stream_->on_drain(next);
    else if (delay.count() == 0)
      next();
    else
      office_.http->after(delay, next);
  }

  Office& office_;
  Ask ask_;
  LogWish wish_;
  JobSeq seq_ = 0;
  std::shared_ptr<http::Stream> stream_;
  std::vector<Source> sources_;
  int last_attempt_ = 0;
  Duration pause_ = kShortest;
};

}  // namespace

Result<LogWish> log_wish(const http::Request& request, std::string id) {
  LogWish wish{
      .job = std::move(id), .follow = is_on(request, "follow"), .framed = is_on(request, "framed")};
  const auto rank = request.parameter("rank").value_or("0");
  if (rank != "all") {
    TRY(const auto number, within(parse_whole(rank, 0, 1'000'000), "--rank"));
    wish.rank = static_cast<int>(number);
  }
  if (const auto attempt = request.parameter("attempt"); attempt && *attempt == "all")
    wish.all_attempts = true;
  else if (attempt) {
    TRY(const auto number, within(parse_whole(*attempt, 1, 1'000'000), "--attempt"));
    wish.attempt = static_cast<int>(number);
  }
  if (const auto stream = request.parameter("stream")) {
    if (*stream != "out" && *stream != "err" && *stream != "both" && *stream != "setup")
      return fail(Kind::usage, "stream must be out, err, both or setup");
    wish.out = *stream != "err";
    wish.err = *stream != "out";
    wish.setup = *stream == "setup";
  }
  if (const auto tail = request.parameter("tail")) {
    TRY(const auto lines, within(parse_whole(*tail, 0, 1'000'000'000), "--tail"));
    wish.tail = static_cast<std::size_t>(lines);
  }
  return wish;
}

void serve_log(Office& office, const Ask& ask, LogWish wish) {
  std::make_shared<LogStream>(office, ask, std::move(wish))->begin();
}

}  // namespace muster::server
