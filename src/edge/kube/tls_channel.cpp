#include "edge/kube/tls_channel.hpp"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>

#include <array>

#include "base/text.hpp"
#include "edge/kube/certificate_text.hpp"

namespace muster::kube {
namespace {

using http::Channel;

struct FreeSsl {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};

/// OpenSSL between two buffers in memory; the channel below carries what is in them.
class TlsChannel final : public Channel {
 public:
  TlsChannel(ssl_ctx_st* context, std::unique_ptr<Channel> lower)
      : lower_(std::move(lower)), ssl_(SSL_new(context)) {
    SSL_set_bio(ssl_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_connect_state(ssl_.get());
  }

  ~TlsChannel() override {
    // A farewell, as far as it goes without waiting.
    if (SSL_is_init_finished(ssl_.get()) != 1) return;
    SSL_shutdown(ssl_.get());
    (void)flush_some();
    ERR_clear_error();
  }

  SSL* ssl() { return ssl_.get(); }

  /// True when done.
  Result<bool> shake(Next& next) {
    for (;;) {
      ERR_clear_error();
      const int done = SSL_do_handshake(ssl_.get());
      TRY(const bool is_flushed, flush_some());
      if (done == 1) return true;
      if (SSL_get_error(ssl_.get(), done) != SSL_ERROR_WANT_READ) return broken("shake hands");
      TRY(const bool has_more, pull(next));
      if (has_more) continue;
      if (!is_flushed) next = Next::output;
      return false;
    }
  }

  Result<Moved> read_some(std::span<char> into) override {
    for (;;) {
      ERR_clear_error();
      const int count = SSL_read(ssl_.get(), into.data(), static_cast<int>(into.size()));
      if (count > 0) return Moved{.bytes = static_cast<std::size_t>(count)};
      const int why = SSL_get_error(ssl_.get(), count);
      if (why == SSL_ERROR_ZERO_RETURN) return Moved{.next = Next::closed};
      if (why != SSL_ERROR_WANT_READ) return broken("read the answer");
      TRY_VOID(flush_some());
      Next next = Next::input;
      TRY(const bool has_more, pull(next));
      if (!has_more) return Moved{.next = next};
    }
  }

  Result<Moved> write_some(std::string_view bytes) override {
    constexpr std::size_t kRecord = 16 * 1024;
    TRY(const bool is_flushed, flush_some());
    if (!is_flushed) return Moved{.next = Next::output};
    ERR_clear_error();
    const int count =
        SSL_write(ssl_.get(), bytes.data(), static_cast<int>(std::min(bytes.size(), kRecord)));
    if (count > 0) {
      TRY_VOID(flush_some());
      return Moved{.bytes = static_cast<std::size_t>(count)};
    }
    if (SSL_get_error(ssl_.get(), count) != SSL_ERROR_WANT_READ) return broken("send the request");
    Next next = Next::input;
    TRY_VOID(pull(next));
    return Moved{.next = next};
  }

  Result<bool> flush_some() override {
    auto* out = SSL_get_wbio(ssl_.get());
    for (;;) {
      if (unsent_.empty()) {
        std::array<char, 16 * 1024> piece;
        const int count = BIO_read(out, piece.data(), piece.size());
        if (count <= 0) return lower_->flush_some();
        unsent_.assign(piece.data(), static_cast<std::size_t>(count));
      }
      TRY(const auto moved, lower_->write_some(unsent_));
      if (moved.bytes == 0) return false;
      unsent_.erase(0, moved.bytes);
    }
  }

  bool is_quiet() const override {
    return SSL_has_pending(ssl_.get()) == 0 && BIO_pending(SSL_get_rbio(ssl_.get())) == 0 &&
           is_quiet_below();
  }

  int fd() const override { return lower_->fd(); }

 private:
  /// Between answers a server may send tickets, which are no answer and no end.
  bool is_quiet_below() const {
    if (lower_->is_quiet()) return true;
    auto* self = const_cast<TlsChannel*>(this);
    Next next = Next::input;
    const auto pulled = self->pull(next);
    if (!pulled || next == Next::closed) return false;
    std::array<char, 1> one;
    ERR_clear_error();
    const int count = SSL_peek(ssl_.get(), one.data(), one.size());
    return count <= 0 && SSL_get_error(ssl_.get(), count) == SSL_ERROR_WANT_READ &&
           lower_->is_quiet();
  }

  /// Takes what has come from below; false when nothing had.
  Result<bool> pull(Next& next) {
    std::array<char, 32 * 1024> piece;
    TRY(const auto moved, lower_->read_some(piece));
    next = moved.next;
    if (moved.bytes == 0) return false;
    BIO_write(SSL_get_rbio(ssl_.get()), piece.data(), static_cast<int>(moved.bytes));
    return true;
  }

  tl::unexpected<Error> broken(std::string_view doing) const {
    const auto code = ERR_get_error();
    auto failed = fail(Kind::unavailable, fmt::format("cannot {}: the encryption broke", doing));
    const char* reason = ERR_reason_error_string(code);
    if (reason != nullptr) failed.value().why = reason;
    // The other side speaks, but not this language.
    if (ERR_GET_REASON(code) == SSL_R_WRONG_VERSION_NUMBER) {
      failed.value().why = "the server does not speak TLS on this port";
      failed.value().fix = {"if it is meant to be plain, write the server as http://"};
    }
    return failed;
  }

  std::unique_ptr<Channel> lower_;
  std::unique_ptr<SSL, FreeSsl> ssl_;
  std::string unsent_;
};

bool is_address(const std::string& host) {
  std::array<unsigned char, 16> bytes{};
  return ::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

/// The first objection to the certificate, in words.
int note_objection(int is_fine, X509_STORE_CTX* store) {
  auto* ssl =
      static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
  auto* objection = static_cast<std::string*>(SSL_get_app_data(ssl));
  if (is_fine != 1 && objection->empty())
    *objection =
        objection_text(X509_STORE_CTX_get_error(store), X509_STORE_CTX_get_current_cert(store));
  return is_fine;
}

void demand(SSL* ssl, const std::string& host, Checking checking) {
  const bool is_number = is_address(host);
  if (!is_number) SSL_set_tlsext_host_name(ssl, host.c_str());
  if (checking == Checking::none) {
    SSL_set_verify(ssl, SSL_VERIFY_NONE, nullptr);
    return;
  }
  auto* parameters = SSL_get0_param(ssl);
  X509_VERIFY_PARAM_set_hostflags(parameters, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  if (is_number)
    X509_VERIFY_PARAM_set1_ip_asc(parameters, host.c_str());
  else
    X509_VERIFY_PARAM_set1_host(parameters, host.c_str(), host.size());
  SSL_set_verify(ssl, SSL_VERIFY_PEER, note_objection);
}

Error distrusted(const std::string& host, std::string objection) {
  return {.kind = Kind::denied,
          .what = fmt::format("the certificate of {} is not to be trusted", host),
          .where = {},
          .why = std::move(objection),
          .fix = {"fetch the cluster's kubeconfig again, or ask whoever runs the cluster"}};
}

}  // namespace

Result<std::unique_ptr<Channel>> shake_hands(ssl_ctx_st* context, std::unique_ptr<Channel> lower,
                                             const std::string& host, Checking checking,
                                             const http::Waiting& waiting) {
  auto channel = std::make_unique<TlsChannel>(context, std::move(lower));
  std::string objection;
  SSL_set_app_data(channel->ssl(), &objection);
  demand(channel->ssl(), host, checking);
  const auto deadline = http::after(waiting.silence);
  for (;;) {
    auto next = Channel::Next::input;
    auto done = channel->shake(next);
    if (!done && !objection.empty()) return tl::unexpected(distrusted(host, objection));
    if (!done) return tl::unexpected(done.error());
    if (*done) break;
    if (next == Channel::Next::closed)
      return fail(Kind::unavailable, "the server closed the connection while shaking hands");
    TRY(const bool is_ready,
        http::wait_for(channel->fd(), next == Channel::Next::input ? POLLIN : POLLOUT, waiting.stop,
                       deadline));
    if (!is_ready)
      return fail(Kind::unavailable,
                  fmt::format("the server did not shake hands for {}", to_text(waiting.silence)));
  }
  SSL_set_app_data(channel->ssl(), nullptr);
  SSL_set_verify(channel->ssl(), SSL_VERIFY_NONE, nullptr);
  return channel;
}

}  // namespace muster::kube
