// Ranks that leave in order, and others that read late what they sent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <future>
#include <utility>
#include <vector>

#include "ring/links/tcp_link.h"
#include "tests/ring/ring_support.h"

namespace dtl::ring::test::farewell_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// After this, a link that ended without a farewell would count as lost.
constexpr int kLate_ms = 400;

struct Listener : Sink {
  std::optional<std::byte*> admit(int, const FrameHead&, const OperationHeader*) override {
    return admits ? std::optional(buffer.data()) : std::nullopt;
  }
  void arrived(int, const FrameHead&, std::byte*) override { ++frames; }
  void sent(int, const FrameHead&) override {}
  void left(int, std::uint64_t completed) override { farewells.push_back(completed); }
  void broken(int, int error) override { errors.push_back(error); }

  bool admits = true;
  int frames = 0;
  std::array<std::byte, 64> buffer{};
  std::vector<std::uint64_t> farewells;
  std::vector<int> errors;
};

// A link with one connection for each of two lanes, and its other end.
struct Pair {
  Pair() {
    for (const Lane lane : {Lane::kSmall, Lane::kBulk}) {
      std::array<int, 2> ends{};
      EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()),
                0);
      near_fds.push_back(ends[0]);
      near.add_stream(lane, 0, Fd(ends[0]));
      far->add_stream(lane, 0, Fd(ends[1]));
    }
  }
  void send_frame() {
    FrameHead head;
    head.magic = kFrameMagic;
    head.lane = static_cast<std::uint8_t>(Lane::kBulk);
    far->begin(head, nullptr, nullptr, nullptr);
    Listener nobody;
    far->step(nobody);
  }
  void read_all(Sink& sink) {
    for (int i = 0; i < 4; ++i) {
      for (const int fd : near_fds) near.set_ready(fd, true, false, false);
      near.step(sink);
    }
  }

  std::vector<int> near_fds;
  TcpLink near{1, false};
  std::optional<TcpLink> far{std::in_place, 0, true};
};

TEST(Farewell, EndsALinkInOrder) {
  Pair pair;
  pair.send_frame();
  EXPECT_TRUE(pair.far->say_farewell(7));
  pair.far.reset();
  Listener listener;
  pair.read_all(listener);
  EXPECT_EQ(listener.frames, 1);
  EXPECT_THAT(listener.farewells, ElementsAre(7, 7));
  EXPECT_TRUE(listener.errors.empty());
  EXPECT_TRUE(pair.near.has_ended());
}

TEST(Farewell, IsHeardBehindWhatWasSentBefore) {
  Pair pair;
  pair.send_frame();
  EXPECT_TRUE(pair.far->say_farewell(7));
  pair.far.reset();
  Listener listener;
  listener.admits = false;
  pair.read_all(listener);
  EXPECT_EQ(listener.farewells.size(), 1U) << "of the lane in which nothing waits";
  EXPECT_FALSE(pair.near.has_ended());
  listener.admits = true;
  pair.read_all(listener);
  EXPECT_EQ(listener.farewells.size(), 2U);
  EXPECT_TRUE(pair.near.has_ended());
}

TEST(Farewell, IsMissedWhereALinkIsCutOff) {
  Pair pair;
  pair.send_frame();
  pair.far.reset();
  Listener listener;
  pair.read_all(listener);
  EXPECT_EQ(listener.frames, 1);
  EXPECT_TRUE(listener.farewells.empty());
  EXPECT_THAT(listener.errors, ElementsAre(0, 0));
}

// Three ranks on three nodes.
struct Ring {
  Ring() {
    const auto join = [this](int rank) {
      const dt_options options = options_for(place, rank, 3);
      Tuning tuning;
      tuning.node = "none";
      Comm* comm = nullptr;
      EXPECT_EQ(create_comm(options, tuning, &comm), DT_OK);
      return CommPtr(reinterpret_cast<dt_comm*>(comm));
    };
    std::array<std::future<CommPtr>, 3> all;
    for (int rank = 0; rank < 3; ++rank) {
      all[static_cast<std::size_t>(rank)] = std::async(std::launch::async, join, rank);
    }
    for (std::size_t rank = 0; rank < 3; ++rank) ranks[rank] = all[rank].get();
  }

  const Place place = free_place();
  std::array<CommPtr, 3> ranks;
};

int broadcast(dt_comm* comm, std::vector<float>& values) {
  dt_work work = 0;
  const int status = dt_broadcast(comm, values.data(), values.size(), DT_F32, 2, 0, &work);
  return wait_for(comm, status, work);
}

// Rank 0 leaves first, so nobody forwards what the control lines say of the others.
TEST(Farewell, IsNoLossForARankThatComesLateToTheLastOperation) {
  Ring ring;
  std::array<std::future<int>, 3> left;
  for (const std::size_t rank : {0, 2}) {
    left[rank] = std::async(std::launch::async, [&ring, rank] {
      std::vector<float> values(5000, static_cast<float>(rank));
      const int status = broadcast(ring.ranks[rank].get(), values);
      if (rank == 0) ring.ranks[rank].reset();
      return status;
    });
  }
  EXPECT_EQ(left[0].get(), DT_OK);
  EXPECT_EQ(left[2].get(), DT_OK);
  ring.ranks[2].reset();
  ::poll(nullptr, 0, kLate_ms);
  std::vector<float> values(5000);
  EXPECT_EQ(broadcast(ring.ranks[1].get(), values), DT_OK) << last_error(ring.ranks[1].get());
  EXPECT_EQ(values, std::vector<float>(5000, 2));
}

TEST(Farewell, SaysThatLaterOperationsCannotComplete) {
  Ring ring;
  ring.ranks[0].reset();
  ring.ranks[2].reset();
  std::vector<float> values(5000);
  EXPECT_EQ(broadcast(ring.ranks[1].get(), values), DT_E_PEER);
  EXPECT_THAT(last_error(ring.ranks[1].get()), HasSubstr("has left after 0 operations"));
}

}  // namespace
}  // namespace dtl::ring::test::farewell_test
