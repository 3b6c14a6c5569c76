/// Requests to a Kubernetes API server: one object at a time, as JSON text. Errors are typed
/// (ApiError), refusals that mean "later" are repeated (Retry-After, jittered pauses, at most
/// `retries`), and a proof that was refused is renewed once. Blocking; one thread at a time, broken
/// off by its Stop. The connection is kept between requests.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "edge/http/client.hpp"
#include "edge/kube/cluster.hpp"
#include "edge/kube/resource.hpp"
#include "edge/kube/status.hpp"

namespace muster::kube {

/// Whether a request may be sent again when nobody knows if the first one was heard.
enum class Repeat { safe, unsafe };

struct Call {
  std::string method = "GET";
  std::string path;  // encoded, without the query
  http::Query query;
  std::string content_type = "application/json";
  std::string body;
  std::string accept = "application/json";
  Repeat repeat = Repeat::safe;
  std::optional<int> retries = {};  // the cluster's own number when absent
};

struct Answer {
  int status = 0;
  http::Headers headers;
  std::string body;
};

/// Whether the server only pretends: it validates and fills in defaults, but stores nothing.
enum class Run { real, dry };

struct WriteOptions {
  Run run = Run::real;
  std::string manager = "muster";                 // who owns the fields
  std::string content_type = "application/json";  // or "application/yaml"
};

enum class Propagation { background, foreground, orphan };

struct RemoveOptions {
  Run run = Run::real;
  Propagation propagation = Propagation::background;
  std::string uid;                   // only this very object; another of its name is a conflict
  std::optional<int> grace_seconds;  // the object's own when absent
};

enum class PatchKind { merge, strategic, json };

class Api {
 public:
  explicit Api(std::shared_ptr<Cluster> cluster, http::Stop stop = {});

  /// The object's JSON.
  ApiResult<std::string> get(const ObjectRef& object);

  struct Created {
    bool is_new = true;
    std::string object;  // its JSON; empty when it was there already
  };
  /// Unknown and doubled fields are refused. Names are the caller's own and deterministic, so an
  /// object of that name that is there already is no error: it is told by `is_new`. Repeated after
  /// a lost connection for the same reason.
  ApiResult<Created> create(const Collection& where, std::string object, const WriteOptions& = {});
  /// Server-side apply, taking over the fields: makes the object or brings it to what is given.
  ApiResult<std::string> apply(const ObjectRef& object, std::string wanted,
                               const WriteOptions& = {});
  /// `json` patches are sent once; the others may be repeated.
  ApiResult<std::string> patch(const ObjectRef& object, PatchKind kind, std::string patch,
                               const WriteOptions& = {});
  /// False when there was no such object (any more).
  ApiResult<bool> remove(const ObjectRef& object, const RemoveOptions& = {});

  /// Any other request; a 2xx answer, read whole.
  ApiResult<Answer> call(const Call& call);
  /// A 2xx answer's body goes to `on_chunk` as it comes. `silence` bounds how long nothing may
  /// come. An answer that broke off is `unavailable` and is not asked for again: the caller knows
  /// what it has had. False from `on_chunk` ends it without an error.
  ApiResult<> stream(const Call& call, Duration silence, const http::OnChunk& on_chunk);

  Cluster& cluster() { return *cluster_; }
  std::shared_ptr<Cluster> shared_cluster() const { return cluster_; }
  const http::Stop& stop() const { return stop_; }

 private:
  struct Streaming {
    const http::OnChunk& on_chunk;
    Duration silence;
  };
  ApiResult<Answer> send(const Call& call, const Streaming* streaming);
  ApiResult<Answer> attempt(const Call& call, const Streaming* streaming, std::uint64_t& proof);
  Result<> ensure_connection(std::uint64_t certificate);

  std::shared_ptr<Cluster> cluster_;
  http::Stop stop_;
  std::optional<http::Connection> connection_;
  std::uint64_t certificate_ = 0;  // which one the connection was made with
};

}  // namespace muster::kube
