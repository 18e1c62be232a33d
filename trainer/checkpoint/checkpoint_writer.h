#pragma once
// CheckpointWriter: copies the state and writes checkpoints on its own thread while training
// continues. At most one write runs at a time; only rank 0 has a writer. An error (disk full) is
// thrown once, by the next call, as Error(kCannotWrite) naming the file. The copy is allocated at
// the start: with AdamW, 12 bytes per parameter. The thread inherits its creator's CPU mask: create
// the writer before the ThreadPool pins the caller.

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
#include "trainer/layers/parameters.h"
#include "trainer/maths/thread_pool.h"
#include "trainer/step/optimizer.h"
#include "trainer/step/optimizer_state.h"
#include "trainer/step/training_state.h"

namespace dtl::trainer {

// What a checkpoint contains besides the state.
struct CheckpointExtras {
  RunIdentity identity;
  std::string trainer_state;  // text of trainer_state.json; empty: no such file
  std::optional<TrainingCost> cost = {};
  bool model_only = false;  // no state to resume from
  // Writes more files (the tokenizer's) into the folder. Called on the writer's thread.
  std::function<void(const std::string& folder)> write_more = {};
  std::int64_t save_total_limit = 0;  // see remove_old_checkpoints(), called after writing
  std::string best = {};
};

class CheckpointWriter {
 public:
  // grace: the time from SIGTERM until this rank is killed, if known. The first checkpoint that
  // takes longer to write causes a notice. ends_too_late() uses it too.
  CheckpointWriter(std::string output, const ModelConfig& config,
                   std::optional<std::chrono::milliseconds> grace = std::nullopt,
                   const OptimizerSettings& optimizer = {});
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;
  ~CheckpointWriter();  // finishes a running write; its error is lost

  // Waits for the previous checkpoint, copies `state` and returns. The thread writes the copy to
  // <output>/checkpoint-<state.step>.
  void start(const TrainingState& state, CheckpointExtras extras, ThreadPool& pool);
  // Returns when everything is on the disk.
  void finish();
  // Call on a rank that was told at `told` to end. Waits until everything is on disk. If another
  // checkpoint would take longer than the remaining grace, judging by the last one, returns the
  // reason to skip it; otherwise an empty text. grace: overrides the default grace.
  std::string ends_too_late(std::chrono::steady_clock::time_point told,
                            std::optional<std::chrono::milliseconds> grace = std::nullopt);

 private:
  void work();
  std::optional<Error> make_room();
  std::optional<Error> write() const;
  void copy(const TrainingState& state, ThreadPool& pool);
  void tell_if_slow(std::chrono::milliseconds took);

  // Constant, or used only by the caller, down to state_.
  const std::string output_;
  const ModelConfig config_;
  const ParameterLayout layout_;
  const OptimizerState kept_;
  const std::optional<std::chrono::milliseconds> grace_;
  bool told_of_grace_ = false;
  TrainingState state_;  // owned by the thread while busy_, else by the caller; so is extras_
  CheckpointExtras extras_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool busy_ = true, stop_ = false;  // the thread begins by allocating the copy
  std::optional<Error> error_;
  std::chrono::milliseconds took_{};  // duration of the last write; 0: none yet
  std::thread thread_;                // last, because it uses everything above
};

}  // namespace dtl::trainer
