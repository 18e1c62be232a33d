// TLS between hosts: data arrives, only the key lets ranks in, and mismatched settings are
// reported. proxy_test.cc changes bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <future>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "ring/links/tcp_link.h"
#include "ring/links/tls.h"
#include "tests/ring/ring_support.h"

namespace dtl::ring::test::encrypt_test {
namespace {

using ::testing::HasSubstr;

Key key_of(std::uint8_t number) {
  Digest bytes{};
  bytes.fill(number);
  return Key(bytes);
}

struct Ends {
  explicit Ends(std::uint8_t of_server = 1,
                std::uint64_t records_of_one_key = Tls::kRecordsOfOneKey)
      : server(pair.first.get(), Tls::End::kServer, key_of(of_server), records_of_one_key),
        client(pair.second.get(), Tls::End::kClient, key_of(1), records_of_one_key) {}

  // Each end's final status.
  std::array<int, 2> shake_hands() {
    std::array<int, 2> results{EAGAIN, EAGAIN};
    for (int i = 0; i < 10; ++i) {
      if (results[0] == EAGAIN) results[0] = client.shake_hands();
      if (results[1] == EAGAIN) results[1] = server.shake_hands();
    }
    return results;
  }

  SocketPair pair = make_socketpair(SOCK_STREAM);
  Tls server, client;
};

iovec part_of(std::vector<char>& bytes, std::size_t from = 0) {
  return {bytes.data() + from, bytes.size() - from};
}

// Sends from one end to the other, stepping both in turn.
std::vector<char> carry(Tls& from, Tls& to, std::vector<char> head, std::vector<char> payload) {
  std::vector<char> received(head.size() + payload.size());
  for (std::size_t sent = 0, read = 0; read < received.size();) {
    std::vector<iovec> parts;
    if (sent < head.size()) parts.push_back(part_of(head, sent));
    parts.push_back(part_of(payload, sent < head.size() ? 0 : sent - head.size()));
    if (const ssize_t n = from.send(parts); n > 0) sent += static_cast<std::size_t>(n);
    const std::array<iovec, 1> rest{part_of(received, read)};
    const ssize_t n = to.receive(rest);
    if (n > 0) read += static_cast<std::size_t>(n);
    if (n == 0 || (n < 0 && errno != EAGAIN)) return {};
  }
  return received;
}

std::vector<char> pattern(std::size_t bytes) {
  std::vector<char> values(bytes);
  std::iota(values.begin(), values.end(), '\1');
  return values;
}

TEST(Tls, CarriesWhatItIsGiven) {
  Ends ends;
  ASSERT_EQ(ends.shake_hands(), (std::array<int, 2>{0, 0}));
  for (const std::size_t bytes : {0u, 1u, 16383u, 16384u, 16385u, 3000000u}) {
    const auto head = pattern(52), payload = pattern(bytes);
    std::vector<char> all = head;
    all.insert(all.end(), payload.begin(), payload.end());
    EXPECT_EQ(carry(ends.client, ends.server, head, payload), all) << bytes;
    EXPECT_EQ(carry(ends.server, ends.client, head, payload), all) << bytes;
  }
}

TEST(Tls, RenewsItsKeysAsItGoes) {
  Ends ends(1, 7);
  ASSERT_EQ(ends.shake_hands(), (std::array<int, 2>{0, 0}));
  const auto payload = pattern(5000000);
  EXPECT_EQ(carry(ends.client, ends.server, {}, payload), payload);
  EXPECT_EQ(carry(ends.server, ends.client, {}, payload), payload);
}

TEST(Tls, LetsNobodyInWithAnotherKey) {
  Ends ends(2);
  const auto results = ends.shake_hands();
  EXPECT_NE(results[0], 0);
  EXPECT_NE(results[1], 0);
  EXPECT_NE(results[1], EAGAIN) << "the server knows at once";
  EXPECT_FALSE(ends.server.failure().empty());
}

TEST(Tls, RefusesWhatWasChangedAndTellsTheOtherEnd) {
  Ends ends;
  ASSERT_EQ(ends.shake_hands(), (std::array<int, 2>{0, 0}));
  std::vector<char> text = pattern(100), record(4096);
  const std::array<iovec, 1> whole{part_of(text)}, room{part_of(record)};
  ASSERT_EQ(ends.client.send(whole), 100);
  const ssize_t n = ::recv(ends.pair.first.get(), record.data(), record.size(), 0);
  ASSERT_GT(n, 100);
  EXPECT_EQ(std::search(record.begin(), record.end(), text.begin(), text.end()), record.end());
  record[static_cast<std::size_t>(n) / 2] ^= 4;
  ASSERT_EQ(::send(ends.pair.second.get(), record.data(), static_cast<std::size_t>(n), 0), n);
  EXPECT_EQ(ends.server.receive(room), -1);
  EXPECT_EQ(errno, kAltered);
  ends.pair.first.reset();  // the end follows the reason
  EXPECT_EQ(ends.client.receive(room), -1);
  EXPECT_EQ(errno, kRejected);
}

struct Listener : Sink {
  std::optional<std::byte*> admit(int, const FrameHead&, const OperationHeader*) override {
    return buffer.data();
  }
  void arrived(int, const FrameHead&, std::byte*) override { ++frames; }
  void sent(int, const FrameHead&) override {}
  void left(int, std::uint64_t) override { ++farewells; }
  void broken(int, int error) override { errors.push_back(error); }

