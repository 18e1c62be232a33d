#pragma once
// Rings for tests: ranks as threads or processes of one machine, on the loopback interface.

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "ring/api/comm.h"
#include "ring/dtring.h"

namespace dtl::ring::test {

// A free port on a loopback address that only this process uses, so that parallel tests cannot
// meet.
struct Place {
  std::string address;
  int port = 0;
};
Place free_place(int family = 2 /* AF_INET */);

// The secret of all test rings, unless a test needs another one.
const std::array<std::uint8_t, 32>& test_secret();

// Points into `place`, which must outlive it.
dt_options options_for(const Place& place, int rank, int world);
dt_options options_for(Place&& place, int rank, int world) = delete;

struct Destroyer {
  void operator()(dt_comm* comm) const { dt_comm_destroy(comm); }
};
using CommPtr = std::unique_ptr<dt_comm, Destroyer>;

std::string last_error(dt_comm* comm);

// A rank that joins on its own thread; what `options` point to must outlive it.
struct Joined {
  int status = 0;
  CommPtr comm;
  std::string error;
};
// With a tuning, not by dt_comm_create.
std::future<Joined> join_later(const dt_options& options,
                               const std::optional<Tuning>& tuning = std::nullopt);
// Checks that all have joined and pass a barrier.
void expect_ring_works(std::vector<std::future<Joined>>& ranks);

// A plain client for the master port; retries until rank 0 listens.
Fd connect_stranger(const Place& place);

// Runs body(comm, rank) on a thread per rank, after all have joined. A rank that cannot join fails
// the test. Destroys the communicators at the end.
using Body = std::function<void(dt_comm* comm, int rank)>;
void run_ranks(int world, const Body& body);
void run_ranks(int world, const Tuning& tuning, const std::function<void(dt_options&)>& adjust,
               const Body& body);
// The same with nodes: rank r is on node r / per_node. In run_ranks, each rank has its own.
void run_nodes(int world, int per_node, const std::function<void(dt_options&)>& adjust,
               const Body& body);

// One rank as a process. The body's result is its exit status; it must not use gtest.
class RankProcess {
 public:
  RankProcess(const dt_options& options, const std::function<int(dt_comm*)>& body)
      : RankProcess(options, std::nullopt, body) {}
  RankProcess(const dt_options& options, const std::optional<Tuning>& tuning,
              const std::function<int(dt_comm*)>& body);
  ~RankProcess();
  RankProcess(RankProcess&& other) noexcept;
  RankProcess& operator=(RankProcess&&) = delete;

  void kill_now();            // SIGKILL
  void wait_ready();          // until the body calls say_ready()
  std::string wait_report();  // the body's report, after it ends
  int wait_status();          // exit status, or 128 + signal

  // For the body.
  static void say_ready();
  static void report(const std::string& text);

 private:
  pid_t pid_ = -1;
  int from_child_ = -1;
  std::string received_;
};

int wait_for(dt_comm* comm, int submit_status, dt_work work);

// Submits and waits; returns the status.
int allreduce(dt_comm* comm, std::vector<float>& values, std::uint64_t tag = 0);
int barrier(dt_comm* comm, std::uint64_t tag = 0);

}  // namespace dtl::ring::test
