// Thousands of trees of agents, in virtual time, and the same with planted bugs that must be found.
// DTL_SIM_SEED=n runs one story, DTL_SIM_RUNS=n that many:
//
//     DTL_SIM_RUNS=1000000 build/release/bin/tree_sim_test --gtest_filter='*EveryTree*'
//
// DTL_SIM_NODES=10000 DTL_SIM_WIDTH=8 runs one large tree and prints what it cost.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>

#include "tests/sim/seeds.h"
#include "tests/sim/tree_world.h"
#include "tests/support/sanitized.h"

namespace dtl::sim::tree_sim_test {
namespace {

using namespace std::chrono_literals;

TEST(TreeSimulation, EveryTreeKeepsItsPromises) {
  const Seeds seeds = chosen_seeds(test::sanitized() ? 1000 : 20000);
  int resumed = 0;
  std::size_t most_queued = 0;
  for (std::uint64_t seed = seeds.first; seed < seeds.end; ++seed) {
    TreeWorld world(seed, drawn_shape(seed), {});
    world.run();
    ASSERT_EQ(world.complaints(), "") << "seed " << seed << "\n" << world.story();
    resumed += world.resumed();
    most_queued = std::max(most_queued, world.most_queued());
  }
  if (!seeds.are_many()) return;
  EXPECT_GT(resumed, 200) << "hardly any conversation is resumed";
  EXPECT_GE(most_queued, Relay::kMostUp) << "no queue is ever full";
}

struct Mutant {
  const char* name;
  TreeRules rules;
};

template <class Rule>
void plant(std::vector<Mutant>& all, const char* name, Rule TreeRules::*where, Rule rule) {
  all.push_back({name, {}});
  all.back().rules.*where = rule;
}

std::vector<Mutant> mutants() {
  using R = TreeRules;
  std::vector<Mutant> all;
  plant(
      all, "pulses are not passed on", &R::from_above,
      +[](Relay& relay, Parcel parcel, RelayTime now) {
        if (parcel.kind != ParcelKind::kPulse || now < 2s) relay.from_above(std::move(parcel), now);
      });
  plant(
      all, "nobody hears that a branch has ended above", &R::from_above,
      +[](Relay& relay, Parcel parcel, RelayTime now) {
        if (parcel.kind != ParcelKind::kLeft) relay.from_above(std::move(parcel), now);
      });
  plant(
      all, "a parcel is lost on its way down", &R::from_above,
      +[](Relay& relay, Parcel parcel, RelayTime now) {
        const bool lost = parcel.kind == ParcelKind::kBytes && now.count() % 16 == 5;
        if (!lost) relay.from_above(std::move(parcel), now);
      });
  plant(
      all, "an order goes to the branch of another node", &R::from_above,
      +[](Relay& relay, Parcel parcel, RelayTime now) {
        if (parcel.kind == ParcelKind::kBytes && now.count() % 64 == 5) ++parcel.node;
        relay.from_above(std::move(parcel), now);
      });
  plant(
      all, "a branch that begins below is not passed on", &R::from_below,
      +[](Relay& relay, EdgeId edge, Parcel parcel, RelayTime now) {
        const bool lost = parcel.kind == ParcelKind::kArrived && parcel.stream > 1;
        if (!lost) relay.from_below(edge, std::move(parcel), now);
      });
  plant(
      all, "bytes come twice", &R::from_below,
      +[](Relay& relay, EdgeId edge, Parcel parcel, RelayTime now) {
        const bool twice = parcel.kind == ParcelKind::kBytes && now.count() % 64 == 5;
        if (twice) relay.from_below(edge, parcel, now);
        relay.from_below(edge, std::move(parcel), now);
      });
  plant(
      all, "who lives is not passed on", &R::from_below,
      +[](Relay& relay, EdgeId edge, Parcel parcel, RelayTime now) {
        if (parcel.kind != ParcelKind::kAlive) relay.from_below(edge, std::move(parcel), now);
      });
  plant(
      all, "no other parent is called", &R::not_connected, +[](Relay&, RelayTime) {});
  plant(
      all, "time stands still", &R::time_passed, +[](Relay&, RelayTime) {});
  plant(
      all, "children are read although the uplink takes nothing", &R::is_up_full,
      +[](const Relay&) { return false; });
  return all;
}

TEST(TreeSimulation, FindsEveryPlantedBug) {
  for (const Mutant& mutant : mutants()) {
    bool found = false;
    for (std::uint64_t seed = 1; seed <= 1000 && !found; ++seed) {
      TreeWorld world(seed, drawn_shape(seed), mutant.rules);
      world.run();
      found = !world.complaints().empty();
    }
    EXPECT_TRUE(found) << mutant.name;
  }
}

double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

TEST(TreeSimulation, LargeTreesKeepTheirPromises) {
  const auto number_in = [](const char* name, std::size_t otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
  };
  TreeShape shape;
  shape.nodes = number_in("DTL_SIM_NODES", 300);
  shape.width = number_in("DTL_SIM_WIDTH", 8);
  shape.faults = 6;
  shape.frame_every = 5s;
  TreeWorld world(1, shape, {});
  world.run();
  EXPECT_EQ(world.complaints(), "") << world.story();
  if (std::getenv("DTL_SIM_NODES") == nullptr) return;
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  std::printf(
      "%zu nodes, width %zu: %.1f CPU-s, %ld MiB, %llu parcels in %llu writes reached "
      "dtlaunch\n",
      shape.nodes, shape.width, cpu_seconds(), used.ru_maxrss / 1024,
      static_cast<unsigned long long>(world.parcels_at_top()),
      static_cast<unsigned long long>(world.writes_to_launcher()));
}

}  // namespace
}  // namespace dtl::sim::tree_sim_test