  int frames = 0, farewells = 0;
  std::array<std::byte, 8192> buffer{};
  std::vector<int> errors;
};

// Two links under TLS, with a proxy between them.
struct Between {
  Between() {
    int of_far = EAGAIN, of_near = EAGAIN;
    for (int i = 0; i < 10; ++i) {
      if (of_far == EAGAIN) of_far = far_tls->shake_hands();
      pass(to_far, to_near);
      if (of_near == EAGAIN) of_near = near_tls->shake_hands();
      pass(to_near, to_far);
    }
    EXPECT_EQ(of_far, 0);
    EXPECT_EQ(of_near, 0);
    near.add_stream(Lane::kBulk, 0, Channel(std::move(near_end.second), std::move(near_tls)));
    far->add_stream(Lane::kBulk, 0, Channel(std::move(far_end.second), std::move(far_tls)));
  }
  // Passes all bytes on; flips a bit of byte number `turned`.
  static void pass(const Fd& from, const Fd& to, std::size_t turned = ~std::size_t{0}) {
    std::array<char, 16384> bytes;
    const ssize_t n = ::recv(from.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (n <= 0) return;
    if (turned < static_cast<std::size_t>(n)) bytes[turned] ^= 16;
    EXPECT_EQ(::send(to.get(), bytes.data(), static_cast<std::size_t>(n), MSG_NOSIGNAL), n);
  }
  void say_something() {
    FrameHead head;
    head.magic = kFrameMagic;
    head.lane = static_cast<std::uint8_t>(Lane::kBulk);
    head.bytes = static_cast<std::uint32_t>(payload.size());
    far->begin(head, nullptr, payload.data(), nullptr);
    Listener nobody;
    far->step(nobody);
    EXPECT_TRUE(far->say_farewell(1));
  }
  void read(TcpLink& link, Sink& sink) const {
    for (int i = 0; i < 4; ++i) {
      link.set_ready(&link == &near ? near_fd : far_fd, true, true, false);
      link.step(sink);
    }
  }

  SocketPair near_end = make_socketpair(SOCK_STREAM), far_end = make_socketpair(SOCK_STREAM);
  int near_fd = near_end.second.get(), far_fd = far_end.second.get();
  Fd &to_near = near_end.first, &to_far = far_end.first;
  std::unique_ptr<Tls> near_tls =
      std::make_unique<Tls>(near_end.second.get(), Tls::End::kServer, key_of(1));
  std::unique_ptr<Tls> far_tls =
      std::make_unique<Tls>(far_end.second.get(), Tls::End::kClient, key_of(1));
  std::vector<std::byte> payload = std::vector<std::byte>(8000);
  TcpLink near{1, false};
  std::optional<TcpLink> far{std::in_place, 0, true};
};

TEST(EncryptedLink, CarriesFramesAndTheFarewellBehindThem) {
  Between between;
  between.say_something();
  Between::pass(between.to_far, between.to_near);
  Listener listener;
  between.read(between.near, listener);
  EXPECT_EQ(listener.frames, 1);
  EXPECT_EQ(listener.farewells, 1);
  EXPECT_TRUE(listener.errors.empty());
}

TEST(EncryptedLink, TakesNothingThatWasChangedAndBothEndsKnow) {
  for (const std::size_t turned : {0u, 1u, 7u, 4000u, 8040u}) {
    SCOPED_TRACE(turned);
    Between between;
    between.say_something();
    Between::pass(between.to_far, between.to_near, turned);
    Listener near, far;
    between.read(between.near, near);
    EXPECT_EQ(near.frames, 0);
    EXPECT_EQ(near.errors, std::vector<int>{kAltered});
    Between::pass(between.to_near, between.to_far);
    between.read(*between.far, far);
    EXPECT_EQ(far.errors, std::vector<int>{kRejected});
  }
}

// Not that the rank was lost, although its link has ended.
TEST(EncryptedLink, SaysThatItWasChangedWhenTheOtherEndHasClosed) {
  Between between;
  between.say_something();
  between.far.reset();
  Between::pass(between.to_far, between.to_near, 4000);
  between.to_near.reset();
  Listener near;
  between.read(between.near, near);
  EXPECT_EQ(near.frames, 0);
  EXPECT_EQ(near.errors, std::vector<int>{kAltered});
}

int sum_of_all_sizes(dt_comm* comm, int world) {
  for (const std::size_t count : {0u, 1u, 1000u, 20000u, 700000u}) {
    std::vector<float> values(count, 1);
    const int status = allreduce(comm, values);
    if (status != DT_OK) return status;
    EXPECT_EQ(values, std::vector<float>(count, static_cast<float>(world)));
    std::vector<std::uint8_t> out(count * static_cast<std::size_t>(world)), in(out.size(), 7);
    dt_work work = 0;
    const int begun = dt_alltoall(comm, in.data(), out.data(), count, DT_U8, 0, &work);
    EXPECT_EQ(wait_for(comm, begun, work), DT_OK);
    EXPECT_EQ(in, out);
  }
  return DT_OK;
}

void encrypt(dt_options& options) {
  options.flags |= DT_ENCRYPT;
}

Tuning on_loopback() {
  Tuning tuning;
  tuning.encrypts_all = true;
  return tuning;
}

class Encrypted : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(By, Encrypted,
                         ::testing::Values("oneshot", "doubling", "leaders", "halving", "groups",
                                           "direct", "ring"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST_P(Encrypted, RingsGiveTheSameSums) {
  for (const int world : {2, 3, 5}) {
    const auto adjust = [&](dt_options& options) {
      encrypt(options);
      options.allreduce = GetParam();
      options.streams = world;
    };
    run_ranks(world, on_loopback(), adjust, [&](dt_comm* comm, int) {
      EXPECT_EQ(sum_of_all_sizes(comm, world), DT_OK) << last_error(comm);
      std::array<char, 2048> stats{};
      dt_stats_json(comm, stats.data(), stats.size());
      EXPECT_THAT(stats.data(), HasSubstr("\"encrypted\":true"));
    });
  }
}

TEST(Encryption, HoldsForPartsOfACommunicator) {
  run_ranks(4, on_loopback(), encrypt, [&](dt_comm* comm, int rank) {
    dt_comm* part = nullptr;
    ASSERT_EQ(dt_comm_split(comm, rank % 2, 0, &part), DT_OK) << last_error(comm);
    const CommPtr owner(part);
    EXPECT_EQ(sum_of_all_sizes(part, 2), DT_OK) << last_error(part);
    std::array<char, 2048> stats{};
    dt_stats_json(part, stats.data(), stats.size());
    EXPECT_THAT(stats.data(), HasSubstr("\"encrypted\":true"));
  });
}

// Each rank's result in a world in which only some ranks encrypt.
std::vector<Joined> meet_with(const std::vector<bool>& encrypts) {
  const Place place = free_place();
  std::vector<std::future<Joined>> ranks;
  for (std::size_t rank = 0; rank < encrypts.size(); ++rank) {
    dt_options options =
        options_for(place, static_cast<int>(rank), static_cast<int>(encrypts.size()));
    if (encrypts[rank]) encrypt(options);
    ranks.push_back(join_later(options));
  }
  std::vector<Joined> joined;
  for (auto& rank : ranks) joined.push_back(rank.get());
  return joined;
}

TEST(Encryption, OfSomeRanksOnlyIsAMismatchThatAllName) {
  const auto joined = meet_with({true, true, false});
  for (const Joined& rank : joined) EXPECT_EQ(rank.status, DT_E_MISMATCH) << rank.error;
  for (const std::size_t rank : {0, 1}) {
    EXPECT_THAT(joined[rank].error,
                HasSubstr("rank 2 was started without encryption, rank 0 (node00) with"));
  }
  EXPECT_THAT(joined[2].error, HasSubstr("it was started with encryption, rank 2 without"));
}

TEST(Encryption, OfAllButRankZeroIsAMismatchThatAllName) {
  const auto joined = meet_with({false, true, true});
  for (const Joined& rank : joined) EXPECT_EQ(rank.status, DT_E_MISMATCH) << rank.error;
  EXPECT_THAT(joined[0].error, HasSubstr("rank 1, rank 2 was started with encryption"));
  for (const std::size_t rank : {1, 2}) {
    EXPECT_THAT(joined[rank].error, HasSubstr("cannot join rank 0"));
    EXPECT_THAT(joined[rank].error, HasSubstr("it was started without encryption"));
  }
}

}  // namespace
}  // namespace dtl::ring::test::encrypt_test
