// PskTls moves records. This gives it a socket, and converts its results to those of send(2) and
// recv(2). Records are filled as much as possible, since each costs a header, a tag and calls of
// OpenSSL.
#include "ring/links/tls.h"

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

constexpr std::size_t kRecord = 16384;            // the maximum plaintext of one TLS record
constexpr std::size_t kReadBuffer = 64 << 10;     // four records per call
constexpr std::string_view kIdentity = "dtring";  // names a key that no other connection has

struct Socket final : TlsCarrier {
  int fd = -1;
  bool is_drained = false;  // the last read returned less than requested
  int read_error = 0, write_error = 0;

  int write(const char* data, int bytes) override {
    const auto n = ::send(fd, data, static_cast<std::size_t>(bytes), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) return static_cast<int>(n);
    if (errno == EAGAIN || errno == ENOBUFS || errno == EINTR) return kLater;
    write_error = errno;
    return kBroken;
  }

  int read(char* data, int bytes) override {
    ssize_t n = -1;
    do {
      n = ::recv(fd, data, static_cast<std::size_t>(bytes), MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    is_drained = n < bytes;
    if (n >= 0) return static_cast<int>(n);
    if (errno == EAGAIN) return kLater;
    read_error = errno;
    return kBroken;
  }
};

}  // namespace

struct Tls::Connection {
  Connection(int fd, End end, const Key& key, std::uint64_t records)
      : tls(end, kIdentity, key.bytes().first<32>(), socket, kReadBuffer),
        records_of_one_key(records) {
    socket.fd = fd;
  }

  Socket socket;
  PskTls tls;
  std::uint64_t records_of_one_key = 0, sent_with_key = 0;
  int verdict = 0;          // kAltered or kRejected once known; final
  bool is_pending = false;  // the socket took only part of a record
  std::array<std::byte, kRecord> front;
};

Tls::Tls(int fd, End end, const Key& key, std::uint64_t records_of_one_key)
    : connection_(std::make_unique<Connection>(fd, end, key, records_of_one_key)) {
  if (connection_->tls.is_ready()) return;
  throw CommError(DT_E_SYS, "cannot set TLS up", connection_->tls.reason());
}

Tls::~Tls() = default;

// The errno of the failure; 0: the connection was closed. Reads data that arrived before the socket
// failed first, so that an alert is not missed.
int Tls::fail(PskTls::Result result, bool is_write) {
  if (result == PskTls::Result::kAgain) return EAGAIN;
  const Socket& socket = connection_->socket;
  const int error = is_write ? socket.write_error : socket.read_error;
  const bool has_ended = socket.has_ended && !is_write;
  if (error != 0 || result == PskTls::Result::kClosed || has_ended) {
    failure_ = error != 0 ? errno_text(error) : "it closed the connection";
    return error;
  }
  failure_ = connection_->tls.reason();
  int& verdict = connection_->verdict;
  // The first verdict stays: later errors of OpenSSL are consequences.
  if (verdict == 0) verdict = connection_->tls.is_alert() ? kRejected : kAltered;
  return verdict;
}

int Tls::shake_hands() {
  const PskTls::Result result = connection_->tls.shake_hands();
  if (result == PskTls::Result::kDone) return 0;
  const int error = fail(result, false);
  return error == 0 ? ECONNRESET : error;
}

// The bytes to write after the first `sent` ones: joins a short part with the next one, so that
// both fit in one record.
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
    // Not while a record is partly sent: OpenSSL must finish that one first.
    if (!connection.is_pending && connection.sent_with_key >= connection.records_of_one_key) {
      connection.tls.renew_key();
      connection.sent_with_key = 0;
    }
    std::size_t taken = 0;
    const PskTls::Result result = connection.tls.write(piece, taken);
    connection.is_pending = result != PskTls::Result::kDone;
    if (connection.is_pending) {
      const int error = fail(result, true);
      if (error == EAGAIN && sent > 0) break;
      errno = error == 0 ? EPIPE : error;
      return -1;
    }
    sent += taken;
    // Rounded up. Extra renewals do no harm.
    connection.sent_with_key += taken / kRecord + 1;
  }
  return static_cast<ssize_t>(sent);
}

ssize_t Tls::receive(std::span<const iovec> parts) {
  Connection& connection = *connection_;
  connection.socket.is_drained = false;  // left from an earlier call: more may have arrived since
  std::size_t received = 0;
  for (const iovec& part : parts) {
    for (std::size_t filled = 0; filled < part.iov_len;) {
      const bool is_empty = connection.socket.is_drained && !connection.tls.has_pending();
      // Asking OpenSSL again would only cost a recv that returns EAGAIN.
      if (received > 0 && is_empty) return static_cast<ssize_t>(received);
      const std::span room(static_cast<std::byte*>(part.iov_base), part.iov_len);
      std::size_t bytes = 0;
      const PskTls::Result result = connection.tls.read(room.subspan(filled), bytes);
      if (result != PskTls::Result::kDone) {
        const int error = fail(result, false);
        // Bytes before an altered record are not returned: the communicator will fail.
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
