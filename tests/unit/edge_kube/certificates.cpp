#include "unit/edge_kube/certificates.hpp"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>

namespace muster::kube {
namespace {

struct Frees {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* cert) const { X509_free(cert); }
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using Key = std::unique_ptr<EVP_PKEY, Frees>;
using Cert = std::unique_ptr<X509, Frees>;
using Bio = std::unique_ptr<BIO, Frees>;

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const auto size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

KeyPair pems(X509* cert, EVP_PKEY* key) {
  const Bio certs(BIO_new(BIO_s_mem()));
  const Bio keys(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(certs.get(), cert);
  PEM_write_bio_PrivateKey(keys.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  return {.cert_pem = text_of(certs.get()), .key_pem = text_of(keys.get())};
}

void extend(X509* cert, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, cert, nullptr, nullptr, 0);
  auto* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  X509_add_ext(cert, extension, -1);
  X509_EXTENSION_free(extension);
}

Cert begin(const std::string& name, EVP_PKEY* key, long from, long to) {
  static long serial = 1;
  Cert cert(X509_new());
  X509_set_version(cert.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(cert.get()), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(cert.get()), from);
  X509_gmtime_adj(X509_getm_notAfter(cert.get()), to);
  X509_set_pubkey(cert.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(cert.get()), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  return cert;
}

}  // namespace

Authority::Authority(const std::string& name) {
  const Key key(EVP_EC_gen("P-256"));
  const auto cert = begin(name, key.get(), -7200, 7200);
  X509_set_issuer_name(cert.get(), X509_get_subject_name(cert.get()));
  extend(cert.get(), cert.get(), NID_basic_constraints, "critical,CA:TRUE");
  X509_sign(cert.get(), key.get(), EVP_sha256());
  own_ = pems(cert.get(), key.get());
}

KeyPair Authority::issue(const Leaf& leaf) const {
  const Bio own_cert(BIO_new_mem_buf(own_.cert_pem.data(), static_cast<int>(own_.cert_pem.size())));
  const Bio own_key(BIO_new_mem_buf(own_.key_pem.data(), static_cast<int>(own_.key_pem.size())));
  const Cert issuer(PEM_read_bio_X509(own_cert.get(), nullptr, nullptr, nullptr));
  const Key issuer_key(PEM_read_bio_PrivateKey(own_key.get(), nullptr, nullptr, nullptr));
  const Key key(EVP_EC_gen("P-256"));
  const auto cert = begin("leaf", key.get(), leaf.valid_from, leaf.valid_to);
  X509_set_issuer_name(cert.get(), X509_get_subject_name(issuer.get()));
  extend(cert.get(), issuer.get(), NID_subject_alt_name, leaf.alt_names);
  extend(cert.get(), issuer.get(), NID_ext_key_usage, leaf.is_client ? "clientAuth" : "serverAuth");
  X509_sign(cert.get(), issuer_key.get(), EVP_sha256());
  return pems(cert.get(), key.get());
}

}  // namespace muster::kube
