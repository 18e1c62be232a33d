#pragma once
// The communicator of dtring-perf: wraps dtring.h and converts failures to an Error with the
// operation, the peer and the cause. Only uses the C ABI, as a user's program would. Helpers wait
// until they are done. One thread.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ring/dtring.h"

namespace dtl::ring {

class PerfComm {
 public:
  // Under a launcher from the environment; a world of one if RANK is not set.
  static PerfComm join();
  // attempt: names the failed action in messages.
  static PerfComm create(const dt_options& options, const std::string& attempt);

  dt_comm* get() const { return comm_.get(); }
  int rank() const { return rank_; }
  int world() const { return world_; }

  // `status`: result of the calls that returned these ids.
  void finish(int status, const std::vector<dt_work>& works);
  void barrier();
  void combine(std::vector<double>& values, int op);  // over all ranks, element by element
  std::uint64_t sum(std::uint64_t value);
  std::vector<std::string> gather(std::string own);  // texts of up to 63 bytes, by rank
  PerfComm split();                                  // another communicator of the same ranks
  std::string stats();                               // dt_stats_json, or empty

 private:
  struct Destroy {
    void operator()(dt_comm* comm) const { dt_comm_destroy(comm); }
  };

  explicit PerfComm(dt_comm* comm);

  std::unique_ptr<dt_comm, Destroy> comm_;
  int rank_ = 0, world_ = 1;
};

// This rank's hostname: DTLAUNCH_HOST, else the system's.
std::string told_host_name();

}  // namespace dtl::ring
