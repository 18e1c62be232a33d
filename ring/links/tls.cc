#include "ring/links/tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "ring/common/comm_error.h"

namespace dtl::ring {
namespace {

static_assert(kAltered == EBADMSG && kRejected == EREMOTEIO);

constexpr std::size_t kRecord = 16384;            // the most that one carries
constexpr std::size_t kReadBuffer = 64 << 10;     // four records with one call
constexpr std::string_view kIdentity = "dtring";  // of a key that no other connection has

struct Socket {
  int fd = -1;
  bool is_drained = false;  // the last read took less than there was room for
  bool has_ended = false;
  int read_error = 0, write_error = 0;
};

Socket& socket_of(BIO* bio) {
  return *static_cast<Socket*>(BIO_get_data(bio));
}

int write_socket(BIO* bio, const char* data, int bytes) {
  BIO_clear_retry_flags(bio);
  Socket& socket = socket_of(bio);
  const ssize_t n =
      ::send(socket.fd, data, static_cast<std::size_t>(bytes), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (n >= 0) return static_cast<int>(n);
  if (errno == EAGAIN || errno == ENOBUFS || errno == EINTR) {
    BIO_set_retry_write(bio);
  } else {
    socket.write_error = errno;
  }
  return -1;
}

int read_socket(BIO* bio, char* data, int bytes) {
  BIO_clear_retry_flags(bio);
  Socket& socket = socket_of(bio);
  ssize_t n = -1;
  do {
    n = ::recv(socket.fd, data, static_cast<std::size_t>(bytes), MSG_DONTWAIT);
  } while (n < 0 && errno == EINTR);
  socket.is_drained = n < bytes;
  if (n > 0) return static_cast<int>(n);
  if (n == 0) {
    socket.has_ended = true;
  } else if (errno == EAGAIN) {
    BIO_set_retry_read(bio);
  } else {
    socket.read_error = errno;
  }
  return static_cast<int>(n);
}

long control_socket(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_EOF) return socket_of(bio).has_ended ? 1 : 0;
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

CommError refusal(const char* attempt) {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  CommError error(DT_E_SYS, attempt, reason == nullptr ? "libssl refuses" : reason);
  ERR_clear_error();
  return error;
}

// OpenSSL's own would raise SIGPIPE.
const BIO_METHOD* socket_method() {
  static const BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    if (made == nullptr) throw refusal("cannot set TLS up");
    BIO_meth_set_write(made, write_socket);
    BIO_meth_set_read(made, read_socket);
    BIO_meth_set_ctrl(made, control_socket);
    return made;
  }();
  return method;
}

// Says all that an openssl.cnf of the host could say otherwise.
SSL_CTX* make_context() {
  SSL_CTX* context = SSL_CTX_new(TLS_method());
  if (context == nullptr || SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256") != 1 ||
      SSL_CTX_set1_groups_list(context, "X25519:P-256") != 1 ||
      SSL_CTX_set_num_tickets(context, 0) != 1) {
    throw refusal("cannot set TLS up");
  }
  SSL_CTX_clear_options(context, SSL_OP_ALLOW_NO_DHE_KEX | SSL_OP_ENABLE_MIDDLEBOX_COMPAT);
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                                   SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_default_read_buffer_len(context, kReadBuffer);
  return context;
}

SSL_CTX* context() {
  static SSL_CTX* const made = make_context();  // for as long as the process lives
  return made;
}

}  // namespace

struct Tls::Connection {
  ~Connection() { SSL_free(ssl); }

  SSL* ssl = nullptr;
  Socket socket;
  Key key;
  std::uint64_t records_of_one_key = 0, sent_with_key = 0;
  int verdict = 0;          // kAltered or kRejected, once it is known, which ends it for good
  bool is_pending = false;  // a record is begun that the socket did not take whole
  std::array<std::byte, kRecord> front;
};

namespace {

template <class Connection>
SSL_SESSION* session_of(SSL* ssl) {
  static constexpr std::array<unsigned char, 2> kSuite{0x13, 0x01};  // TLS_AES_128_GCM_SHA256
  const Bytes key = static_cast<const Connection*>(SSL_get_app_data(ssl))->key.bytes();
  const SSL_CIPHER* cipher = SSL_CIPHER_find(ssl, kSuite.data());
  SSL_SESSION* session = SSL_SESSION_new();
  if (session != nullptr && cipher != nullptr &&
      SSL_SESSION_set1_master_key(session, key.data(), key.size()) == 1 &&
      SSL_SESSION_set_cipher(session, cipher) == 1 &&
      SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1) {
    return session;
  }
  SSL_SESSION_free(session);
  return nullptr;
}

template <class Connection>
int show_key(SSL* ssl, const EVP_MD*, const unsigned char** id, std::size_t* bytes,
             SSL_SESSION** session) {
  *id = reinterpret_cast<const unsigned char*>(kIdentity.data());
  *bytes = kIdentity.size();
  *session = session_of<Connection>(ssl);
  return *session == nullptr ? 0 : 1;
}

template <class Connection>
int find_key(SSL* ssl, const unsigned char* id, std::size_t bytes, SSL_SESSION** session) {
  *session = nullptr;
  if (std::string_view(reinterpret_cast<const char*>(id), bytes) != kIdentity) return 1;
  *session = session_of<Connection>(ssl);
  return *session == nullptr ? 0 : 1;
}

}  // namespace

Tls::Tls(int fd, End end, const Key& key, std::uint64_t records_of_one_key)
    : connection_(std::make_unique<Connection>()) {
  connection_->socket.fd = fd;
  connection_->key = key;
  connection_->records_of_one_key = records_of_one_key;
  SSL* ssl = connection_->ssl = SSL_new(context());
  BIO* bio = BIO_new(socket_method());
  if (ssl == nullptr || bio == nullptr) {
    BIO_free(bio);
    throw refusal("cannot set TLS up");
  }
  BIO_set_data(bio, &connection_->socket);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl, bio, bio);
  SSL_set_app_data(ssl, connection_.get());
  if (end == End::kClient) {
    SSL_set_psk_use_session_callback(ssl, show_key<Connection>);
    // Nor does a certificate let anybody in: none is trusted. A server has none and asks for none.
    SSL_set_verify(ssl, SSL_VERIFY_PEER, nullptr);
    SSL_set_connect_state(ssl);
  } else {
    SSL_set_psk_find_session_callback(ssl, find_key<Connection>);
    SSL_set_accept_state(ssl);
  }
}

