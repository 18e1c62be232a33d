#pragma once
// Tls: TLS 1.3 over one connected, non-blocking socket, whose owner outlives it. Both ends know a
// key of this connection alone, which their handshake made (meeting/handshake.h,
// base/tls/psk_tls.h). Looks like a socket to Channel, so that links need not know of records. One
// thread at a time; never raises SIGPIPE.

#include <sys/types.h>
#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/tls/psk_tls.h"
#include "ring/common/crypto.h"

namespace dtl::ring {

// In errno, of connections under TLS only. kAltered: what arrived is not what was sent. kRejected:
// the other end says so of what was sent to it. The two let both ends name the same culprit.
constexpr int kAltered = 74;    // EBADMSG
constexpr int kRejected = 121;  // EREMOTEIO

class Tls {
 public:
  using End = PskTls::End;
  // After this many records their key is renewed. AES-GCM is safe for 2^24.5 records of one key
  // (RFC 8446, 5.5); this is less than an eighth of that. Records are counted, not bytes, because
  // short operations make many of them.
  static constexpr std::uint64_t kRecordsOfOneKey = 1 << 21;

  // Throws CommError(DT_E_SYS).
  Tls(int fd, End end, const Key& key, std::uint64_t records_of_one_key = kRecordsOfOneKey);
  ~Tls();

  // Call it until it answers 0, which is success. EAGAIN: call again when the socket is readable.
  // Anything else: it has failed.
  int shake_hands();
  const std::string& failure() const { return failure_; }  // why, in OpenSSL's words

  // As send(2) and recv(2) with MSG_DONTWAIT would. The answer is less than there is room for only
  // when the socket is full or empty, which callers that watch edges rely on. What was not taken
  // has to come again next time, unchanged: a part of that record may have left.
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
