#pragma once
// StepProfile: what a step costs and sends, in step_profile.json. `dtlaunch forecast` reads it to
// say how fast the job would be on more hosts; dttrain(1) lists its members. One thread. Each rank
// may record, but only rank 0's file is written, so the times are rank 0's.

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "trainer/step/trainer.h"

namespace dtl::trainer {

// What a run has said before its first step.
struct ProfiledRun {
  int ranks = 1, ranks_per_node = 1, threads = 1;
  std::string gradient_wire = "f32";  // as on the network: f32, bf16, f16
  int accumulation = 1;
  int comm_cpus = 0;                // CPUs that only libdtring's thread uses
  std::int64_t global_batch = 1;    // examples per step, over all ranks
  std::int64_t word_row_bytes = 0;  // of a row of the word embeddings
};

class StepProfile {
 public:
  // Call after each step. Leaves out the first step, which warms up caches and threads.
  void add(const StepReport& report, const Trainer& trainer);
  bool empty() const { return steps_.empty(); }
  // The text of step_profile.json. word_uses: Trainer::word_uses().
  std::string text(const ProfiledRun& run, const std::vector<std::uint32_t>& word_uses) const;

 private:
  struct Step {
    StepWork work;
    std::int64_t tokens;
  };
  std::int64_t seen_ = 0;  // steps, with the first
  // CPU and wall-clock seconds at the end of the first step and of the last.
  double first_cpu_s_ = 0, last_cpu_s_ = 0, first_wall_s_ = 0, last_wall_s_ = 0;
  std::deque<Step> steps_;
  // Sums over the steps: shares of the same run send the same buckets.
  std::vector<Buckets::Sent> buckets_;
  std::int64_t bucket_steps_ = 0;
};

// LOCAL_WORLD_SIZE of the environment, or 1 without a launcher.
int environment_ranks_per_node();

}  // namespace dtl::trainer
