#pragma once
// TlsSession: one end of TLS 1.3 between two programs that share a secret and nothing else (see
// base/tls/psk_tls.h). It moves no bytes itself: what the carrier brings is fed, what the carrier
// is to take is fetched. Failures are Error(kAuth), in words that never hold the secret.

#include <memory>
#include <string>
#include <string_view>

namespace dtl {

class TlsSession {
 public:
  enum class Side { kListens, kCalls };
  // Makes what all sessions share, which takes 1 ms; else the first one does.
  static void prepare(Side side);

  // secret: as long as it needs to be so that nobody guesses it (token.h).
  TlsSession(Side side, std::string_view secret);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  void feed(std::string_view carried);
  std::string take_output();

  // One step of the handshake with what has been fed; true once the other side has proved that it
  // knows the secret, too. Throws when it does not, or speaks something else.
  bool shake_hands();

  // After that. What has come, decrypted; empty: more has to be fed. Throws for bytes that the
  // other side has not written.
  std::string read();
  void write(std::string_view plain);
  bool other_has_ended() const { return other_has_ended_; }

 private:
  struct State;
  std::unique_ptr<State> state_;
  bool other_has_ended_ = false;
};

}  // namespace dtl
