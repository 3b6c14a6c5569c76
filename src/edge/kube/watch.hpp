/// A collection followed for as long as it is wanted: first everything that is there, then every
/// change, across lost connections, server restarts and expired states. The sink sees
///
///     begin  change(added)...  synced  change...  [begin  change(added)...  synced  change...]...
///
/// and after each `synced` an object that was known before its `begin` and not named since is gone.
/// Nothing is kept here but the version to go on from.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "edge/kube/api.hpp"
#include "edge/kube/cancel.hpp"
#include "edge/kube/json_fwd.hpp"
#include "edge/kube/list.hpp"

namespace muster::kube {

enum class Change : std::uint8_t { added, modified, deleted };

/// Called on the watch's thread. Any of them may be absent.
struct WatchSink {
  std::function<void()> begin;
  /// The object lives for the length of the call; keep what you need, not the JSON. The same state
  /// of an object may come more than once.
  std::function<void(Change change, const boost::json::object& object)> change;
  std::function<void()> synced;
  /// Something came, be it only a sign of life; the watch is whole.
  std::function<void()> heard;
  /// Before a `begin`: the server's versions have gone back (a restored backup), so a lower one is
  /// not an older one.
  std::function<void()> set_back;
  /// The watch is interrupted and goes on by itself after a pause; for telling people.
  std::function<void(const ApiError& error)> trouble;
};

struct WatchOptions {
  Selection selection;
  Duration lease = std::chrono::seconds(300);  // the server ends a watch after 1 to 2 of these
  /// Each watch begins so far back in what the last ones have told: what one of them left out comes
  /// again, as does all the rest. Zero: it goes on from where the last one ended.
  Duration overlap{};
  Duration slack = std::chrono::seconds(30);  // silence beyond that is a dead connection
  Duration first_pause = std::chrono::milliseconds(200);  // after trouble; doubles
  Duration longest_pause = std::chrono::seconds(30);
  int page = kPage;               // of the list, where the server cannot stream it
  bool is_streaming_list = true;  // ask for it; a server that refuses is asked for a list instead
};

/// Follows until the Api's Stop is set; that is the only way it returns.
void follow(Api& api, const Collection& where, const WatchOptions& options, const WatchSink& sink);

/// The same on a thread of its own, which ends with the object.
class Watch {
 public:
  Watch(std::shared_ptr<Cluster> cluster, Collection where, WatchOptions options, WatchSink sink);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  Cancel cancel_;
  std::thread thread_;
};

}  // namespace muster::kube
