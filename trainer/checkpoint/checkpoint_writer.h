#pragma once
// CheckpointWriter: writes checkpoints on a thread of its own, from a copy of the state, while
// training goes on. At most one is under way; rank 0 alone has a writer. An error (a full disk)
// comes out of the next call, once, as Error(kCannotWrite) naming the file. The copy takes as much
// memory as the state from the beginning on: with AdamW 12 bytes per parameter. The thread runs on
// the CPUs that its creator may use: create the writer before the ThreadPool pins its caller.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/error.h"
#include "trainer/checkpoint/run_identity.h"
#include "trainer/maths/thread_pool.h"
#include "trainer/model/parameters.h"
#include "trainer/step/optimizer.h"
#include "trainer/step/optimizer_state.h"
#include "trainer/step/training_state.h"

namespace dtl::trainer {

// What a checkpoint has besides the state.
struct CheckpointExtras {
  RunIdentity identity;
  std::string trainer_state;  // text of trainer_state.json; empty: no such file
  std::optional<TrainingCost> cost = {};
  bool model_only = false;  // nothing that a run could go on from
  // Writes more files (the tokenizer's) into the folder. Runs on the writer's thread.
  std::function<void(const std::string& folder)> write_more = {};
  std::int64_t save_total_limit = 0;  // see remove_old_checkpoints(), called after writing
  std::string best = {};
};

class CheckpointWriter {
 public:
  // grace: for how long the starter of this rank lets it live after SIGTERM, where that is known.
  // The first checkpoint that takes longer to write is told to the user, once, and ends_too_late()
  // knows it.
  CheckpointWriter(std::string output, const ModelConfig& config,
                   std::optional<std::chrono::milliseconds> grace = std::nullopt,
                   const OptimizerSettings& optimizer = {});
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;
  ~CheckpointWriter();  // finishes what is under way; its error is lost

  // Waits for the checkpoint before this one, copies `state` and returns; the rest happens in the
  // background. The folder is <output>/checkpoint-<state.step>.
  void start(const TrainingState& state, CheckpointExtras extras, ThreadPool& pool);
  // Returns when everything is on the disk.
  void finish();
  // For a rank that was told at `told` to end: returns when everything is on the disk, and says why
  // another checkpoint is not worth its beginning: it would take longer, going by the last one,
  // than the grace that is left. Empty: it may well be complete in time. grace: what it was told
  // to be, where that is not the usual one.
  std::string ends_too_late(std::chrono::steady_clock::time_point told,
                            std::optional<std::chrono::milliseconds> grace = std::nullopt);

 private:
  void work();
  std::optional<Error> make_room();
  std::optional<Error> write() const;
  void copy(const TrainingState& state, ThreadPool& pool);
  void tell_if_slow(std::chrono::milliseconds took);

  // Constant, or the caller's alone, up to state_.
  const std::string output_;
  const ModelConfig config_;
  const ParameterLayout layout_;
  const OptimizerState kept_;
  const std::optional<std::chrono::milliseconds> grace_;
  bool told_of_grace_ = false;
  TrainingState state_;  // the thread's while busy_, else the caller's; extras_ too
  CheckpointExtras extras_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool busy_ = true, stop_ = false;  // the thread begins with making room
  std::optional<Error> error_;
  std::chrono::milliseconds took_{};  // of the last one; 0: there was none
  std::thread thread_;                // last: it uses everything above
};

}  // namespace dtl::trainer
