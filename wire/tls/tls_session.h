#pragma once
// TlsSession: one end of TLS 1.3 between two programs that share only a secret (see
// base/tls/psk_tls.h). It does no I/O: the caller feeds received bytes and fetches bytes to send.
// TlsStream does that over a ByteStream. Failures are Error(kAuth), whose text never contains the
// secret.

#include <memory>
#include <string>
#include <string_view>

namespace dtl {

// What a secret is for. identity: sent in clear, so it tells nothing about the job; it is part of
// the key, so a secret that serves two purposes gives two keys. name: of the secret, in errors.
// Both outlive all sessions.
struct TlsPurpose {
  std::string_view identity, name;
};
// Between the nodes that a scheduler has started, and the first of them (launcher/join).
inline constexpr TlsPurpose kJoinPurpose{"dtlaunch join 1", "the job's token"};
// Between an agent and its parent in a tree of agents (wire/tree).
inline constexpr TlsPurpose kEdgePurpose{"dtlaunch edge 1", "the tree's key"};
// Between dtlaunch and an agent, through the agents above it.
inline constexpr TlsPurpose kBranchPurpose{"dtlaunch branch 1", "the branch's key"};

class TlsSession {
 public:
  enum class Side { kListens, kCalls };
  // Initialises what all sessions share, which takes 1 ms. Otherwise the first session does it.
  static void prepare(Side side);

  // secret: too long to guess, such as launcher/join/token.h makes.
  TlsSession(Side side, std::string_view secret, TlsPurpose purpose = kJoinPurpose);
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
  const TlsPurpose purpose_;
  std::unique_ptr<State> state_;
  bool other_has_ended_ = false;
};

}  // namespace dtl
