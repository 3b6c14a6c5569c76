#include "edge/kube/certificate_text.hpp"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <array>
#include <vector>

#include "base/text.hpp"

namespace muster::kube {
namespace {

constexpr std::size_t kToldNames = 8;

std::string text_of(const X509_NAME* name) {
  std::array<char, 256> text{};
  X509_NAME_oneline(name, text.data(), text.size());
  return printable(text.data());
}

std::string text_of(const ASN1_TIME* time) {
  auto* bio = BIO_new(BIO_s_mem());
  ASN1_TIME_print(bio, time);
  char* data = nullptr;
  const auto size = BIO_get_mem_data(bio, &data);
  std::string text(data, static_cast<std::size_t>(size));
  BIO_free(bio);
  return text;
}

std::string text_of(const GENERAL_NAME* name) {
  int type = 0;
  const auto* value = static_cast<ASN1_STRING*>(GENERAL_NAME_get0_value(name, &type));
  if (type != GEN_DNS && type != GEN_IPADD) return {};
  const auto* data = ASN1_STRING_get0_data(value);
  const auto size = static_cast<std::size_t>(ASN1_STRING_length(value));
  if (type == GEN_DNS) return printable({reinterpret_cast<const char*>(data), size});
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (size != 4 && size != 16) return {};
  ::inet_ntop(size == 4 ? AF_INET : AF_INET6, data, text.data(), text.size());
  return text.data();
}

/// The names a certificate is for.
std::string names_of(X509* certificate) {
  std::vector<std::string> names;
  auto* all = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(all) && names.size() < kToldNames; ++i)
    if (auto name = text_of(sk_GENERAL_NAME_value(all, i)); !name.empty())
      names.push_back(std::move(name));
  GENERAL_NAMES_free(all);
  return names.empty() ? text_of(X509_get_subject_name(certificate)) : join(names, ", ");
}

}  // namespace

std::string objection_text(int error, x509_st* certificate) {
  const std::string reason = X509_verify_cert_error_string(error);
  if (certificate == nullptr) return reason;
  switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return fmt::format("it expired on {}", text_of(X509_get0_notAfter(certificate)));
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return fmt::format("it is not valid before {} (is this machine's clock right?)",
                         text_of(X509_get0_notBefore(certificate)));
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return fmt::format("it is for other names: {}", names_of(certificate));
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return fmt::format("its authority is not the cluster's: it was issued by {}",
                         text_of(X509_get_issuer_name(certificate)));
    default: return reason;
  }
}

}  // namespace muster::kube
