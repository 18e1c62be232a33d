#pragma once
// TlsStream: a ByteStream that encrypts and authenticates another one. tls_session.h says who may
// be at the other end.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "wire/byte_stream.h"
#include "wire/tls/tls_session.h"

namespace dtl {

class TlsStream final : public ByteStream {
 public:
  // Limit for bytes that a peer sends before its proof. A handshake takes 500.
  static constexpr std::size_t kMostOfStrangers = 4096;  // bytes; more is an Error

  TlsStream(std::shared_ptr<ByteStream> carrier, TlsSession::Side side, const std::string& secret,
            TlsPurpose purpose = kJoinPurpose);

  // Call it once, before all else. Returns when the other side has proved that it knows the secret.
  // Throws Error(kAuth) if it does not, Error(kIo) if the carrier ends first.
  awaitable<void> shake_hands();

  awaitable<std::string> read() override;
  awaitable<void> write_pieces(std::vector<std::string> pieces) override;
  void close() override;

 private:
  const std::shared_ptr<ByteStream> carrier_;  // shared with code that feeds or asks it
  const TlsPurpose purpose_;
  TlsSession session_;
};

}  // namespace dtl
