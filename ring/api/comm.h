#pragma once
// Comm: the object behind a dt_comm*: one rank's membership of a communicator. Connects the ranks,
// and keeps what they agreed on. Moves no data itself: OperationCalls submits and waits. c_abi.h
// and its sources wrap it. Owned by the program, which ends it with dt_comm_destroy. After a failed
// connect() a Comm only reports the error.

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
#include "ring/engine/fork_guard.h"

namespace dtl::ring {

// Settings of the environment or of tests that are not in dt_options.
struct Tuning {
  std::vector<int> cpus = {};  // for the communication thread; empty: the caller's
  bool is_verbose = false;     // rank 0 prints how the communicator works on standard error
  bool tunes = false;          // measures the table of algorithms unless the caller gives one
  std::string node = {};       // this rank's node; empty: detected; "none": shares with nobody
  // A host that does not answer for this long is lost. Twice the launcher's timeout, so that the
  // launcher, which knows more, reports it first.
  std::chrono::milliseconds silence{20000};
  // The most ranks that link to all others at once (Settings); 0: the default.
  std::uint32_t most_linked = 0;
  std::uint32_t fan_out = 0;  // of the tree of control lines (Settings); 0: the default
  bool encrypts_all = false;  // with encryption, also encrypt connections within this host
};

class Comm {
 public:
  Comm(int rank, int world, const Tuning& tuning);
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;

  // Blocks until all ranks have met. Throws CommError; afterwards the communicator only answers
  // that error. In a world of one it does not wait and needs no secret.
  void connect(const dt_options& options);

  int rank() const { return rank_; }
  int world() const { return world_; }
  // False in a child forked after the communicator was created: nothing works there.
  bool is_of_this_process() const { return forks() == forks_; }

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
  // Runs one of the library's own operations, which dt_wait_any does not report. Throws CommError.
  void carry_out(Request request);
  std::unique_ptr<Comm> join_part(const std::vector<int>& members, CommOptions options,
                                  Fd listener);

  const int rank_, world_;
  const Tuning tuning_;
  // Of the creating process. A forked child has a copy of this object, but no thread.
  const unsigned forks_;
  CommOptions options_;
  // The key for communicators split off later, derived from the job's secret, so that the secret
  // can be wiped after the meeting.
  Key part_secret_;
  // How often it was split: equal on all ranks, since splitting is collective.
  std::uint64_t parts_ = 0;
  // Describes this rank alone until the ranks have met.
  Agreement agreement_;
  CommMemory memory_;
  OperationCalls calls_;  // last: destroyed before the members that it uses
};

// Creates a Comm (perhaps a failed one) and returns the status; nullptr for DT_E_NOMEM. Throws
// nothing.
int create_comm(const dt_options& options, const Tuning& tuning, Comm** comm);
// A Comm that only answers this error. Throws if there is no memory.
Comm* failed_comm(int status, const std::string& text);

}  // namespace dtl::ring
