#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "edge/fs/files.hpp"
#include "edge/kube/tls.hpp"
#include "edge/kube/tls_channel.hpp"

namespace muster::kube {
namespace {

template <auto release>
struct Releases {
  template <class T>
  void operator()(T* thing) const {
    release(thing);
  }
};
using ContextPtr = std::unique_ptr<SSL_CTX, Releases<SSL_CTX_free>>;
using BioPtr = std::unique_ptr<BIO, Releases<BIO_free>>;
using CertPtr = std::unique_ptr<X509, Releases<X509_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Releases<EVP_PKEY_free>>;

/// Where distributions keep the authorities a machine trusts: our OpenSSL is linked in and only
/// knows Debian's place.
constexpr const char* kAuthorities[] = {
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
};

BioPtr reading(const std::string& text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

/// An encrypted key must not make OpenSSL ask a terminal for its password.
int no_password(char*, int, int, void*) { return 0; }

std::vector<CertPtr> certificates(const std::string& pem) {
  std::vector<CertPtr> all;
  const auto bio = reading(pem);
  while (auto* one = PEM_read_bio_X509(bio.get(), nullptr, no_password, nullptr))
    all.emplace_back(one);
  ERR_clear_error();  // the end of the text is told as an error
  return all;
}

Result<> trust(SSL_CTX* context, const TlsSettings& settings) {
  if (settings.ca_pem.empty()) {
    for (const auto* file : kAuthorities)
      if (fs::exists(file) && SSL_CTX_load_verify_locations(context, file, nullptr) == 1) return {};
    SSL_CTX_set_default_verify_paths(context);
    return {};
  }
  const auto all = certificates(settings.ca_pem);
  if (all.empty())
    return fail(Kind::usage, fmt::format("{} holds no certificate", settings.ca_from),
                "fetch the cluster's kubeconfig again");
  for (const auto& one : all) X509_STORE_add_cert(SSL_CTX_get_cert_store(context), one.get());
  ERR_clear_error();  // a certificate twice is no harm
  return {};
}

Result<> show(SSL_CTX* context, const TlsSettings& settings) {
  if (settings.cert_pem.empty() && settings.key_pem.empty()) return {};
  auto chain = certificates(settings.cert_pem);
  const auto bio = reading(settings.key_pem);
  const KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr));
  if (chain.empty() || !key || SSL_CTX_use_certificate(context, chain.front().get()) != 1 ||
      SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
    ERR_clear_error();
    return fail(Kind::usage,
                chain.empty() ? "the client certificate cannot be read"
                : !key        ? "the client key cannot be read, or has a password"
                              : "the client key does not belong to the client certificate",
                "fetch the cluster's kubeconfig again");
  }
  for (std::size_t i = 1; i < chain.size(); ++i) SSL_CTX_add1_chain_cert(context, chain[i].get());
  return {};
}

}  // namespace

struct TlsContext::Parts {
  ContextPtr context;
  bool is_insecure = false;
};

TlsContext::TlsContext(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
TlsContext::~TlsContext() = default;

Result<std::shared_ptr<const TlsContext>> TlsContext::make(const TlsSettings& settings) {
  // The machine's openssl.cnf may name modules, which a static program cannot load.
  OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, nullptr);
  auto parts = std::make_unique<Parts>();
  parts->context.reset(SSL_CTX_new(TLS_client_method()));
  parts->is_insecure = settings.is_insecure;
  auto* context = parts->context.get();
  if (context == nullptr) return fail(Kind::internal, "OpenSSL does not start");
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  if (!settings.is_insecure) TRY_VOID(trust(context, settings));
  TRY_VOID(show(context, settings));
  return std::shared_ptr<const TlsContext>(new TlsContext(std::move(parts)));
}

Result<std::unique_ptr<http::Channel>> TlsContext::connect(std::unique_ptr<http::Channel> lower,
                                                           const std::string& host,
                                                           const http::Waiting& waiting) const {
  return shake_hands(parts_->context.get(), std::move(lower), host,
                     parts_->is_insecure ? Checking::none : Checking::full, waiting);
}

}  // namespace muster::kube
