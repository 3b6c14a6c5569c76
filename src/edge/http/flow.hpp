/// The part of a stream that its producer and the server's thread share, and the two faces that a
/// producer sees. Internal to this folder.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "edge/http/exchange.hpp"
#include "edge/http/session.hpp"

namespace muster::http {

/// Bytes on their way from a producer to a connection. Any thread.
class Flow {
 public:
  struct Taken {
    std::string bytes;
    bool is_last = false;
    bool is_dropped = false;
  };
  enum class Wake { needed, unneeded, refused };

  // The producer's side.
  Wake put(std::string chunk);
  Wake finish();
  Wake drop();
  std::size_t pending() const;
  bool is_closed() const;
  /// False when there is nothing to wait for: the caller has to see to the call itself.
  bool wait_drained(std::function<void()>& drained);

  // The connection's side.
  Taken take();
  /// Everything taken so far is in the kernel's hands; gives back whom to call.
  std::function<void()> sent();
  /// The connection is over.
  std::function<void()> break_off();

 private:
  Wake wake();
  mutable std::mutex mutex_;
  std::string waiting_;
  std::size_t taken_ = 0;
  bool is_woken_ = false;
  bool is_finished_ = false;
  bool is_dropped_ = false;
  bool is_broken_ = false;
  std::function<void()> drained_;
};

/// What a session does for the faces below. Called on the server's thread.
struct Answering {
  virtual ~Answering() = default;
  virtual void answer(std::uint64_t turn, Response response) = 0;
  virtual void begin_stream(std::uint64_t turn, int status, std::string content_type,
                            std::shared_ptr<Flow> flow) = 0;
  virtual void pump(std::uint64_t turn) = 0;
};

std::shared_ptr<Exchange> make_exchange(Request request, std::uint64_t turn,
                                        std::weak_ptr<Answering> session,
                                        std::shared_ptr<Gate> gate);

}  // namespace muster::http
