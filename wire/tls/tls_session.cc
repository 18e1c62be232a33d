// OpenSSL uses memory instead of a socket: Asio owns the socket, which must never block.
#include "wire/tls/tls_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/sha256.h"
#include "base/tls/psk_tls.h"

namespace dtl {
namespace {

using namespace std::string_view_literals;
using Result = PskTls::Result;

constexpr std::size_t kReadBytes = 16 << 10;  // one record

// Received bytes, and bytes to send.
struct FedBytes final : TlsCarrier {
  std::string input, output;
  std::size_t used = 0;  // of the input

  int read(char* data, int bytes) override {
    const std::size_t count = std::min(static_cast<std::size_t>(bytes), input.size() - used);
    // Not the end of the stream: more bytes may be fed.
    if (count == 0) return kLater;
    std::memcpy(data, input.data() + used, count);
    used += count;
    return static_cast<int>(count);
  }
  int write(const char* data, int bytes) override {
    output.append(data, static_cast<std::size_t>(bytes));
    return bytes;
  }
};

PskTls::End end_of(TlsSession::Side side) {
  return side == TlsSession::Side::kCalls ? PskTls::End::kClient : PskTls::End::kServer;
}

// PskTls needs 32 bytes; the secret may have any length and alphabet.
Sha256::Digest derive_key(std::string_view secret, TlsPurpose purpose) {
  Sha256 sum;
  sum.add(purpose.identity);
  sum.add("\0"sv);
  sum.add(secret);
  return sum.digest();
}

}  // namespace

struct TlsSession::State {
  FedBytes bytes;
  PskTls tls;

  State(Side side, TlsPurpose purpose, const Sha256::Digest& key)
      : tls(end_of(side), purpose.identity, key, bytes) {}
};

void TlsSession::prepare(Side side) {
  PskTls::prepare_program(end_of(side));
}

TlsSession::TlsSession(Side side, std::string_view secret, TlsPurpose purpose) : purpose_(purpose) {
  prepare(side);  // before any other call to OpenSSL
  Sha256::Digest key = derive_key(secret, purpose);
  state_ = std::make_unique<State>(side, purpose, key);
  // The compiler may optimise away a memset() at the end of a variable's life.
  ::explicit_bzero(key.data(), key.size());
  if (!state_->tls.is_ready()) throw Error(Exit::kOs, "cannot set TLS up", state_->tls.reason());
}

TlsSession::~TlsSession() = default;

void TlsSession::feed(std::string_view carried) {
  state_->bytes.input.erase(0, std::exchange(state_->bytes.used, 0));
  state_->bytes.input += carried;
}

std::string TlsSession::take_output() {
  return std::exchange(state_->bytes.output, {});
}

bool TlsSession::shake_hands() {
  const Result result = state_->tls.shake_hands();
  if (result == Result::kDone || result == Result::kAgain) return result == Result::kDone;
  throw Error(Exit::kAuth, fmt::format("no proof of {}", purpose_.name), state_->tls.reason());
}

std::string TlsSession::read() {
  // Not a string of that size: clearing and allocating it would cost more than most records.
  std::array<char, kReadBytes> plain;
  std::size_t size = 0;
  const Result result = state_->tls.read(std::as_writable_bytes(std::span(plain)), size);
  if (result == Result::kFailed) throw Error(Exit::kAuth, "cannot read", state_->tls.reason());
  // TLS ends with an alert, so a cut connection cannot look like an orderly end.
  if (result == Result::kClosed) other_has_ended_ = true;
  return {plain.data(), result == Result::kDone ? size : 0};
}

void TlsSession::write(std::string_view plain) {
  while (!plain.empty()) {
    std::size_t size = 0;
    if (state_->tls.write(std::as_bytes(std::span(plain)), size) != Result::kDone) {
      throw Error(Exit::kAuth, "cannot write", state_->tls.reason());
    }
    plain.remove_prefix(size);
  }
}

}  // namespace dtl
