// A bad network: data arrives late and in small pieces, and connections are cut at any byte. Every
// run ends with right sums or a named error.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <future>
#include <list>
#include <mutex>
#include <random>
#include <thread>

#include "base/fd.h"
#include "ring/common/comm_error.h"
#include "ring/common/socket.h"
#include "tests/ring/ring_support.h"

namespace dtl::ring::test::proxy_test {
namespace {

using Clock = std::chrono::steady_clock;

struct Manners {
  unsigned seed = 0;
  unsigned most_piece = 4096;    // bytes per write
  std::uint64_t splinters = 0;   // this many first bytes go one by one
  std::uint64_t cut_at = ~0ull;  // in bytes, over all connections
  bool resets = false;           // cut by a reset, not an end
  unsigned most_delay_us = 0;
};

// A proxy in front of rank 0, for all connections to it.
class Proxy {
 public:
  Proxy(const Place& rank_zero, const Manners& manners)
      : to_(resolve(rank_zero.address, rank_zero.port).front()),
        manners_(manners),
        listener_(listen_beside(to_)),
        thread_([this] { accept_all(); }) {}
  ~Proxy() {
    stops_ = true;
    thread_.join();
    const std::lock_guard lock(mutex_);
    for (Connection& each : connections_) {
      ::shutdown(each.near.get(), SHUT_RDWR);
      ::shutdown(each.far.get(), SHUT_RDWR);
      for (std::thread& thread : each.threads) thread.join();
    }
  }
  int port() const { return local_address(listener_.get()).port(); }
  bool has_cut() const { return has_cut_; }
  // Flips one bit of the byte that comes after this many more.
  void turn_a_bit_after(std::uint64_t bytes) { turn_at_ = passed_ + bytes; }

 private:
  struct Connection {
    Fd near, far;
    std::array<std::thread, 2> threads;
  };

  // Rank 0 does not listen yet, so a listener may get its port.
  static Fd listen_beside(const Address& rank_zero) {
    Fd first = listen_on(rank_zero.with_port(0), 64);
    if (local_address(first.get()).port() != rank_zero.port()) return first;
    return listen_on(rank_zero.with_port(0), 64);
  }

  static void set_blocking(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK); }

  void accept_all() {
    while (!stops_) {
      pollfd entry{listener_.get(), POLLIN, 0};
      if (::poll(&entry, 1, 1) != 1) continue;
      Fd near(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!near.valid()) continue;
      Fd far;
      try {
        far = start_connect(to_);
      } catch (const CommError&) {
        continue;  // rank 0 has closed, or no descriptors are left: cut
      }
      pollfd connecting{far.get(), POLLOUT, 0};
      if (::poll(&connecting, 1, 5000) != 1 || pending_error(far.get()) != 0) continue;
      set_blocking(near.get());
      set_blocking(far.get());
      const std::lock_guard lock(mutex_);
      Connection& made = connections_.emplace_back();
      made.near = std::move(near);
      made.far = std::move(far);
      const auto seed = static_cast<unsigned>(manners_.seed * 100 + 2 * connections_.size());
      made.threads[0] = std::thread([this, &made, seed] { pass(made, false, seed); });
      made.threads[1] = std::thread([this, &made, seed] { pass(made, true, seed + 1); });
    }
  }

