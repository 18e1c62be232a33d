#pragma once
// Ranks: the ranks of this job, connected by libdtring, which a single rank does not need. One
// thread. Every failure is an Error; after the first, only call abort and the destructor.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "ring/dtring.h"

namespace dtl::trainer {

class Ranks {
 public:
  Ranks() = default;                      // a single rank
  explicit Ranks(dt_comm* communicator);  // takes ownership
  // Without WORLD_SIZE, or if it is 1: a single rank. Blocks until all ranks have connected.
  static Ranks join();

  int rank() const { return rank_; }
  int size() const { return size_; }

  void broadcast(void* data, std::uint64_t bytes, std::uint64_t tag);  // from rank 0
  // Starts data = sum over the ranks, in place. The library owns the buffer until wait().
  dt_work start_sum(float* data, std::uint64_t count, std::uint64_t tag,
                    dt_wire wire = DT_WIRE_EXACT);
  // Starts all = the ranks' values in rank order; rank r has counts[r]. Buffers as above.
  dt_work start_gather(const float* own, float* all, const std::vector<std::uint64_t>& counts,
                       std::uint64_t tag);
  // Starts all = one value per rank, in rank order; all has room for them.
  dt_work start_gather(const std::uint64_t* own, std::uint64_t* all, std::uint64_t tag);
  void wait(dt_work work);
  void sum(float* data, std::uint64_t count, std::uint64_t tag) {
    wait(start_sum(data, count, tag));
  }
  std::vector<std::uint64_t> gather(std::uint64_t value, std::uint64_t tag);
  void barrier(std::uint64_t tag);

  // Shows how far this rank's training is: dt_progress.
  static void show_progress(std::int64_t step, std::int64_t total_steps, std::int64_t tokens,
                            double loss);

  // Ends the job on all ranks with this error's text.
  void abort(const Error& error);
  // Call before throwing an Error that all ranks will throw, so that only one prints it: returns on
  // rank 0 only; the other ranks wait for its abort.
  void leave_it_to_first();
  // True if this rank's Error came from another rank, which has printed it.
  bool ended_by_peer() const { return ended_by_peer_; }

 private:
  struct Destroy {
    void operator()(dt_comm* communicator) const { dt_comm_destroy(communicator); }
  };
  void check(int status);

  std::unique_ptr<dt_comm, Destroy> communicator_;
  int rank_ = 0, size_ = 1;
  bool ended_by_peer_ = false;
};

// RANK of the environment, or 0: decides who may print before the group exists.
int environment_rank();

}  // namespace dtl::trainer
