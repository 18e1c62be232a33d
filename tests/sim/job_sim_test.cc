// Thousands of jobs with random faults, in virtual time. When one fails, its seed and story are
// shown; DTL_SIM_SEED=n runs that one, DTL_SIM_RUNS=n that many.

#include <gtest/gtest.h>

#include <map>

#include "tests/sim/job_world.h"
#include "tests/sim/seeds.h"

namespace dtl::sim::job_sim_test {
namespace {

TEST(JobSimulation, EveryJobEndsInTimeAndKeepsItsPromises) {
  const Seeds seeds = chosen_seeds();
  std::map<Cause, int> seen;
  for (std::uint64_t seed = seeds.first; seed < seeds.end; ++seed) {
    World world(seed);
    const bool ended = world.run();
    ASSERT_TRUE(ended) << "seed " << seed << " does not end\n" << world.story();
    ASSERT_EQ(world.complaints(), "") << "seed " << seed << "\n" << world.story();
    ++seen[world.job().outcome->cause];
  }
  if (!seeds.are_many()) return;
  for (const Cause cause :
       {Cause::kCompleted, Cause::kCannotStart, Cause::kSpawn, Cause::kRankExit, Cause::kRankSignal,
        Cause::kNodeLost, Cause::kAgentFailed, Cause::kTimeout, Cause::kInterrupted}) {
    EXPECT_GT(seen[cause], 0) << "the faults never lead to: " << cause_name(cause);
  }
}

}  // namespace
}  // namespace dtl::sim::job_sim_test