  void pass(const Connection& connection, bool is_back, unsigned seed) {
    const int from = (is_back ? connection.far : connection.near).get();
    const int to = (is_back ? connection.near : connection.far).get();
    std::mt19937 random(seed);
    std::array<char, 4096> bytes;
    for (;;) {
      const std::size_t most =
          passed_ < manners_.splinters ? 1 : 1 + random() % manners_.most_piece;
      const ssize_t n = ::recv(from, bytes.data(), most, 0);
      if (n <= 0) break;
      if (manners_.most_delay_us > 0 && random() % 16 == 0) {
        const auto delay = std::chrono::microseconds(random() % manners_.most_delay_us);
        std::this_thread::sleep_for(delay);
      }
      const std::uint64_t before = passed_.fetch_add(static_cast<std::uint64_t>(n));
      const std::uint64_t turned = turn_at_ - before;
      if (turned < static_cast<std::uint64_t>(n)) bytes[turned] ^= static_cast<char>(1 << seed % 7);
      if (before >= manners_.cut_at && !has_cut_.exchange(true)) {
        if (manners_.resets) {
          sockaddr nowhere{};
          nowhere.sa_family = AF_UNSPEC;  // disconnects by a reset
          // ThreadSanitizer thinks that connect() creates a descriptor and would report a race with
          // the thread that receives from it. So use syscall().
          for (const int fd : {from, to}) ::syscall(SYS_connect, fd, &nowhere, sizeof nowhere);
        }
        break;
      }
      ssize_t sent = 0;
      while (sent < n) {
        const ssize_t more =
            ::send(to, bytes.data() + sent, static_cast<std::size_t>(n - sent), MSG_NOSIGNAL);
        if (more <= 0) break;
        sent += more;
      }
      if (sent < n) break;
    }
    ::shutdown(from, SHUT_RDWR);
    ::shutdown(to, SHUT_RDWR);
  }

  const Address to_;
  const Manners manners_;
  Fd listener_;
  std::atomic<bool> stops_{false}, has_cut_{false};
  std::atomic<std::uint64_t> passed_{0}, turn_at_{~0ull};
  std::mutex mutex_;
  std::list<Connection> connections_;
  std::thread thread_;
};

struct Outcome {
  int status = DT_OK;
  std::string text;
  int wrong = 0;
};

Outcome run_rank(const Place& rank_zero, int port, int rank, int world, unsigned seed) {
  Outcome outcome;
  dt_options options = options_for(rank_zero, rank, world);
  if (rank > 0) options.master_port = port;
  options.connect_timeout_ms = 2500;
  options.operation_timeout_ms = 5000;
  options.streams = 1 + static_cast<int>(seed % 3);
  options.allreduce = seed % 2 == 0 ? "oneshot:0-8K;direct:8K-max" : "doubling:0-8K;ring:8K-max";
  Comm* created = nullptr;
  Tuning tuning;
  tuning.node = "none";
  outcome.status = create_comm(options, tuning, &created);
  const CommPtr comm(reinterpret_cast<dt_comm*>(created));
  std::mt19937 random(seed);  // the same on all ranks
  for (int i = 0; i < 6 && outcome.status == DT_OK; ++i) {
    const std::size_t count = random() % (i % 2 == 0 ? 6000 : 500);
    std::vector<float> values(count);
    for (std::size_t k = 0; k < count; ++k) values[k] = static_cast<float>((k + seed) % 97);
    const std::vector<float> own = values;
    outcome.status = allreduce(comm.get(), values, seed);
    for (std::size_t k = 0; outcome.status == DT_OK && k < count; ++k) {
      outcome.wrong += values[k] == own[k] * static_cast<float>(world) ? 0 : 1;
    }
  }
  // No rank leaves before all have finished.
  if (outcome.status == DT_OK) outcome.status = barrier(comm.get());
  outcome.text = last_error(comm.get());
  return outcome;
}

Manners manners_of(unsigned seed) {
  std::mt19937 random(seed * 7919 + 1);
  Manners manners;
  manners.seed = seed;
  manners.most_piece = std::array{4096u, 700u, 97u}[random() % 3];
  manners.splinters = random() % 2 == 0 ? 0 : random() % 2000;
  manners.most_delay_us = random() % 3 == 0 ? 1000 : 0;
  if (seed % 4 != 0) manners.cut_at = random() % (random() % 2 == 0 ? 4000 : 100000);
  manners.resets = random() % 2 == 0;
  return manners;
}

void run_seed(unsigned seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  const int world = 2 + static_cast<int>(seed % 2);
  const Place place = free_place();
  Proxy proxy(place, manners_of(seed));
  std::vector<Outcome> outcomes(static_cast<std::size_t>(world));
  std::vector<std::thread> threads;
  const auto start = Clock::now();
  for (int rank = 0; rank < world; ++rank) {
    threads.emplace_back([&, rank] {
      outcomes[static_cast<std::size_t>(rank)] = run_rank(place, proxy.port(), rank, world, seed);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(12));
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.wrong, 0);
    if (!proxy.has_cut()) {
      EXPECT_EQ(outcome.status, DT_OK) << outcome.text;
    } else if (outcome.status != DT_OK) {
      // DT_E_AUTH: a cut during the handshake looks like another job's rank.
      const std::array expected{DT_E_PEER, DT_E_TIMEOUT, DT_E_AUTH};
      EXPECT_NE(std::find(expected.begin(), expected.end(), outcome.status), expected.end())
          << outcome.status << ": " << outcome.text;
      EXPECT_NE(outcome.text.find("rank "), std::string::npos) << outcome.text;
    }
  }
}

unsigned seeds() {
  const char* wanted = std::getenv("DTRING_PROXY_SEEDS");  // for a longer run
  return wanted == nullptr ? 200 : static_cast<unsigned>(std::atoi(wanted));
}

// In parts that run in parallel, each on several threads: a run mostly waits.
constexpr unsigned kParts = 4, kThreads = 4;
class BadNetwork : public ::testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Part, BadNetwork, ::testing::Range(0u, kParts),
                         [](const auto& tested) { return std::to_string(tested.param); });

