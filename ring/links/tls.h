#pragma once
// Tls: TLS 1.3 over one connected, non-blocking socket, whose owner outlives it. Both ends know a
// key of this connection alone (see base/tls/psk_tls.h). One thread at a time; never raises
// SIGPIPE.

#include <sys/types.h>
#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/tls/psk_tls.h"
#include "ring/common/crypto.h"

namespace dtl::ring {

// In errno, of connections under TLS only: what arrived is not what was sent; and: the other end
// says so of what was sent to it.
constexpr int kAltered = 74;    // EBADMSG
constexpr int kRejected = 121;  // EREMOTEIO

class Tls {
 public:
  using End = PskTls::End;
  // After so many records their key is renewed: AES-GCM is good for 2^24.5 of one key (RFC 8446,
  // 5.5), of which this is less than an eighth.
  static constexpr std::uint64_t kRecordsOfOneKey = 1 << 21;

  // Throws CommError(DT_E_SYS).
  Tls(int fd, End end, const Key& key, std::uint64_t records_of_one_key = kRecordsOfOneKey);
  ~Tls();

  // Until 0, which is success; EAGAIN: when the socket is readable again. Else it has failed.
  int shake_hands();
  const std::string& failure() const { return failure_; }  // why, in OpenSSL's words

  // As send(2) and recv(2) with MSG_DONTWAIT would: how much was taken or is there, which is less
  // than there is room for only when the socket is full or empty. What was not taken comes again
  // next time, as it was.
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
