#pragma once
// TlsSession: one end of TLS 1.3 between two programs that share a secret and nothing else (see
// base/tls/psk_tls.h). It moves no bytes itself: the caller feeds what has arrived and fetches what
// is to be sent. TlsStream does that over a ByteStream. Failures are Error(kAuth), in words that
// never hold the secret.

#include <memory>
#include <string>
#include <string_view>

namespace dtl {

class TlsSession {
 public:
  enum class Side { kListens, kCalls };
  // Makes what all sessions share, which takes 1 ms. Otherwise the first session does it.
  static void prepare(Side side);

  // secret: too long to be guessed (token.h).
  TlsSession(Side side, std::string_view secret);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  void feed(std::string_view carried);
  std::string take_output();

  // One step of the handshake with what has been fed. True once the other side has proved that it
  // knows the secret. Throws when it does not know it, or speaks something else.
  bool shake_hands();

  // After the handshake: what has come, decrypted. Empty: more has to be fed, or the other side has
  // ended. Throws for bytes that the other side has not written.
  std::string read();
  void write(std::string_view plain);
  bool other_has_ended() const { return other_has_ended_; }

 private:
  struct State;
  std::unique_ptr<State> state_;
  bool other_has_ended_ = false;
};

}  // namespace dtl
