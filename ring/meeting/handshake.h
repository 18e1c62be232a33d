#pragma once
// The mutual proof that both ends of a connection know the job's secret, in four messages:
//   client -> server  Hello  {magic, version, stream, job, world, from, to, nonce_c}
//   server -> client  Reply  {magic, version, nonce_s, HMAC(K, "S" | Hello | nonce_s)}
//   client -> server  Proof  {HMAC(K, "C" | Hello | Reply)}
//   server -> client  Taken  {HMAC(K, "A" | Hello | Reply | Proof)}
// K is derived from the secret for this pair of ranks. The labels, the ranks and both nonces stop
// reflection and replay. Where both are to encrypt and the connection leaves the host, TLS follows
// on it, with a key made of K and Proof, so of all that was said; Taken is then sent under TLS.
//
// A server may close a connection at any moment before Taken: it has limits for callers that have
// not proved themselves. So a client has joined only when it has Taken, and until then it calls
// again. A server that has sent Taken keeps the connection.
//
// Neither object throws for what a peer does: it says kFailed and why.
// Messages are a few dozen bytes, so one send on a fresh socket always takes a whole one.

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "ring/common/crypto.h"
#include "ring/links/channel.h"
#include "ring/links/link.h"

namespace dtl::ring {

// What a rank knows and both ends must agree upon. world is compared later (MeetingLines::admit),
// where a difference can be told.
struct Identity {
  std::uint64_t job = 0;
  std::int32_t world = 1;
  std::int32_t rank = 0;
  std::vector<std::uint8_t> secret;  // 32 bytes or more; wiped at the end
  bool encrypts = false;             // what leaves the host
  bool encrypts_all = false;         // and what does not: for tests

  ~Identity() { Key::wipe(secret.data(), secret.size()); }
};

// Of the handshake and what follows it. Raised with each change of a message; apart from DT_ABI,
// which was the number until 2.
constexpr std::uint32_t kRingProtocol = 4;

// In Hello and Reply.
constexpr std::uint16_t kEncrypts = 1;    // this rank is to encrypt
constexpr std::uint16_t kLeavesHost = 2;  // Hello: its connection does, as it sees it
constexpr std::uint16_t kUnderTls = 4;    // Reply: TLS follows

// kKnock: asks the server, the higher rank, to connect to the client (LinkBuilder). Nothing follows
// it.
enum class Stream : std::uint32_t { kControl = 0, kData = 1, kKnock = 2 };

enum class Progress { kAgain, kDone, kFailed };

struct Hello {
  // All fields are covered by both proofs. The order of bytes is that of the host, which byte_order
  // shows.
  std::uint32_t magic = 0, version = 0;
  std::uint32_t byte_order = 0;
  Stream stream = Stream::kControl;
  std::uint64_t job = 0;
  std::int32_t world = 0, from = 0, to = 0;
  std::uint16_t lane = 0;  // of a link: lane_field()
  std::uint16_t flags = 0;
  std::array<std::uint8_t, 32> nonce{};
};
static_assert(sizeof(Hello) == 72);

struct Reply {
  std::uint32_t magic = 0;
  std::uint16_t version = 0, flags = 0;
  std::array<std::uint8_t, 32> nonce{};
  Digest proof{};
};
static_assert(sizeof(Reply) == 72);

// Hello::lane: the lane, and beyond its 8 bits the number of the stream in it. The lane may be one
// that does not exist.
constexpr std::uint16_t lane_field(Lane lane, std::uint32_t number) {
  return static_cast<std::uint16_t>(static_cast<std::uint32_t>(lane) | number << 8U);
}
constexpr Lane lane_of(std::uint16_t field) {
  return static_cast<Lane>(field & 0xffU);
}
constexpr std::uint32_t number_of(std::uint16_t field) {
  return std::uint32_t{field} >> 8U;
}

// The key of two ranks, in either order, so that both ends make the same. A rank's key for one peer
// is of no use with another.
Key pair_key(const Identity& identity, std::int32_t a, std::int32_t b);

// "rank 3 was started with encryption, rank 0 without"
std::string differing_encryption(const std::string& rank, bool encrypts, const std::string& other);

// Reads exactly `bytes` bytes from a non-blocking socket over several calls, and not one more: what
// follows the handshake belongs to TLS or to the link.
class ExactReader {
 public:
  Progress read_into(Channel& channel, void* data, std::size_t bytes);  // kDone resets it

 private:
  std::size_t filled_ = 0;
};

// The accepting side. Wants to hear a rank that connects to identity.rank. A stranger learns
// nothing from it but dtring's version, not even why it was dropped.
class ServerHandshake {
 public:
  ServerHandshake(const Identity& identity, Fd fd) : identity_(identity), channel_(std::move(fd)) {}

  Progress step();  // when readable
  int fd() const { return channel_.fd(); }
  Channel take() { return std::move(channel_); }
  const Hello& hello() const { return hello_; }  // proved once step() said kDone
  bool has_replied() const { return replied_; }  // the proof may be on its way

 private:
  Progress answer_hello();
  Progress check_proof();
  Progress secure();
  Progress confirm();

  const Identity& identity_;
  Channel channel_;
  ExactReader reader_;
  Hello hello_;
  Reply reply_;
  Digest proof_{};
  bool replied_ = false;
  std::unique_ptr<Tls> tls_;  // until the channel has it
};

// The connecting side, from a connected socket on.
class ClientHandshake {
 public:
  ClientHandshake(const Identity& identity, std::int32_t to, Stream stream, std::uint16_t lane,
                  Fd fd);

  Progress step();  // when readable
  int fd() const { return channel_.fd(); }
  Channel take() { return std::move(channel_); }
  // From here on the server either sends Taken or closes the connection, and may have done so.
  bool has_proved() const { return has_proved_; }
  // Why it failed. is_final: another attempt cannot do better.
  const std::string& reason() const { return reason_; }
  int dt_status() const { return dt_status_; }
  bool is_final() const { return is_final_; }

 private:
  Progress fail(int dt_status, bool is_final, std::string reason);
  Progress check_reply();
  Progress secure();
  Progress await_taken();
  Progress check_taken();

  const Identity& identity_;
  Channel channel_;
  ExactReader reader_;
  Hello hello_;
  Reply reply_;
  Digest proof_{}, taken_{};
  bool hello_sent_ = false, has_proved_ = false;
  std::unique_ptr<Tls> tls_;  // until the channel has it
  std::string reason_;
  int dt_status_ = 0;
  bool is_final_ = false;
};

}  // namespace dtl::ring