Tls::~Tls() = default;

// The errno of what went wrong; 0: the connection was closed. What came before the socket failed is
// read first, so an alert is not missed.
int Tls::fail(int result, bool is_write) {
  const int kind = SSL_get_error(connection_->ssl, result);
  if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE) return EAGAIN;
  const auto code = ERR_peek_last_error();
  const char* reason = ERR_reason_error_string(code);
  const bool is_alert = ERR_GET_REASON(code) >= SSL_AD_REASON_OFFSET;  // the other end's word
  ERR_clear_error();
  const Socket& socket = connection_->socket;
  const int error = is_write ? socket.write_error : socket.read_error;
  if (error != 0 || kind == SSL_ERROR_ZERO_RETURN || (socket.has_ended && !is_write)) {
    failure_ = error != 0 ? errno_text(error) : "it closed the connection";
    return error;
  }
  failure_ = reason == nullptr ? "libssl gives no reason" : reason;
  int& verdict = connection_->verdict;
  if (verdict == 0) verdict = is_alert ? kRejected : kAltered;
  return verdict;
}

int Tls::shake_hands() {
  ERR_clear_error();
  const int result = SSL_do_handshake(connection_->ssl);
  if (result != 1) {
    const int error = fail(result, false);
    return error == 0 ? ECONNRESET : error;
  }
  connection_->key = Key();
  if (SSL_session_reused(connection_->ssl) == 1) return 0;
  failure_ = "the key was not used";
  return kAltered;
}

// What to write behind the first `sent` bytes: a short part together with what follows it, so that
// both go into one record.
std::span<const std::byte> Tls::next_piece(std::span<const iovec> parts, std::size_t sent) {
  std::size_t at = 0;
  while (sent >= parts[at].iov_len) sent -= parts[at++].iov_len;
  const auto bytes_of = [](const iovec& part) {
    return std::span(static_cast<const std::byte*>(part.iov_base), part.iov_len);
  };
  const auto piece = bytes_of(parts[at]).subspan(sent);
  if (at + 1 == parts.size() || piece.size() >= kRecord) return piece;
  const auto next = bytes_of(parts[at + 1]);
  const std::size_t more = std::min(next.size(), kRecord - piece.size());
  std::memcpy(connection_->front.data(), piece.data(), piece.size());
  if (more > 0) std::memcpy(connection_->front.data() + piece.size(), next.data(), more);
  return std::span(connection_->front).first(piece.size() + more);
}

ssize_t Tls::send(std::span<const iovec> parts) {
  Connection& connection = *connection_;
  std::size_t all = 0, sent = 0;
  for (const iovec& part : parts) all += part.iov_len;
  while (sent < all) {
    const auto piece = next_piece(parts, sent);
    ERR_clear_error();
    if (!connection.is_pending && connection.sent_with_key >= connection.records_of_one_key) {
      SSL_key_update(connection.ssl, SSL_KEY_UPDATE_NOT_REQUESTED);
      connection.sent_with_key = 0;
    }
    std::size_t taken = 0;
    const int result = SSL_write_ex(connection.ssl, piece.data(), piece.size(), &taken);
    connection.is_pending = result != 1;
    if (result != 1) {
      const int error = fail(result, true);
      if (error == EAGAIN && sent > 0) break;
      errno = error == 0 ? EPIPE : error;
      return -1;
    }
    sent += taken;
    connection.sent_with_key += taken / kRecord + 1;
  }
  return static_cast<ssize_t>(sent);
}

ssize_t Tls::receive(std::span<const iovec> parts) {
  Connection& connection = *connection_;
  connection.socket.is_drained = false;  // of an earlier call: more may have come since
  std::size_t received = 0;
  for (const iovec& part : parts) {
    for (std::size_t filled = 0; filled < part.iov_len;) {
      const bool is_empty = connection.socket.is_drained && SSL_has_pending(connection.ssl) == 0;
      if (received > 0 && is_empty) return static_cast<ssize_t>(received);
      ERR_clear_error();
      std::size_t bytes = 0;
      const int result =
          SSL_read_ex(connection.ssl, static_cast<std::byte*>(part.iov_base) + filled,
                      part.iov_len - filled, &bytes);
      if (result != 1) {
        const int error = fail(result, false);
        if (received > 0 && (error == EAGAIN || error == 0)) return static_cast<ssize_t>(received);
        errno = error;
        return error == 0 ? 0 : -1;
      }
      filled += bytes;
      received += bytes;
    }
  }
  return static_cast<ssize_t>(received);
}

}  // namespace dtl::ring
