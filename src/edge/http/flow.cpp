#include "edge/http/flow.hpp"

#include <atomic>

#include "edge/http/error_body.hpp"

namespace muster::http {

Flow::Wake Flow::wake() {
  if (is_woken_) return Wake::unneeded;
  is_woken_ = true;
  return Wake::needed;
}

Flow::Wake Flow::put(std::string chunk) {
  const std::lock_guard lock(mutex_);
  if (is_broken_ || is_finished_) return Wake::refused;
  if (waiting_.empty())
    waiting_ = std::move(chunk);
  else
    waiting_ += chunk;
  return waiting_.empty() ? Wake::unneeded : wake();
}

Flow::Wake Flow::finish() {
  const std::lock_guard lock(mutex_);
  if (is_broken_ || is_finished_) return Wake::refused;
  is_finished_ = true;
  return wake();
}

Flow::Wake Flow::drop() {
  const std::lock_guard lock(mutex_);
  if (is_broken_ || is_finished_) return Wake::refused;
  is_finished_ = is_dropped_ = true;
  return wake();
}

std::size_t Flow::pending() const {
  const std::lock_guard lock(mutex_);
  return is_broken_ ? 0 : waiting_.size() + taken_;
}

bool Flow::is_closed() const {
  const std::lock_guard lock(mutex_);
  return is_broken_ || is_finished_;
}

bool Flow::wait_drained(std::function<void()>& drained) {
  const std::lock_guard lock(mutex_);
  if (is_broken_ || waiting_.size() + taken_ == 0) return false;
  drained_ = std::move(drained);
  return true;
}

Flow::Taken Flow::take() {
  const std::lock_guard lock(mutex_);
  is_woken_ = false;
  Taken taken{
      .bytes = std::exchange(waiting_, {}), .is_last = is_finished_, .is_dropped = is_dropped_};
  taken_ += taken.bytes.size();
  return taken;
}

std::function<void()> Flow::sent() {
  const std::lock_guard lock(mutex_);
  taken_ = 0;
  return waiting_.empty() ? std::exchange(drained_, nullptr) : nullptr;
}

std::function<void()> Flow::break_off() {
  const std::lock_guard lock(mutex_);
  is_broken_ = true;
  taken_ = 0;
  waiting_ = {};
  return std::exchange(drained_, nullptr);
}

namespace {

class OpenStream final : public Stream {
 public:
  OpenStream(std::shared_ptr<Flow> flow, std::uint64_t turn, std::weak_ptr<Answering> session,
             std::shared_ptr<Gate> gate)
      : flow_(std::move(flow)), turn_(turn), session_(std::move(session)), gate_(std::move(gate)) {}
  ~OpenStream() override { nudge(flow_->drop()); }

  bool write(std::string chunk) override {
    const auto wake = flow_->put(std::move(chunk));
    nudge(wake);
    return wake != Flow::Wake::refused;
  }
  std::size_t pending() const override { return flow_->pending(); }
  void on_drain(std::function<void()> drained) override {
    if (flow_->wait_drained(drained)) return;
    if (!gate_->post(drained)) drained();
  }
  void close() override { nudge(flow_->finish()); }
  bool is_closed() const override { return flow_->is_closed(); }

 private:
  void nudge(Flow::Wake wake) {
    if (wake != Flow::Wake::needed) return;
    gate_->post([session = session_, turn = turn_] {
      if (const auto alive = session.lock()) alive->pump(turn);
    });
  }

  std::shared_ptr<Flow> flow_;  // shared with the session, which takes the bytes
  std::uint64_t turn_;
  std::weak_ptr<Answering> session_;
  std::shared_ptr<Gate> gate_;
};

class OpenExchange final : public Exchange {
 public:
  OpenExchange(Request request, std::uint64_t turn, std::weak_ptr<Answering> session,
               std::shared_ptr<Gate> gate)
      : request_(std::move(request)),
        turn_(turn),
        session_(std::move(session)),
        gate_(std::move(gate)) {}
  ~OpenExchange() override {
    if (is_answered_.load()) return;
    const Error error{
        .kind = Kind::internal,
        .what = fmt::format("{} {} was dropped without an answer", request_.method, request_.path),
        .where = {},
        .why = {},
        .fix = {"report this as a bug"}};
    answer(error_response(error));
  }

  const Request& request() const override { return request_; }

  void answer(Response response) override {
    if (is_answered_.exchange(true)) return;
    gate_->post([session = session_, turn = turn_, response = std::move(response)]() mutable {
      if (const auto alive = session.lock()) alive->answer(turn, std::move(response));
    });
  }

  std::shared_ptr<Stream> stream(int status, std::string content_type) override {
    auto flow = std::make_shared<Flow>();
    auto stream = std::make_shared<OpenStream>(flow, turn_, session_, gate_);
    // The connection's share: once nobody holds it, nobody will ever take the bytes, and whoever
    // waits for that is told. It breaks off even when this post is never run.
    const std::shared_ptr<Flow> share(flow.get(), [flow](Flow*) {
      if (const auto drained = flow->break_off()) drained();
    });
    if (is_answered_.exchange(true)) return stream;
    gate_->post([session = session_, turn = turn_, status, share = share,
                 type = std::move(content_type)]() mutable {
      if (const auto alive = session.lock())
        alive->begin_stream(turn, status, std::move(type), std::move(share));
    });
    return stream;
  }

 private:
  const Request request_;
  std::uint64_t turn_;
  std::weak_ptr<Answering> session_;
  std::shared_ptr<Gate> gate_;
  std::atomic<bool> is_answered_ = false;
};

}  // namespace

std::shared_ptr<Exchange> make_exchange(Request request, std::uint64_t turn,
                                        std::weak_ptr<Answering> session,
                                        std::shared_ptr<Gate> gate) {
  return std::make_shared<OpenExchange>(std::move(request), turn, std::move(session),
                                        std::move(gate));
}

}  // namespace muster::http
