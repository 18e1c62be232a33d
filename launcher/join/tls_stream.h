#pragma once
// TlsStream: a ByteStream that encrypts and authenticates another one. tls_session.h says who may
// be at the other end.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "launcher/join/tls_session.h"
#include "wire/byte_stream.h"

namespace dtl {

class TlsStream final : public ByteStream {
 public:
  // Limit for bytes that a peer sends before its proof. A handshake takes 500.
  static constexpr std::size_t kMostOfStrangers = 4096;  // bytes; more is an Error

  TlsStream(std::unique_ptr<ByteStream> carrier, TlsSession::Side side, const std::string& secret);

  // Call it once, before all else. Returns when the other side has proved that it knows the secret.
  // Throws Error(kAuth) if it does not, Error(kIo) if the carrier ends first.
  awaitable<void> shake_hands();

  awaitable<std::string> read() override;
  awaitable<void> write_pieces(std::vector<std::string> pieces) override;
  void close() override;

 private:
  std::unique_ptr<ByteStream> carrier_;
  TlsSession session_;
};

}  // namespace dtl
