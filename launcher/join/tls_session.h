#pragma once
// TlsSession: one end of TLS 1.3 between two programs that share only a secret (see
// base/tls/psk_tls.h). It does no I/O: the caller feeds received bytes and fetches bytes to send.
// TlsStream does that over a ByteStream. Failures are Error(kAuth), whose text never contains the
// secret.

#include <memory>
#include <string>
#include <string_view>

namespace dtl {

class TlsSession {
 public:
  enum class Side { kListens, kCalls };
  // Initialises what all sessions share, which takes 1 ms. Otherwise the first session does it.
  static void prepare(Side side);

  // secret: too long to guess (token.h).
  TlsSession(Side side, std::string_view secret);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  void feed(std::string_view carried);
  std::string take_output();

  // One step of the handshake with the bytes fed so far. True when the other side has proved that
  // it knows the secret. Throws if it does not know it, or does not speak TLS.
  bool shake_hands();

  // After the handshake: the decrypted bytes. Empty: more must be fed, or the other side has ended.
  // Throws for bytes that the other side has not written.
  std::string read();
  void write(std::string_view plain);
  bool other_has_ended() const { return other_has_ended_; }

 private:
  struct State;
  std::unique_ptr<State> state_;
  bool other_has_ended_ = false;
};

}  // namespace dtl
