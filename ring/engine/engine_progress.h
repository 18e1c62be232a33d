#pragma once
// EngineProgress: the work of the driving thread in each turn: takes submitted operations, moves
// their data, reports their ends, and checks for failures and late ranks. Only take_events() waits.
// Owned by the Engine; used with the wheel. Knows nothing of threads or who drives.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

#include "ring/engine/engine_events.h"
#include "ring/engine/engine_orders.h"
#include "ring/engine/executor.h"
#include "ring/engine/failures.h"
#include "ring/engine/lookout.h"
#include "ring/engine/patience.h"
#include "ring/meeting/control_lines.h"
#include "ring/meeting/control_tree.h"
#include "ring/meeting/late_links.h"
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
    // How long to poll before sleeping, while operations are active. Zero: a few polls, if other
    // threads need this core.
    std::chrono::microseconds active_spin{0};
  };
  struct Counters {
    std::uint64_t bytes_sent = 0, bytes_received = 0, scratch_bytes = 0, warnings = 0;
    std::uint64_t lines = 0;  // control lines that this rank has, or had
  };

  // memory: as EngineEvents'. All references outlive this. Throws CommError. Handles messages that
  // ranks sent during the meeting.
  EngineProgress(const Settings& settings, Links links, ShmNode* memory, EngineOrders& orders,
                 EngineEvents& events, OperationQueue& queue);

  bool turn();  // true if something moved or ended
  // A turn for a caller that has submitted something and may wait for it next.
  void start_operations();
  // Nothing is in progress or to be handled, so a new operation may go past the queue.
  bool is_at_rest() const;
  // Such an operation, on the board of this node: completes it, or begins it like any other if the
  // peers do not come soon.
  void run_on_board(OperationSlot& slot);
  bool poll_a_little();  // polls; true if something happened before it is time to sleep
  // Waits as EngineEvents::take() does. Links only record readiness: the next turn() moves data.
  int take_events(int timeout_ms);
  // Handles due warnings, timeouts and suspicions. Reads the clock only if something waits.
  void look_at_time();
  int ms_to_deadline();  // until look_at_time() is due; -1: never by itself

  bool stops() const { return stops_; }  // the thread must end
  // The remaining work, so that the driver knows to whom it can release the wheel. kVoid: no
  // operation can succeed any more, and the thread must finish.
  enum class Load : std::uint8_t { kNone, kShort, kLong, kVoid };
  Load load() const;
  // Says goodbye and fails every operation. Call nothing afterwards.
  void leave();

  Counters counters() const;  // from any thread

 private:
  void take_orders();
  bool look_at_memory(int times);
  void start_submitted();
  void begin(OperationSlot& slot, std::uint64_t entry);
  void want_links(const Schedule& schedule, Lane lane);
  void add_stream(LinkBuilder::Made made);
  void make_links();
  void call_parent(int after);
  void look_at_links();
  bool finish_operations();
  void report(OperationSlot& slot);

  const int rank_;
  OperationQueue& queue_;
  EngineOrders& orders_;
  EngineEvents& events_;
  const NodeMap map_;
  ShmNode* const memory_;
  Executor executor_;
  const RankNames names_;
  ControlLines lines_;
  const std::unique_ptr<LateLinks> late_;  // null: all links exist
  const std::uint32_t fan_out_;
  int parent_;  // or whom this rank calls to be it; -1: rank 0 has none, or has left
  bool is_late_due_ = false;
  Failures failures_;
  Patience patience_;
  Lookout lookout_;
  // The queue may contain operations that found no room, or were not looked for yet.
  bool has_backlog_ = false;
  bool stops_ = false;
  // As Counters; of the last finished operation.
  std::atomic<std::uint64_t> bytes_sent_{0}, bytes_received_{0}, scratch_bytes_{0}, line_count_;
};

}  // namespace dtl::ring
