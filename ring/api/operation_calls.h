#pragma once
// OperationCalls: the calls that submit operations of one communicator and wait for them, with the
// queue and the engine behind them. A waiting caller drives the engine if nobody else does. Owned
// by the Comm; calls come from any thread. Does not know how the ranks met: without an engine there
// is only this rank, or the meeting failed.

#include <cstdint>
#include <memory>
#include <string>

#include "ring/api/caller_count.h"
#include "ring/engine/engine.h"
#include "ring/operation/choice.h"
#include "ring/queue/operation_queue.h"

namespace dtl::ring {

class OperationCalls {
 public:
  OperationCalls(int rank, int world) : rank_(rank), queue_(world) {}
  ~OperationCalls();  // ends pending operations and waits until all threads have left
  OperationCalls(const OperationCalls&) = delete;
  OperationCalls& operator=(const OperationCalls&) = delete;

  // memory: outlives this. Throws CommError.
  void start_engine(const Engine::Settings& settings, Links links, ShmNode* memory);

  int submit(const Request& request, const Choice& choice, dt_work* work);
  // As OperationQueue's and Announcements', and drive the engine meanwhile.
  int wait(dt_work work, int timeout_ms);
  int wait_any(dt_work* works, std::int32_t* statuses, std::uint32_t max, std::uint32_t* count,
               int timeout_ms);
  // timeout_ms < 0: as long as an operation may take. On timeout it answers DT_PENDING, and the
  // communicator does not fail.
  int probe(int from, int timeout_ms, int* source, OperationHeader* header);
  // Returns when every operation has failed here. The other ranks are notified separately.
  void abort(const std::string& why);

  OperationQueue& queue() { return queue_; }
  Engine::Counters counters() const { return engine_ ? engine_->counters() : Engine::Counters{}; }

 private:
  const int rank_;
  OperationQueue queue_;
  CallerCount callers_;
  // Null until the ranks have met, and in a world of one.
  std::unique_ptr<Engine> engine_;
  int operation_timeout_ms_ = 0;
};

}  // namespace dtl::ring
