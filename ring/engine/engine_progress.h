#pragma once
// EngineProgress: what is done in each turn by whoever drives the engine: takes what was submitted,
// moves it, reports what has ended, and looks at what went wrong and at who is late. Nothing but
// take_events() waits. Owned by the Engine; used with the wheel. Knows nothing of threads and of
// who drives.

#include <chrono>
#include <cstdint>
#include <mutex>

#include "ring/engine/engine_events.h"
#include "ring/engine/engine_orders.h"
#include "ring/engine/executor.h"
#include "ring/engine/failures.h"
#include "ring/engine/lookout.h"
#include "ring/engine/patience.h"
#include "ring/meeting/control_lines.h"
#include "ring/meeting/rank_names.h"
#include "ring/meeting/rendezvous.h"
#include "ring/queue/operation_queue.h"

namespace dtl::ring {

class EngineProgress {
 public:
  using Clock = std::chrono::steady_clock;
  struct Settings {
    int rank = 0;
    Patience::Settings patience;
    // How long to look for news before sleeping, while operations are active. Zero: a few looks,
    // where other threads need this core.
    std::chrono::microseconds active_spin{0};
  };
  struct Counters {
    std::uint64_t bytes_sent = 0, bytes_received = 0, scratch_bytes = 0, warnings = 0;
  };

  // memory: as EngineEvents'. All that is borrowed outlives this. Throws CommError. What ranks said
  // during the meeting is handled here, before anybody drives.
  EngineProgress(const Settings& settings, Links links, ShmNode* memory, EngineOrders& orders,
                 EngineEvents& events, OperationQueue& queue);

  bool turn();           // true when something moved or ended
  bool poll_a_little();  // nothing moved: true when something happens before it is time to sleep
  // Waits, as EngineEvents::take() does. Links only note what they are ready for: the next turn()
  // moves it.
  int take_events(int timeout_ms);
  // Warnings, time-outs and suspicions that are due. Reads the clock only if something waits.
  void look_at_time();
  int ms_to_deadline() const;  // when to look at the time next; -1: when something has happened

  bool stops() const { return stops_; }  // the thread is to end
  // What is left to do, so that whoever stops driving knows whom to leave it to. kVoid: nothing
  // ends well any more, and the thread has to see to the end.
  enum class Load : std::uint8_t { kNone, kShort, kLong, kVoid };
  Load load() const;
  // Says goodbye; every operation fails. Nothing is to be called afterwards.
  void leave();

  Counters counters() const;  // from any thread

 private:
  void take_orders();
  void start_submitted();
  void look_at_links();
  bool finish_operations();

  const int rank_;
  OperationQueue& queue_;
  EngineOrders& orders_;
  EngineEvents& events_;
  const NodeMap map_;
  ShmNode* const memory_;
  Executor executor_;
  const RankNames names_;
  ControlLines lines_;
  Failures failures_;
  Patience patience_;
  Lookout lookout_;
  // Something may be in the queue that found no room, or was not looked for yet.
  bool has_backlog_ = false;
  bool stops_ = false;
  mutable std::mutex counters_mutex_;
  Counters counters_;
};

}  // namespace dtl::ring
