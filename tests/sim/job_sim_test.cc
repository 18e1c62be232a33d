// Thousands of jobs with random faults, in virtual time. When one fails, its seed and story are
// shown; DTL_SIM_SEED=n runs that one, DTL_SIM_RUNS=n that many.

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "tests/sim/job_world.h"

namespace dtl::sim::job_sim_test {
namespace {

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

TEST(JobSimulation, EveryJobEndsInTimeAndKeepsItsPromises) {
  const std::uint64_t first = number_from("DTL_SIM_SEED", 1);
  const std::uint64_t runs = std::getenv("DTL_SIM_SEED") ? 1 : number_from("DTL_SIM_RUNS", 20000);
  std::map<Cause, int> seen;
  for (std::uint64_t seed = first; seed < first + runs; ++seed) {
    World world(seed);
    const bool ended = world.run();
    ASSERT_TRUE(ended) << "seed " << seed << " does not end\n" << world.story();
    ASSERT_EQ(world.complaints(), "") << "seed " << seed << "\n" << world.story();
    ++seen[world.job().outcome->cause];
  }
  if (runs < 1000) return;
  for (const Cause cause :
       {Cause::kCompleted, Cause::kCannotStart, Cause::kSpawn, Cause::kRankExit, Cause::kRankSignal,
        Cause::kNodeLost, Cause::kAgentFailed, Cause::kTimeout, Cause::kInterrupted}) {
    EXPECT_GT(seen[cause], 0) << "the faults never lead to: " << cause_name(cause);
  }
}

}  // namespace
}  // namespace dtl::sim::job_sim_test
