#include "tests/ring/ring_support.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <future>
#include <thread>

#include "base/fd.h"
#include "base/machine/descriptor_limit.h"
#include "ring/common/socket.h"

namespace dtl::ring::test {
namespace {

int to_parent = -1;  // pipe of a rank process
constexpr char kReady = '\1';

// All ranks of a ring are threads of this program, whose soft limit may be 1,024.
[[maybe_unused]] const bool kLimitIsRaised = (raise_descriptor_limit(), true);

int create(const dt_options& options, const std::optional<Tuning>& tuning, CommPtr& comm) {
  dt_comm* created = nullptr;
  int status = 0;
  if (tuning) {
    Comm* tuned = nullptr;
    status = create_comm(options, *tuning, &tuned);
    created = reinterpret_cast<dt_comm*>(tuned);
  } else {
    status = dt_comm_create(&options, &created);
  }
  comm.reset(created);
  return status;
}

void run_threads(int world, const std::function<void(dt_options&)>& adjust, const Body& body,
                 const std::function<Tuning(int rank)>& tuning_of) {
  const Place place = free_place();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < world; ++rank) {
    threads.emplace_back([&, rank] {
      dt_options options = options_for(place, rank, world);
      if (adjust) adjust(options);
      CommPtr comm;
      const int status = create(options, tuning_of(rank), comm);
      ASSERT_EQ(status, DT_OK) << "rank " << rank << ": " << last_error(comm.get());
      body(comm.get(), rank);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

Place free_place(int family) {
  static std::atomic<unsigned> calls{0};
  Place place;
  if (family == AF_INET6) {
    place.address = "::1";
  } else {
    const auto pid = static_cast<unsigned>(::getpid());
    place.address = "127." + std::to_string(1 + (pid >> 16) % 200) + "." +
                    std::to_string((pid >> 8) & 255) + "." + std::to_string(1 + (pid & 255) % 254);
  }
  (void)calls;
  const Fd probe = listen_on(resolve(place.address, 0).front(), 1);
  place.port = local_address(probe.get()).port();
  return place;
}

const std::array<std::uint8_t, 32>& test_secret() {
  static const std::array<std::uint8_t, 32> secret = [] {
    std::array<std::uint8_t, 32> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * 7 + 1);
    return bytes;
  }();
  return secret;
}

dt_options options_for(const Place& place, int rank, int world) {
  static const std::array<std::string, 4> hosts{"node00", "node01", "node02", "node03"};
  dt_options options;
  dt_options_init(&options, sizeof options);
  options.rank = rank;
  options.world = world;
  options.master_address = place.address.c_str();
  options.master_port = place.port;
  options.host_name = hosts[static_cast<std::size_t>(rank) % hosts.size()].c_str();
  options.secret = test_secret().data();
  options.secret_bytes = 32;
  options.job = 42;
  options.connect_timeout_ms = 20000;
  options.operation_timeout_ms = 60000;
  return options;
}

std::string last_error(dt_comm* comm) {
  std::array<char, 2048> text{};
  dt_last_error(comm, text.data(), text.size());
  return text.data();
}

std::future<Joined> join_later(const dt_options& options, const std::optional<Tuning>& tuning) {
  return std::async(std::launch::async, [options, tuning] {
    Joined joined;
    joined.status = create(options, tuning, joined.comm);
    joined.error = last_error(joined.comm.get());
    return joined;
  });
}

Fd connect_stranger(const Place& place) {
  const Address address = resolve(place.address, place.port).front();
  for (;;) {
    Fd fd = start_connect(address);
    pollfd entry{fd.get(), POLLOUT, 0};
    if (::poll(&entry, 1, 5000) == 1 && pending_error(fd.get()) == 0) return fd;
    ::poll(nullptr, 0, 5);
  }
}

void expect_ring_works(std::vector<std::future<Joined>>& ranks) {
  std::vector<Joined> joined;
  for (auto& rank : ranks) {
    joined.push_back(rank.get());
    ASSERT_EQ(joined.back().status, DT_OK) << joined.back().error;
  }
  std::vector<std::future<int>> barriers;
  for (auto& rank : joined) {
    barriers.push_back(
        std::async(std::launch::async, [comm = rank.comm.get()] { return barrier(comm); }));
  }
  for (auto& one : barriers) EXPECT_EQ(one.get(), DT_OK);
}

void run_ranks(int world, const Body& body) {
  run_ranks(world, {}, {}, body);
}

void run_ranks(int world, const Tuning& tuning, const std::function<void(dt_options&)>& adjust,
               const Body& body) {
  run_threads(world, adjust, body, [&](int) {
    Tuning own = tuning;
    if (own.node.empty()) own.node = "none";
    return own;
  });
}

void run_nodes(int world, int per_node, const std::function<void(dt_options&)>& adjust,
               const Body& body) {
  run_threads(world, adjust, body, [&](int rank) {
    Tuning own;
    own.node = "node" + std::to_string(rank / per_node);
    return own;
  });
}

RankProcess::RankProcess(const dt_options& options, const std::optional<Tuning>& tuning,
                         const std::function<int(dt_comm*)>& body) {
  Pipe pipe = make_pipe();
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("fork failed");
  if (pid_ == 0) {
    to_parent = pipe.write_end.release();
    pipe.read_end.reset();
    CommPtr comm;
    int result = 99;
    if (create(options, tuning, comm) == DT_OK) {
      result = body(comm.get());
    } else {
      report(last_error(comm.get()));
    }
    comm.reset();
    ::_exit(result);
  }
  from_child_ = pipe.read_end.release();
}

RankProcess::RankProcess(RankProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      from_child_(std::exchange(other.from_child_, -1)),
      received_(std::move(other.received_)) {}

RankProcess::~RankProcess() {
  if (pid_ > 0) {
    kill_now();
    wait_status();
  }
  if (from_child_ >= 0) ::close(from_child_);
}

void RankProcess::kill_now() {
  ::kill(pid_, SIGKILL);
}

void RankProcess::wait_ready() {
  char byte = 0;
  while (received_.find(kReady) == std::string::npos && ::read(from_child_, &byte, 1) == 1) {
    received_ += byte;
  }
}

std::string RankProcess::wait_report() {
  char byte = 0;
  while (::read(from_child_, &byte, 1) == 1) received_ += byte;
  std::erase(received_, kReady);
  return received_;
}

int RankProcess::wait_status() {
  int status = 0;
  if (::waitpid(std::exchange(pid_, -1), &status, 0) < 0) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void RankProcess::say_ready() {
  (void)!::write(to_parent, &kReady, 1);
}

void RankProcess::report(const std::string& text) {
  (void)!::write(to_parent, text.data(), text.size());
}

int wait_for(dt_comm* comm, int submit_status, dt_work work) {
  return submit_status == DT_OK ? dt_wait(comm, work, -1) : submit_status;
}

int allreduce(dt_comm* comm, std::vector<float>& values, std::uint64_t tag) {
  dt_work work = 0;
  const int status = dt_allreduce(comm, values.data(), values.data(), values.size(), DT_F32, DT_SUM,
                                  DT_WIRE_DEFAULT, tag, &work);
  return wait_for(comm, status, work);
}

int barrier(dt_comm* comm, std::uint64_t tag) {
  dt_work work = 0;
  const int status = dt_barrier(comm, tag, &work);
  return wait_for(comm, status, work);
}

}  // namespace dtl::ring::test
