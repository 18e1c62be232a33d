// One setup for all users, so that a protection needed by one also applies to the others.
#include "base/tls/psk_tls.h"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/opensslv.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <utility>

namespace dtl {

// A BIO that moves bytes through a carrier: OpenSSL's socket BIO would raise SIGPIPE.
struct PskTlsCalls {
  static TlsCarrier& carrier_of(BIO* bio) { return *static_cast<TlsCarrier*>(BIO_get_data(bio)); }

  static int write(BIO* bio, const char* data, int bytes) {
    BIO_clear_retry_flags(bio);
    const int count = carrier_of(bio).write(data, bytes);
    if (count == TlsCarrier::kLater) BIO_set_retry_write(bio);
    return std::max(count, -1);
  }

  static int read(BIO* bio, char* data, int bytes) {
    BIO_clear_retry_flags(bio);
    const int count = carrier_of(bio).read(data, bytes);
    if (count == 0) carrier_of(bio).has_ended = true;
    if (count == TlsCarrier::kLater) BIO_set_retry_read(bio);
    return std::max(count, -1);
  }

  // libssl requests a flush and the end of the stream; other requests do not apply.
  static long control(BIO* bio, int command, long, void*) {
    if (command == BIO_CTRL_EOF) return carrier_of(bio).has_ended ? 1 : 0;
    return command == BIO_CTRL_FLUSH ? 1 : 0;
  }

  static const PskTls& tls_of(const SSL* ssl) {
    return *static_cast<const PskTls*>(SSL_get_app_data(ssl));
  }

  // A TLS session here is the key and the cipher whose hash it uses.
  static int make_session(SSL* ssl, SSL_SESSION** session) {
    static constexpr std::array<unsigned char, 2> kSuite{0x13, 0x01};  // TLS_AES_128_GCM_SHA256
    const auto& key = tls_of(ssl).key_;
    const SSL_CIPHER* cipher = SSL_CIPHER_find(ssl, kSuite.data());
    *session = SSL_SESSION_new();
    if (*session != nullptr && cipher != nullptr &&
        SSL_SESSION_set1_master_key(*session, key.data(), key.size()) == 1 &&
        SSL_SESSION_set_cipher(*session, cipher) == 1 &&
        SSL_SESSION_set_protocol_version(*session, TLS1_3_VERSION) == 1) {
      return 1;
    }
    SSL_SESSION_free(*session);
    *session = nullptr;
    return 0;
  }

  static int offer_key(SSL* ssl, const EVP_MD*, const unsigned char** id, std::size_t* bytes,
                       SSL_SESSION** session) {
    const std::string_view identity = tls_of(ssl).identity_;
    *id = reinterpret_cast<const unsigned char*>(identity.data());
    *bytes = identity.size();
    return make_session(ssl, session);
  }

  // Answers 1 with no session for an unknown name. The handshake then fails, because this end has
  // no certificate either.
  static int find_key(SSL* ssl, const unsigned char* id, std::size_t bytes, SSL_SESSION** session) {
    *session = nullptr;
    const std::string_view name(reinterpret_cast<const char*>(id), bytes);
    return name == tls_of(ssl).identity_ ? make_session(ssl, session) : 1;
  }
};

namespace {

BIO_METHOD* make_carriage() {
  BIO_METHOD* method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "carrier");
  if (method == nullptr) return nullptr;
  BIO_meth_set_write(method, PskTlsCalls::write);
  BIO_meth_set_read(method, PskTlsCalls::read);
  BIO_meth_set_ctrl(method, PskTlsCalls::control);
  return method;
}

// Sets everything that an openssl.cnf of the host could change.
SSL_CTX* make_context() {
  SSL_CTX* context = SSL_CTX_new(TLS_method());
  if (context == nullptr || SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256") != 1 ||
      SSL_CTX_set1_groups_list(context, "X25519:P-256") != 1 ||
      SSL_CTX_set_num_tickets(context, 0) != 1) {
    SSL_CTX_free(context);
    return nullptr;
  }
  // Without an ephemeral exchange a key that leaks later would open recorded traffic.
  SSL_CTX_clear_options(context, SSL_OP_ALLOW_NO_DHE_KEX | SSL_OP_ENABLE_MIDDLEBOX_COMPAT);
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                                   SSL_OP_IGNORE_UNEXPECTED_EOF);
  // The cache would keep keys in memory longer than their connections, and nothing is resumed.
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  // Callers retry with the same bytes, but perhaps at another address.
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  return context;
}

// Listing the available algorithms costs more than a handshake, so the context is created once.
SSL_CTX* context() {
  static SSL_CTX* const made = make_context();
  return made;
}

}  // namespace

