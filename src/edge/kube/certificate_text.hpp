/// What is wrong with a certificate, in words a person can act on. Internal to this folder.
#pragma once
#include <string>

struct x509_st;

namespace muster::kube {

/// `error` is one of OpenSSL's X509_V_ERR_...; the certificate may be null.
std::string objection_text(int error, x509_st* certificate);

}  // namespace muster::kube
