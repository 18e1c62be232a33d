#pragma once
// Ranks: the ranks of this job, over libdtring; a group of one needs no library and no environment.
// One thread. Every failure is an Error; after the first, only abort and the destructor make sense.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "ring/dtring.h"

namespace dtl::trainer {

class Ranks {
 public:
  Ranks() = default;                      // alone
  explicit Ranks(dt_comm* communicator);  // takes it over
  // WORLD_SIZE absent or 1: alone. Blocks until all ranks have come.
  static Ranks join();

  int rank() const { return rank_; }
  int size() const { return size_; }

  void broadcast(void* data, std::uint64_t bytes, std::uint64_t tag);  // from rank 0
  // Starts data = sum over the ranks, in place; the buffer is the library's until wait().
  dt_work start_sum(float* data, std::uint64_t count, std::uint64_t tag,
                    dt_wire wire = DT_WIRE_EXACT);
  // Starts all = the ranks' values one after the other; counts[r] of rank r. Buffers as above.
  dt_work start_gather(const float* own, float* all, const std::vector<std::uint64_t>& counts,
                       std::uint64_t tag);
  // Starts all = every rank's value, in their order; all has room for them.
  dt_work start_gather(const std::uint64_t* own, std::uint64_t* all, std::uint64_t tag);
  void wait(dt_work work);
  void sum(float* data, std::uint64_t count, std::uint64_t tag) {
    wait(start_sum(data, count, tag));
  }
  std::vector<std::uint64_t> gather(std::uint64_t value, std::uint64_t tag);
  void barrier(std::uint64_t tag);

  // Ends the job on all ranks with this error's text.
  void abort(const Error& error);
  // Before an Error that all ranks are about to throw: returns on rank 0 only, so that one rank
  // says it; the others wait for its abort.
  void leave_it_to_first();
  // True when the Error that was thrown here is another rank's, which has said it already.
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

// RANK of the environment, 0 without one: who may speak before the group exists.
int environment_rank();

}  // namespace dtl::trainer
