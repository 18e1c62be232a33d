// Together the proofs cover everything that was said. A change on the way, in a flag as well as in
// a nonce, is therefore found before the connection counts.
#include "ring/meeting/handshake.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "ring/common/comm_error.h"
#include "ring/common/socket.h"

namespace dtl::ring {
namespace {

constexpr std::uint32_t kMagic = 0x72745444;      // "DTtr"
constexpr std::uint32_t kByteOrder = 0x01020304;  // read back differently by the other order

template <typename T>
void append(std::vector<std::uint8_t>& bytes, const T& value) {
  const auto* begin = reinterpret_cast<const std::uint8_t*>(&value);
  bytes.insert(bytes.end(), begin, begin + sizeof value);
}

// "S", "C" and "A" differ, so that a proof cannot be sent back as another one.
Digest server_proof(const Key& key, const Hello& hello, const Reply& reply) {
  std::vector<std::uint8_t> said{'S'};
  append(said, hello);
  append(said, reply.nonce);
  append(said, reply.flags);
  return hmac_sha256(key.bytes(), said);
}

Digest client_proof(const Key& key, const Hello& hello, const Reply& reply) {
  std::vector<std::uint8_t> said{'C'};
  append(said, hello);
  append(said, reply);
  return hmac_sha256(key.bytes(), said);
}

// Nobody who merely stands between the ranks can make a client believe that it was taken.
Digest taken_digest(const Key& key, const Hello& hello, const Reply& reply, const Digest& proof) {
  std::vector<std::uint8_t> said{'A'};
  append(said, hello);
  append(said, reply);
  append(said, proof);
  return hmac_sha256(key.bytes(), said);
}

// The client's proof is the salt: it depends on both nonces, so that each connection has a key of
// its own.
Key tls_key(const Key& key, const Digest& proof) {
  constexpr std::string_view kInfo = "dtl2 tls";
  return hkdf_sha256(key.bytes(), proof,
                     {reinterpret_cast<const std::uint8_t*>(kInfo.data()), kInfo.size()});
}

bool send_whole(Channel& channel, const void* data, std::size_t bytes) {
  // A fresh socket has room for more than the few dozen bytes of a message.
  return channel.send(data, bytes) == static_cast<ssize_t>(bytes);
}

}  // namespace

Key pair_key(const Identity& identity, std::int32_t a, std::int32_t b) {
  std::vector<std::uint8_t> info;
  for (const char c : std::string_view("dtl1 data")) info.push_back(static_cast<std::uint8_t>(c));
  append(info, identity.job);
  append(info, std::min(a, b));
  append(info, std::max(a, b));
  return hkdf_sha256(identity.secret, {}, info);
}

std::string differing_encryption(const std::string& rank, bool encrypts, const std::string& other) {
  return fmt::format("{} was started {} encryption, {} {}", rank, encrypts ? "with" : "without",
                     other, encrypts ? "without" : "with");
}

Progress ExactReader::read_into(Channel& channel, void* data, std::size_t bytes) {
  while (filled_ < bytes) {
    const ssize_t n = channel.receive(static_cast<std::uint8_t*>(data) + filled_, bytes - filled_);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return Progress::kAgain;
    if (n <= 0) return Progress::kFailed;
    filled_ += static_cast<std::size_t>(n);
  }
  filled_ = 0;
  return Progress::kDone;
}

Progress ServerHandshake::step() {
  if (tls_) return secure();
  if (!replied_) {
    const Progress read = reader_.read_into(channel_, &hello_, sizeof hello_);
    return read == Progress::kDone ? answer_hello() : read;
  }
  const Progress read = reader_.read_into(channel_, proof_.data(), proof_.size());
  return read == Progress::kDone ? check_proof() : read;
}

Progress ServerHandshake::answer_hello() {
  if (hello_.magic != kMagic) return Progress::kFailed;
  reply_.magic = kMagic;
  reply_.version = kRingProtocol;
  if (hello_.version != kRingProtocol || hello_.byte_order != kByteOrder) {
    // The one thing told to a stranger: our version, so that the other end can name it.
    (void)send_whole(channel_, &reply_, sizeof reply_);
    return Progress::kFailed;
  }
  const bool is_known_stream = hello_.stream == Stream::kControl ||
                               hello_.stream == Stream::kData || hello_.stream == Stream::kKnock;
  // Ports are reused, so a rank of another job may call here. It is dropped before a proof is made.
  if (hello_.job != identity_.job || hello_.to != identity_.rank || hello_.from < 0 ||
      hello_.from == identity_.rank || !is_known_stream) {
    return Progress::kFailed;
  }
  if (identity_.encrypts) reply_.flags |= kEncrypts;
  // One end that sees the connection leave the host is enough.
  if (identity_.encrypts && (hello_.flags & kEncrypts) != 0 &&
      (identity_.encrypts_all || (hello_.flags & kLeavesHost) != 0 || leaves_this_host(fd()))) {
    reply_.flags |= kUnderTls;
  }
  fill_random(reply_.nonce);
  reply_.proof = server_proof(pair_key(identity_, hello_.from, hello_.to), hello_, reply_);
  if (!send_whole(channel_, &reply_, sizeof reply_)) return Progress::kFailed;
  replied_ = true;
  // The proof may be there already, and then no event would come for it.
  return step();
}

Progress ServerHandshake::check_proof() {
  const Key key = pair_key(identity_, hello_.from, hello_.to);
  const Digest expected = client_proof(key, hello_, reply_);
  if (!equal_in_constant_time(expected, proof_)) return Progress::kFailed;
  if ((reply_.flags & kUnderTls) == 0) return confirm();
  tls_ = std::make_unique<Tls>(fd(), Tls::End::kServer, tls_key(key, proof_));
  return secure();
}

Progress ServerHandshake::secure() {
  const int error = tls_->shake_hands();
  if (error == EAGAIN) return Progress::kAgain;
  if (error != 0) return Progress::kFailed;
  channel_.encrypt(std::move(tls_));
  return confirm();
}

Progress ServerHandshake::confirm() {
  const Key key = pair_key(identity_, hello_.from, hello_.to);
  const Digest taken = taken_digest(key, hello_, reply_, proof_);
  // A client that has gone meanwhile does not believe that it has joined.
  return send_whole(channel_, taken.data(), taken.size()) ? Progress::kDone : Progress::kFailed;
}

ClientHandshake::ClientHandshake(const Identity& identity, std::int32_t to, Stream stream,
                                 std::uint16_t lane, Fd fd)
    : identity_(identity), channel_(std::move(fd)) {
  hello_.magic = kMagic;
  hello_.version = kRingProtocol;
  hello_.byte_order = kByteOrder;
  hello_.stream = stream;
  hello_.job = identity.job;
  hello_.world = identity.world;
  hello_.from = identity.rank;
  hello_.to = to;
  hello_.lane = lane;
  if (identity.encrypts) hello_.flags |= kEncrypts;
  if (identity.encrypts && (identity.encrypts_all || leaves_this_host(this->fd()))) {
    hello_.flags |= kLeavesHost;
  }
  fill_random(hello_.nonce);
}

Progress ClientHandshake::fail(int dt_status, bool is_final, std::string reason) {
  dt_status_ = dt_status;
  is_final_ = is_final;
  reason_ = std::move(reason);
  return Progress::kFailed;
}

Progress ClientHandshake::step() {
  if (tls_) return secure();
  if (has_proved_) return await_taken();
  if (!hello_sent_) {
    if (!send_whole(channel_, &hello_, sizeof hello_)) {
      return fail(DT_E_SYS, false, "connection closed: " + errno_text(errno));
    }
    hello_sent_ = true;
  }
  const Progress read = reader_.read_into(channel_, &reply_, sizeof reply_);
  if (read == Progress::kFailed) {
    // Not final: at this address a rank of this job may listen a moment later.
    return fail(DT_E_AUTH, false,
                "it closed the connection during the handshake (another job or program?)");
  }
  return read == Progress::kDone ? check_reply() : read;
}

Progress ClientHandshake::check_reply() {
  if (reply_.magic != kMagic) {
    return fail(DT_E_AUTH, false, "it does not speak dtring's protocol");
  }
  if (reply_.version != kRingProtocol) {
    return fail(DT_E_VERSION, true,
                fmt::format("it speaks version {} of dtring's protocol, this rank version {}",
                            reply_.version, kRingProtocol));
  }
  const Key key = pair_key(identity_, hello_.from, hello_.to);
  // Final: it has made a proof for this job and this pair of ranks, with another secret.
  if (!equal_in_constant_time(server_proof(key, hello_, reply_), reply_.proof)) {
    return fail(DT_E_AUTH, true, "it does not know this job's secret");
  }
  proof_ = client_proof(key, hello_, reply_);
  if (!send_whole(channel_, proof_.data(), proof_.size())) {
    return fail(DT_E_SYS, false, "connection closed: " + errno_text(errno));
  }
  has_proved_ = true;
  if ((reply_.flags & kUnderTls) == 0) return await_taken();
  tls_ = std::make_unique<Tls>(fd(), Tls::End::kClient, tls_key(key, proof_));
  return secure();
}

Progress ClientHandshake::secure() {
  const int error = tls_->shake_hands();
  if (error == EAGAIN) return Progress::kAgain;
  if (error != 0) {
    return fail(DT_E_AUTH, false, "the TLS handshake failed: " + tls_->failure());
  }
  channel_.encrypt(std::move(tls_));
  return await_taken();
}

Progress ClientHandshake::await_taken() {
  const Progress read = reader_.read_into(channel_, taken_.data(), taken_.size());
  if (read == Progress::kFailed) {
    return fail(DT_E_TIMEOUT, false,
                "it closed the connection before it confirmed it (too many callers?)");
  }
  return read == Progress::kDone ? check_taken() : read;
}

Progress ClientHandshake::check_taken() {
  const Key key = pair_key(identity_, hello_.from, hello_.to);
  if (!equal_in_constant_time(taken_digest(key, hello_, reply_, proof_), taken_)) {
    return fail(DT_E_AUTH, false, "what it said was changed on its way");
  }
  // Told only now that the other end has the proof and knows who calls, so that it can name this
  // rank, too.
  if (const bool encrypts = (reply_.flags & kEncrypts) != 0; encrypts != identity_.encrypts) {
    return fail(DT_E_MISMATCH, true,
                differing_encryption("it", encrypts, fmt::format("rank {}", identity_.rank)));
  }
  return Progress::kDone;
}

}  // namespace dtl::ring