// Skips OpenSSL's cleanup at exit and, for a client without other use of OpenSSL, its lists of all
// algorithms: each takes longer than the handshake.
void PskTls::prepare_program(End end) {
  std::uint64_t options = OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT;
  if (end == End::kClient) {
    options |= OPENSSL_INIT_NO_ADD_ALL_CIPHERS | OPENSSL_INIT_NO_ADD_ALL_DIGESTS;
  }
  OPENSSL_init_crypto(options, nullptr);
  OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
  context();
}

PskTls::PskTls(End end, std::string_view identity, Key key, TlsCarrier& carrier,
               std::size_t read_ahead)
    : identity_(identity) {
  static const BIO_METHOD* const carriage = make_carriage();
  std::copy(key.begin(), key.end(), key_.begin());
  std::unique_ptr<SSL, Free> ssl(context() == nullptr ? nullptr : SSL_new(context()));
  BIO* bio = carriage == nullptr ? nullptr : BIO_new(carriage);
  if (ssl == nullptr || bio == nullptr) {
    BIO_free(bio);
    result_of(-1);
    return;
  }
  // SSL_set_bio() passes the BIO to ssl, which owns it from here on.
  BIO_set_data(bio, &carrier);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl.get(), bio, bio);
  SSL_set_app_data(ssl.get(), this);
  // Fewer reads of the carrier for small records.
  if (read_ahead > 0) {
    SSL_set_read_ahead(ssl.get(), 1);
    SSL_set_default_read_buffer_len(ssl.get(), read_ahead);
  } else {
    // One process may have thousands of connections; idle ones would keep 34 KiB each.
    SSL_set_mode(ssl.get(), SSL_MODE_RELEASE_BUFFERS);
  }
  if (end == End::kClient) {
    SSL_set_psk_use_session_callback(ssl.get(), PskTlsCalls::offer_key);
    // No certificate is trusted, so none lets anybody in. A server has none and requests none.
    SSL_set_verify(ssl.get(), SSL_VERIFY_PEER, nullptr);
    SSL_set_connect_state(ssl.get());
  } else {
    SSL_set_psk_find_session_callback(ssl.get(), PskTlsCalls::find_key);
    SSL_set_accept_state(ssl.get());
  }
  ssl_ = std::move(ssl);
}

PskTls::~PskTls() {
  OPENSSL_cleanse(key_.data(), key_.size());
}

void PskTls::Free::operator()(SSL* ssl) const {
  SSL_free(ssl);
}

PskTls::Result PskTls::result_of(int answer) {
  if (answer == 1) return Result::kDone;
  const int kind = ssl_ ? SSL_get_error(ssl_.get(), answer) : SSL_ERROR_SSL;
  // The carrier has to move bytes first.
  if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE) return Result::kAgain;
  const auto code = ERR_peek_last_error();
  const char* reason = ERR_reason_error_string(code);
  reason_ = reason == nullptr ? "libssl gives no reason" : reason;
  // libssl numbers the other end's alerts from there on.
  is_alert_ = ERR_GET_REASON(code) >= SSL_AD_REASON_OFFSET;
  ERR_clear_error();
  return kind == SSL_ERROR_ZERO_RETURN ? Result::kClosed : Result::kFailed;
}

PskTls::Result PskTls::shake_hands() {
  ERR_clear_error();
  const Result result = result_of(SSL_do_handshake(ssl_.get()));
  if (result != Result::kDone) return result;
  OPENSSL_cleanse(key_.data(), key_.size());
  // Only the key gives a resumed session; nothing else counts as proof.
  if (SSL_session_reused(ssl_.get()) == 1) return Result::kDone;
  reason_ = "the key was not used";
  return Result::kFailed;
}

PskTls::Result PskTls::read(std::span<std::byte> room, std::size_t& taken) {
  ERR_clear_error();
  return result_of(SSL_read_ex(ssl_.get(), room.data(), room.size(), &taken));
}

PskTls::Result PskTls::write(std::span<const std::byte> plain, std::size_t& taken) {
  ERR_clear_error();
  return result_of(SSL_write_ex(ssl_.get(), plain.data(), plain.size(), &taken));
}

bool PskTls::has_pending() const {
  return SSL_has_pending(ssl_.get()) == 1;
}

void PskTls::renew_key() {
  ERR_clear_error();
  SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED);
}

Library tls_library() {
  return {"libssl", OpenSSL_version(OPENSSL_VERSION_STRING), address_of(&::SSL_new)};
}

}  // namespace dtl
