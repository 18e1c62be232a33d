#pragma once
// Tls: TLS 1.3 over one connected, non-blocking socket, whose owner outlives it. Both ends know a
// key for this connection only, made by their handshake (meeting/handshake.h, base/tls/psk_tls.h).
// Behaves like a socket for Channel, so that links need not know of records. One thread at a time;
// never raises SIGPIPE.

#include <sys/types.h>
#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/tls/psk_tls.h"
#include "ring/common/crypto.h"

namespace dtl::ring {

// Values of errno under TLS. kAltered: received data was altered. kRejected: the other end reports
// that of our data. With the two, both ends name the same culprit.
constexpr int kAltered = 74;    // EBADMSG
constexpr int kRejected = 121;  // EREMOTEIO

class Tls {
 public:
  using End = PskTls::End;
  // Renews the key after this many records. AES-GCM is safe for 2^24.5 records of one key (RFC
  // 8446, 5.5); this is less than an eighth of that. Counts records, not bytes, because short
  // operations make many of them.
  static constexpr std::uint64_t kRecordsOfOneKey = 1 << 21;

  // Throws CommError(DT_E_SYS).
  Tls(int fd, End end, const Key& key, std::uint64_t records_of_one_key = kRecordsOfOneKey);
  ~Tls();

  // Call it until it returns 0 for success. EAGAIN: call again when the socket is readable. Any
  // other value means failure.
  int shake_hands();
  const std::string& failure() const { return failure_; }  // the reason, from OpenSSL

  // Like send(2) and recv(2) with MSG_DONTWAIT. They return less than requested only if the socket
  // is full or empty, which edge-triggered callers rely on. Repeat bytes that were not taken
  // unchanged in the next call: part of their record may have been sent.
  ssize_t send(std::span<const iovec> parts);
  ssize_t receive(std::span<const iovec> parts);

 private:
  struct Connection;
  int fail(PskTls::Result result, bool is_write);
  std::span<const std::byte> next_piece(std::span<const iovec> parts, std::size_t sent);

  std::unique_ptr<Connection> connection_;
  std::string failure_;
};

}  // namespace dtl::ring