TEST_P(BadNetwork, GivesRightSumsOrANamedError) {
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i) {
    threads.emplace_back([first = GetParam() * kThreads + i] {
      for (unsigned seed = first; seed < seeds(); seed += kParts * kThreads) run_seed(seed);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

CommPtr join_under_tls(const Place& rank_zero, int port, int rank) {
  dt_options options = options_for(rank_zero, rank, 3);
  if (rank > 0) options.master_port = port;
  options.flags |= DT_ENCRYPT;
  Tuning tuning;
  tuning.node = "none";
  tuning.encrypts_all = true;
  Comm* created = nullptr;
  EXPECT_EQ(create_comm(options, tuning, &created), DT_OK);
  return CommPtr(reinterpret_cast<dt_comm*>(created));
}

std::string first_error(dt_comm* comm) {
  const auto deadline = Clock::now() + std::chrono::seconds(20);
  while (last_error(comm).empty() && Clock::now() < deadline) ::poll(nullptr, 0, 1);
  return last_error(comm);
}

// A rank's farewell is changed on its way to rank 0. The rank closes first.
TEST(AlteredNetwork, IsNamedByAllRanksAndNoRankIsLost) {
  for (const std::uint64_t bytes : {0, 8, 30}) {
    SCOPED_TRACE(bytes);
    const Place place = free_place();
    Manners manners;
    manners.seed = static_cast<unsigned>(bytes);
    Proxy proxy(place, manners);
    std::array<std::future<CommPtr>, 3> joining;
    for (int rank = 0; rank < 3; ++rank) {
      joining[static_cast<std::size_t>(rank)] =
          std::async(std::launch::async, join_under_tls, std::cref(place), proxy.port(), rank);
    }
    std::array<CommPtr, 3> ranks;
    for (std::size_t rank = 0; rank < 3; ++rank) ranks[rank] = joining[rank].get();
    proxy.turn_a_bit_after(bytes);
    ranks[1].reset();
    for (const std::size_t rank : {0, 2}) {
      EXPECT_EQ(first_error(ranks[rank].get()),
                "what rank 1 (node01) sent to rank 0 (node00) was changed on its way: "
                "TLS refuses it");
    }
  }
}

}  // namespace
}  // namespace dtl::ring::test::proxy_test
