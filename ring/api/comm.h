#pragma once
// Comm: what a dt_comm* points to. Meets the other ranks, owns queue and engine, and has every
// operation carried out as choose() says. c_abi.h and its sources wrap it.

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ring/api/caller_count.h"
#include "ring/common/crypto.h"
#include "ring/dtring.h"
#include "ring/engine/engine.h"
#include "ring/links/shm_node.h"
#include "ring/operation/choice.h"
#include "ring/queue/operation_queue.h"

namespace dtl::ring {

// What a test may set and a program may not.
struct Tuning {
  std::vector<int> cpus = {};  // for the communication thread; empty: those of the caller
  bool is_verbose = false;     // rank 0 says on standard error how it works
  bool tunes = false;          // measures the table of algorithms where the caller gives none
  std::string node = {};       // this rank's node; empty: found out; "none": shares with nobody
  // A host that does not answer for so long is lost. Twice what a launcher waits for it: who knows
  // more says it first.
  std::chrono::milliseconds silence{20000};
  bool encrypts_all = false;  // of what is encrypted at all, also what stays on this host
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
  OperationQueue& queue() { return queue_; }
  // False in a child that was forked after the communicator was made: nothing works there.
  bool is_of_this_process() const;
  void abort(const std::string& why);

  int submit(const Request& request, dt_work* work);
  int wait(dt_work work, int timeout_ms);  // as OperationQueue's
  int wait_any(dt_work* works, std::int32_t* statuses, std::uint32_t max, std::uint32_t* count,
               int timeout_ms);
  int probe(int from, int timeout_ms, int* source, OperationHeader* header);
  // Collective; *part is null for a negative color.
  int split(int color, int key, Comm** part);
  void* allocate(std::size_t bytes);
  int release(void* memory);
  std::string stats_json() const;

 private:
  void meet_others(Identity& identity, const dt_options& options, Fd listener);
  void remember(const dt_options& options);
  Settings settings_of(const dt_options& options, const std::string& own_address) const;
  void open_memory(MeetingPlace& place);
  void agree_upon(const Links& links);
  void start_engine(Links links);
  void choose_spinning(Engine::Settings& settings);
  void tune();
  double time_once(Algorithm algorithm, std::vector<float>& values);
  void take_most(std::span<float> values);
  void say_how() const;
  int wait_for(Request request);
  std::unique_ptr<Comm> join_part(const std::vector<int>& members, std::uint64_t job,
                                  const std::string& address, int port, Fd listener);

  const int rank_, world_;
  const Tuning tuning_;
  const pid_t pid_;
  std::string host_name_, own_address_, memory_note_;
  int connect_timeout_ms_ = 0, operation_timeout_ms_ = 0, warn_timeout_ms_ = 0;
  void (*warn_)(const char* text, void* context) = nullptr;
  void* warn_context_ = nullptr;
  Key part_secret_;  // of the communicators that are split off
  std::uint64_t job_ = 0, parts_ = 0;
  bool encrypts_ = false;
  Settings settings_;
  NodeMap map_;
  Terms terms_;
  std::unique_ptr<ShmNode> memory_;
  OperationQueue queue_;
  CallerCount callers_;
  std::unique_ptr<Engine> engine_;
  std::mutex heap_mutex_;
  std::vector<void*> heap_;  // dt_alloc without a ShmNode
};

const char* wire_name(std::uint32_t wire);  // of a dt_wire: "bf16"

// A Comm (perhaps a failed one) and the status; nullptr for DT_E_NOMEM. Throws nothing.
int create_comm(const dt_options& options, const Tuning& tuning, Comm** comm);
// One that only answers this error. Throws when there is no memory.
Comm* failed_comm(int status, const std::string& text);

}  // namespace dtl::ring
