#pragma once
// Comm: what a dt_comm* points to: one rank's membership of a communicator. Has the ranks meet, and
// keeps what they have agreed upon. Moves nothing itself: OperationCalls submits and waits. c_abi.h
// and its sources wrap it. Owned by the program, which ends it with dt_comm_destroy.
//
// A Comm whose connect() has failed stays usable for one thing: to say why.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"
#include "ring/api/agreement.h"
#include "ring/api/comm_memory.h"
#include "ring/api/comm_options.h"
#include "ring/api/operation_calls.h"
#include "ring/common/crypto.h"
#include "ring/dtring.h"

namespace dtl::ring {

// What the environment or a test may set and a program may not: it has no place in dt_options.
struct Tuning {
  std::vector<int> cpus = {};  // for the communication thread; empty: those of the caller
  bool is_verbose = false;     // rank 0 says on standard error how it works
  bool tunes = false;          // measures the table of algorithms where the caller gives none
  std::string node = {};       // this rank's node; empty: found out; "none": shares with nobody
  // A host that does not answer for this long is lost. Twice what a launcher waits for it, so that
  // the launcher, which knows more, says it first.
  std::chrono::milliseconds silence{20000};
  bool encrypts_all = false;  // of what is encrypted at all, also what stays on this host
};

class Comm {
 public:
  Comm(int rank, int world, const Tuning& tuning);
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;

  // Blocks until all ranks have met. Throws CommError; the communicator then answers that error. In
  // a world of one there is nobody to meet, and no secret is needed.
  void connect(const dt_options& options);

  int rank() const { return rank_; }
  int world() const { return world_; }
  // False in a child that was forked after the communicator was made: nothing works there.
  bool is_of_this_process() const;

  int submit(const Request& request, dt_work* work);
  OperationCalls& calls() { return calls_; }
  CommMemory& memory() { return memory_; }
  std::string stats() const;
  // Collective; *part is null for a negative color.
  int split(int color, int key, Comm** part);

 private:
  void meet_others(std::span<const std::uint8_t> secret, Fd listener);
  void start_engine(Links links);
  void tune();
  // One of the library's own operations, which dt_wait_any does not report. Throws CommError.
  void carry_out(Request request);
  std::unique_ptr<Comm> join_part(const std::vector<int>& members, CommOptions options,
                                  Fd listener);

  const int rank_, world_;
  const Tuning tuning_;
  // Of the process that made it. A forked child has a copy of this object, and no thread.
  const pid_t pid_;
  CommOptions options_;
  // Of the communicators that are split off. It is derived from the job's secret, which can then be
  // wiped when the ranks have met.
  Key part_secret_;
  // How often it was split: the same on all ranks, since splitting is collective.
  std::uint64_t parts_ = 0;
  // Of this rank alone until the ranks have met.
  Agreement agreement_;
  CommMemory memory_;
  OperationCalls calls_;  // last: ends before what it uses
};

// A Comm (perhaps a failed one) and the status; nullptr for DT_E_NOMEM. Throws nothing.
int create_comm(const dt_options& options, const Tuning& tuning, Comm** comm);
// One that only answers this error. Throws when there is no memory.
Comm* failed_comm(int status, const std::string& text);

}  // namespace dtl::ring
