/// Encryption over a channel, with a certificate that is looked at: a wrong authority, a wrong name
/// or a wrong date is `denied`, with the reason in plain words. Internal to this folder.
#pragma once
#include <memory>
#include <string>

#include "base/error.hpp"
#include "edge/http/channel.hpp"

namespace muster::kube {

struct TlsSettings {
  std::string ca_pem;   // whom to trust; empty: the machine's own authorities
  std::string ca_from;  // where that came from, for messages
  std::string cert_pem, key_pem;
  bool is_insecure = false;
};

/// Keys and authorities, read once and shared by connections. Any thread.
class TlsContext {
 public:
  static Result<std::shared_ptr<const TlsContext>> make(const TlsSettings& settings);
  ~TlsContext();

  /// Shakes hands as a client of `host`, over `lower`.
  Result<std::unique_ptr<http::Channel>> connect(std::unique_ptr<http::Channel> lower,
                                                 const std::string& host,
                                                 const http::Waiting& waiting) const;

 private:
  struct Parts;
  explicit TlsContext(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace muster::kube
