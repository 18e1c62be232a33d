#pragma once
// Comm: what a dt_comm* points to. Checks arguments, meets the other ranks, owns board and engine.
// dtring.cc wraps it in the C ABI.

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "ring/board.h"
#include "ring/dtring.h"
#include "ring/engine.h"

namespace dtl::ring {

// What a test may set and a program may not: it must be equal on all ranks.
struct Tuning {
  std::size_t one_shot_bytes = 16 << 10;  // where two rounds of the ring begin to cost less
  std::vector<int> cpus = {};  // for the communication thread; empty: those of the caller
};

class Comm {
 public:
  Comm(int rank, int world, const Tuning& tuning);
  ~Comm();
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;

  // Blocks until all ranks have met. Throws CommError; the communicator then answers that error.
  void connect(const dt_options& options);

  int rank() const { return rank_; }
  int world() const { return world_; }
  Board& board() { return board_; }
  // False in a child that was forked after the communicator was made: nothing works there.
  bool is_of_this_process() const;
  void abort(const std::string& why);

 private:
  const int rank_, world_;
  const Tuning tuning_;
  const pid_t pid_;
  Board board_;
  std::unique_ptr<Engine> engine_;
};

// A Comm (perhaps a failed one) and the status; nullptr for DT_E_NOMEM. Throws nothing.
int create_comm(const dt_options& options, const Tuning& tuning, Comm** comm);
// One that only answers this error. Throws when there is no memory.
Comm* failed_comm(int status, const std::string& text);

}  // namespace dtl::ring
