#include "launcher/join/tls_session.h"

#include <openssl/err.h>
#include <openssl/opensslv.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>

#include <array>
#include <cstdint>
#include <new>
#include <utility>

#include "base/error.h"

namespace dtl {
namespace {

constexpr std::string_view kIdentity = "dtlaunch join 1";  // in clear; what the key is for
constexpr std::array<unsigned char, 2> kAes128GcmSha256 = {0x13, 0x01};
constexpr std::size_t kReadBytes = 16 << 10;  // a record

template <auto free_function>
struct FreedBy {
  template <class T>
  void operator()(T* handle) const {
    free_function(handle);
  }
};
using Context = std::unique_ptr<SSL_CTX, FreedBy<SSL_CTX_free>>;
using Session = std::unique_ptr<SSL_SESSION, FreedBy<SSL_SESSION_free>>;
using Ssl = std::unique_ptr<SSL, FreedBy<SSL_free>>;
using Key = std::array<unsigned char, SHA256_DIGEST_LENGTH>;

[[noreturn]] void out_of_memory() {
  throw std::bad_alloc();
}

// The secret may be of any length and alphabet, and may serve other ends elsewhere.
Key derive_key(std::string_view secret) {
  std::string text(kIdentity);
  text += '\0';
  text += secret;
  Key key;
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), key.data());
  OPENSSL_cleanse(text.data(), text.size());
  return key;
}

// What TLS calls a session: the key, and the cipher whose hash it goes with.
Session session_of(SSL* ssl, const Key& key) {
  Session session(SSL_SESSION_new());
  const SSL_CIPHER* cipher = SSL_CIPHER_find(ssl, kAes128GcmSha256.data());
  if (!session || cipher == nullptr ||
      SSL_SESSION_set1_master_key(session.get(), key.data(), key.size()) != 1 ||
      SSL_SESSION_set_cipher(session.get(), cipher) != 1 ||
      SSL_SESSION_set_protocol_version(session.get(), TLS1_3_VERSION) != 1) {
    return nullptr;
  }
  return session;
}

const Key& key_of(const SSL* ssl) {
  return *static_cast<const Key*>(SSL_get_app_data(ssl));
}

// The caller's: which key it offers.
int offer_key(SSL* ssl, const EVP_MD*, const unsigned char** identity, std::size_t* length,
              SSL_SESSION** session) {
  *identity = reinterpret_cast<const unsigned char*>(kIdentity.data());
  *length = kIdentity.size();
  *session = session_of(ssl, key_of(ssl)).release();
  return *session != nullptr ? 1 : 0;
}

// The listener's: the key of that name, or none.
int find_key(SSL* ssl, const unsigned char* identity, std::size_t length, SSL_SESSION** session) {
  *session = nullptr;
  const std::string_view name(reinterpret_cast<const char*>(identity), length);
  if (name == kIdentity) *session = session_of(ssl, key_of(ssl)).release();
  return 1;
}

// Whatever the host's openssl.cnf says, both ends speak the same. Nothing is tidied up at the end,
// and a node, which has no other use for OpenSSL, is spared the lists of all its algorithms: each
// takes longer than the handshake.
void prepare_openssl(TlsSession::Side side) {
  std::uint64_t options = OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT;
  if (side == TlsSession::Side::kCalls) {
    options |= OPENSSL_INIT_NO_ADD_ALL_CIPHERS | OPENSSL_INIT_NO_ADD_ALL_DIGESTS;
  }
  OPENSSL_init_crypto(options, nullptr);
  OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
}

