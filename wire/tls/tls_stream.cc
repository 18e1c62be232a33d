// Both sides prove the secret. Until then reads are limited: strangers may send anything.
#include "wire/tls/tls_stream.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/error.h"

namespace dtl {
namespace {

constexpr std::size_t kRecordBytes = 16 << 10;  // the most that TLS allows

}  // namespace

TlsStream::TlsStream(std::shared_ptr<ByteStream> carrier, TlsSession::Side side,
                     const std::string& secret, TlsPurpose purpose)
    : carrier_(std::move(carrier)), purpose_(purpose), session_(side, secret, purpose) {}

awaitable<void> TlsStream::shake_hands() {
  std::size_t received = 0;
  for (;;) {
    bool proved = false;
    std::optional<Error> refused;
    try {
      proved = session_.shake_hands();
    } catch (const Error& error) {
      refused = error;
    }
    // Send the alert too: the other side may have the wrong secret.
    std::string answer = session_.take_output();
    if (!answer.empty()) co_await carrier_->write(std::move(answer));
    if (refused) throw *refused;
    if (proved) co_return;
    const std::string bytes = co_await carrier_->read();
    if (bytes.empty()) {
      throw Error(Exit::kIo, fmt::format("no proof of {}", purpose_.name),
                  "the connection ended before");
    }
    received += bytes.size();
    if (received > kMostOfStrangers) {
      throw Error(Exit::kAuth, fmt::format("no proof of {}", purpose_.name),
                  "too many bytes before it");
    }
    session_.feed(bytes);
  }
}

awaitable<std::string> TlsStream::read() {
  for (;;) {
    std::string plain = session_.read();
    if (!plain.empty() || session_.other_has_ended()) co_return plain;
    const std::string bytes = co_await carrier_->read();
    // The carrier ended without TLS's close alert. The channel above treats both as the end.
    if (bytes.empty()) co_return std::string();
    session_.feed(bytes);
  }
}

// Small pieces share a record, and all pieces a write: each costs the reader as much as many bytes.
// What OpenSSL must send after a read (such as a key update) is in its output and goes with the
// next bytes.
awaitable<void> TlsStream::write_pieces(std::vector<std::string> pieces) {
  std::string record;
  for (const std::string& piece : pieces) {
    if (record.size() + piece.size() > kRecordBytes) session_.write(std::exchange(record, {}));
    if (piece.size() > kRecordBytes) {
      session_.write(piece);
    } else {
      record += piece;
    }
  }
  session_.write(record);
  co_await carrier_->write(session_.take_output());
}

void TlsStream::close() {
  carrier_->close();
}

}  // namespace dtl
