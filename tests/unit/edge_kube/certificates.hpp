/// Certificates for tests, made on the spot.
#pragma once
#include <string>

namespace muster::kube {

struct KeyPair {
  std::string cert_pem;
  std::string key_pem;
};

struct Leaf {
  std::string alt_names = "DNS:localhost,IP:127.0.0.1";  // OpenSSL's notation
  long valid_from = -3600;                               // seconds from now
  long valid_to = 3600;
  bool is_client = false;
};

class Authority {
 public:
  explicit Authority(const std::string& name = "test authority");
  const std::string& pem() const { return own_.cert_pem; }
  KeyPair issue(const Leaf& leaf = {}) const;

 private:
  KeyPair own_;
};

}  // namespace muster::kube