Context make_context(TlsSession::Side side) {
  prepare_openssl(side);
  Context context(SSL_CTX_new(TLS_method()));
  if (!context || SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_max_proto_version(context.get(), TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_ciphersuites(context.get(), "TLS_AES_128_GCM_SHA256") != 1 ||
      SSL_CTX_set_num_tickets(context.get(), 0) != 1) {
    out_of_memory();
  }
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  if (side == TlsSession::Side::kCalls) {
    // A listener without the key might show a certificate instead: none is trusted.
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_psk_use_session_callback(context.get(), offer_key);
  } else {
    SSL_CTX_set_psk_find_session_callback(context.get(), find_key);
  }
  return context;
}

// Made once: reading which algorithms there are costs more than a handshake.
SSL_CTX* context_of(TlsSession::Side side) {
  if (side == TlsSession::Side::kCalls) {
    static const Context calls = make_context(TlsSession::Side::kCalls);
    return calls.get();
  }
  static const Context listens = make_context(TlsSession::Side::kListens);
  return listens.get();
}

Error failure(const char* attempted) {
  const unsigned long code = ERR_get_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  ERR_clear_error();
  return Error(Exit::kAuth, attempted, reason != nullptr ? reason : "no TLS 1.3");
}

}  // namespace

struct TlsSession::State {
  Key key;
  Ssl ssl;
  BIO *input = nullptr, *output = nullptr;  // the ssl's
  bool proved = false;

  ~State() { OPENSSL_cleanse(key.data(), key.size()); }
};

void TlsSession::prepare(Side side) {
  context_of(side);
}

TlsSession::TlsSession(Side side, std::string_view secret) : state_(std::make_unique<State>()) {
  SSL_CTX* const context = context_of(side);  // before anything else is asked of OpenSSL
  state_->key = derive_key(secret);
  state_->ssl.reset(SSL_new(context));
  state_->input = BIO_new(BIO_s_mem());
  state_->output = BIO_new(BIO_s_mem());
  if (!state_->ssl || state_->input == nullptr || state_->output == nullptr) out_of_memory();
  SSL_set_bio(state_->ssl.get(), state_->input, state_->output);
  SSL_set_app_data(state_->ssl.get(), &state_->key);
  if (side == Side::kCalls) {
    SSL_set_connect_state(state_->ssl.get());
  } else {
    SSL_set_accept_state(state_->ssl.get());
  }
}

TlsSession::~TlsSession() = default;

void TlsSession::feed(std::string_view carried) {
  if (carried.empty()) return;
  std::size_t size = 0;
  if (BIO_write_ex(state_->input, carried.data(), carried.size(), &size) != 1) out_of_memory();
}

std::string TlsSession::take_output() {
  std::string bytes(BIO_ctrl_pending(state_->output), '\0');
  std::size_t size = 0;
  if (!bytes.empty()) BIO_read_ex(state_->output, bytes.data(), bytes.size(), &size);
  bytes.resize(size);
  return bytes;
}

bool TlsSession::shake_hands() {
  if (state_->proved) return true;
  ERR_clear_error();
  const int done = SSL_do_handshake(state_->ssl.get());
  if (done != 1) {
    if (SSL_get_error(state_->ssl.get(), done) == SSL_ERROR_WANT_READ) return false;
    throw failure("no proof of the job's token");
  }
  // Only the key makes a session that is resumed; anything else proves nothing.
  if (SSL_session_reused(state_->ssl.get()) != 1) {
    throw Error(Exit::kAuth, "no proof of the job's token", "TLS without it");
  }
  state_->proved = true;
  return true;
}

std::string TlsSession::read() {
  std::string plain(kReadBytes, '\0');
  std::size_t size = 0;
  ERR_clear_error();
  const int done = SSL_read_ex(state_->ssl.get(), plain.data(), plain.size(), &size);
  if (done != 1) {
    size = 0;
    const int problem = SSL_get_error(state_->ssl.get(), done);
    if (problem == SSL_ERROR_ZERO_RETURN) {
      other_has_ended_ = true;
    } else if (problem != SSL_ERROR_WANT_READ) {
      throw failure("cannot read");
    }
  }
  plain.resize(size);
  return plain;
}

void TlsSession::write(std::string_view plain) {
  if (plain.empty()) return;
  std::size_t size = 0;
  ERR_clear_error();
  if (SSL_write_ex(state_->ssl.get(), plain.data(), plain.size(), &size) != 1) {
    throw failure("cannot write");
  }
}

Library tls_library() {
  return {"libssl", OpenSSL_version(OPENSSL_VERSION_STRING), address_of(&::SSL_new)};
}

}  // namespace dtl
