#include "ring/meeting/handshake.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "base/fd.h"
#include "base/text.h"
#include "ring/dtring.h"

namespace dtl::ring::handshake_test {
namespace {

Identity identity_of(int rank, std::uint8_t secret = 1) {
  return {42, 4, rank, std::vector<std::uint8_t>(32, secret)};
}

std::string read_all_now(int fd) {
  std::string bytes(4096, '\0');
  const ssize_t n = ::recv(fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
  bytes.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return bytes;
}

void write_now(int fd, const std::string& bytes) {
  ASSERT_EQ(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
}

// A client and a server. The test carries their bytes, so it can keep and change them.
struct Wire {
  SocketPair client = make_socketpair(SOCK_STREAM), server = make_socketpair(SOCK_STREAM);
  std::string to_server() {
    const std::string bytes = read_all_now(client.second.get());
    write_now(server.second.get(), bytes);
    return bytes;
  }
  std::string to_client() {
    const std::string bytes = read_all_now(server.second.get());
    write_now(client.second.get(), bytes);
    return bytes;
  }
};

struct Talk {
  Wire wire;
  Identity client_identity, server_identity;
  ClientHandshake client;
  ServerHandshake server;
  std::string hello, reply, proof, taken;
  Progress client_end = Progress::kAgain, server_end = Progress::kAgain;

  Talk(const Identity& of_client, const Identity& of_server, int to)
      : client_identity(of_client),
        server_identity(of_server),
        client(client_identity, to, Stream::kData, 0, std::move(wire.client.first)),
        server(server_identity, std::move(wire.server.first)) {
    EXPECT_EQ(client.step(), Progress::kAgain);
    hello = wire.to_server();
    server_end = server.step();
    reply = wire.to_client();
    if (reply.empty()) return;
    client_end = client.step();
    proof = wire.to_server();
    if (!proof.empty()) server_end = server.step();
    taken = wire.to_client();
    if (!taken.empty()) client_end = client.step();
  }
};

TEST(Handshake, SucceedsWithTheSameSecretAndTellsWhoCalls) {
  Talk talk(identity_of(2), identity_of(3), 3);
  EXPECT_EQ(talk.client_end, Progress::kDone);
  EXPECT_EQ(talk.server_end, Progress::kDone);
  EXPECT_EQ(talk.server.hello().from, 2);
  EXPECT_EQ(talk.server.hello().stream, Stream::kData);
}

// A server that has too many callers may close the connection while the proof is on its way.
TEST(Handshake, ClientThatIsNotConfirmedHasNotJoined) {
  const Identity client_identity = identity_of(2), server_identity = identity_of(3);
  Wire wire;
  ClientHandshake client(client_identity, 3, Stream::kData, 0, std::move(wire.client.first));
  ServerHandshake server(server_identity, std::move(wire.server.first));
  EXPECT_EQ(client.step(), Progress::kAgain);
  wire.to_server();
  EXPECT_EQ(server.step(), Progress::kAgain);
  wire.to_client();
  EXPECT_EQ(client.step(), Progress::kAgain) << "it has only sent its proof";
  EXPECT_TRUE(client.has_proved());
  wire.client.second.reset();
  EXPECT_EQ(client.step(), Progress::kFailed);
  EXPECT_FALSE(client.is_final()) << "it must call again";
}

TEST(Handshake, ForgedConfirmationIsRefused) {
  const Identity client_identity = identity_of(2), server_identity = identity_of(3);
  Wire wire;
  ClientHandshake client(client_identity, 3, Stream::kData, 0, std::move(wire.client.first));
  ServerHandshake server(server_identity, std::move(wire.server.first));
  EXPECT_EQ(client.step(), Progress::kAgain);
  wire.to_server();
  EXPECT_EQ(server.step(), Progress::kAgain);
  wire.to_client();
  EXPECT_EQ(client.step(), Progress::kAgain);
  write_now(wire.client.second.get(), wire.to_server());  // the proof itself
  EXPECT_EQ(client.step(), Progress::kFailed);
  EXPECT_EQ(client.dt_status(), DT_E_AUTH);
}

TEST(Handshake, ClientSeesThatTheServerHasAnotherSecret) {
  Talk talk(identity_of(2, 1), identity_of(3, 9), 3);
  EXPECT_EQ(talk.client_end, Progress::kFailed);
  EXPECT_EQ(talk.client.dt_status(), DT_E_AUTH);
  EXPECT_TRUE(talk.proof.empty()) << "nothing is proved to a stranger";
}

TEST(Handshake, ServerRefusesAProofWithAnotherSecret) {
  const Identity server_identity = identity_of(3);
  Wire wire;
  ServerHandshake server(server_identity, std::move(wire.server.first));
  Talk honest(identity_of(2), identity_of(3), 3);
  write_now(wire.server.second.get(), honest.hello);
  EXPECT_EQ(server.step(), Progress::kAgain);
  write_now(wire.server.second.get(), std::string(32, 'p'));
  EXPECT_EQ(server.step(), Progress::kFailed);
}

TEST(Handshake, ReplayedConversationIsRefused) {
  Talk honest(identity_of(2), identity_of(3), 3);
  ASSERT_EQ(honest.server_end, Progress::kDone);
  const Identity server_identity = identity_of(3);
  Wire wire;
  ServerHandshake server(server_identity, std::move(wire.server.first));
  write_now(wire.server.second.get(), honest.hello + honest.proof);
  EXPECT_EQ(server.step(), Progress::kFailed);
}

TEST(Handshake, ReflectedProofIsRefused) {
  const Identity server_identity = identity_of(3);
  Talk honest(identity_of(2), identity_of(3), 3);
  Wire wire;
  ServerHandshake server(server_identity, std::move(wire.server.first));
  write_now(wire.server.second.get(), honest.hello);
  EXPECT_EQ(server.step(), Progress::kAgain);
  const std::string reply = read_all_now(wire.server.second.get());
  ASSERT_EQ(reply.size(), sizeof(Reply));
  write_now(wire.server.second.get(), reply.substr(reply.size() - 32));  // reflects its own proof
  EXPECT_EQ(server.step(), Progress::kFailed);
}

TEST(Handshake, CallForAnotherRankOrJobIsClosedWithoutAnAnswer) {
  Talk other_rank(identity_of(2), identity_of(1), 3);
  EXPECT_EQ(other_rank.server_end, Progress::kFailed);
  EXPECT_EQ(other_rank.reply, "");
  Identity other_job = identity_of(2);
  other_job.job = 43;
  Talk job(other_job, identity_of(3), 3);
  EXPECT_EQ(job.server_end, Progress::kFailed);
  EXPECT_EQ(job.reply, "");
}

TEST(Handshake, OtherVersionIsNamedByTheClient) {
  Wire wire;
  const Identity identity = identity_of(2);
  ClientHandshake client(identity, 3, Stream::kData, 0, std::move(wire.client.first));
  EXPECT_EQ(client.step(), Progress::kAgain);
  std::string hello = read_all_now(wire.client.second.get());
  Reply reply;
  std::memcpy(&reply.magic, hello.data(), sizeof reply.magic);
  reply.version = kRingProtocol + 1;
  std::string bytes(sizeof reply, '\0');
  std::memcpy(bytes.data(), &reply, sizeof reply);
  write_now(wire.client.second.get(), bytes);
  EXPECT_EQ(client.step(), Progress::kFailed);
  EXPECT_EQ(client.dt_status(), DT_E_VERSION);
  EXPECT_NE(client.reason().find("version 4"), std::string::npos) << client.reason();
}

TEST(Handshake, ServerTellsItsVersionToAnotherOne) {
  Talk honest(identity_of(2), identity_of(3), 3);
  std::string hello = honest.hello;
  hello[4] = 9;  // the version
  const Identity server_identity = identity_of(3);
  Wire wire;
  ServerHandshake server(server_identity, std::move(wire.server.first));
  write_now(wire.server.second.get(), hello);
  EXPECT_EQ(server.step(), Progress::kFailed);
  EXPECT_EQ(read_all_now(wire.server.second.get()).size(), sizeof(Reply));
}

TEST(Handshake, PairsHaveDifferentKeysAndBothEndsHaveTheSame) {
  const Identity identity = identity_of(0);
  const auto text = [](const Key& key) {
    return to_hex({reinterpret_cast<const char*>(key.bytes().data()), key.bytes().size()});
  };
  EXPECT_EQ(text(pair_key(identity, 1, 2)), text(pair_key(identity, 2, 1)));
  EXPECT_NE(text(pair_key(identity, 1, 2)), text(pair_key(identity, 1, 3)));
}

TEST(Crypto, HkdfGivesTheBytesOfRfc5869) {
  const std::vector<std::uint8_t> secret(22, 0x0b);
  std::vector<std::uint8_t> salt, info;
  for (std::uint8_t i = 0; i <= 0x0c; ++i) salt.push_back(i);
  for (int i = 0xf0; i <= 0xf9; ++i) info.push_back(static_cast<std::uint8_t>(i));
  const Key key = hkdf_sha256(secret, salt, info);
  EXPECT_EQ(to_hex({reinterpret_cast<const char*>(key.bytes().data()), 32}),
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf");
}

}  // namespace
}  // namespace dtl::ring::handshake_test
