// Thousands of jobs under --max-restarts with random faults, in virtual time, and the same with
// planted bugs that must be found. DTL_SIM_SEED=n runs one story, DTL_SIM_RUNS=n that many.

#include <gtest/gtest.h>

#include <algorithm>

#include "base/limits.h"
#include "tests/sim/restart_world.h"
#include "tests/sim/seeds.h"

namespace dtl::sim::restart_sim_test {
namespace {

using Ends = std::vector<EpochEnd>;
using Epoch = std::vector<HostAtEnd>;
using Hosts = std::vector<Host>;

TEST(RestartSimulation, EveryJobKeepsItsPromises) {
  const Seeds seeds = chosen_seeds();
  std::size_t most_epochs = 0;
  bool used_spare = false, waited = false;
  for (std::uint64_t seed = seeds.first; seed < seeds.end; ++seed) {
    RestartWorld world(seed, {});
    world.run();
    ASSERT_EQ(world.complaints(), "") << "seed " << seed << "\n" << world.story();
    most_epochs = std::max(most_epochs, world.epochs());
    used_spare |= world.used_spare();
    waited |= world.waited_for_silence();
  }
  if (!seeds.are_many()) return;
  EXPECT_EQ(most_epochs, 6U) << "no job comes to five restarts";
  EXPECT_TRUE(used_spare && waited) << "the faults never lead to a spare host, or to a wait";
}

struct Mutant {
  const char* name;
  RestartRules rules;
};

template <class Change>
NextHosts changed_input(const Epoch& epoch, JobTime ended, Hosts hosts, Hosts spares, bool fixed,
                        Change change) {
  Epoch other = epoch;
  for (HostAtEnd& host : other) change(host);
  return next_hosts(other, ended, std::move(hosts), std::move(spares), fixed);
}

void add_wrong_verdicts(std::vector<Mutant>& all) {
  const auto judge = [&](const char* name, decltype(&judge_restart) rule) {
    all.push_back({name, {}});
    all.back().rules.judge = rule;
  };
  judge("one restart too many",
        [](int most, const Ends& ends) { return judge_restart(most > 0 ? most + 1 : 0, ends); });
  judge("restarts counted anew in each epoch", [](int most, const Ends& ends) {
    RestartVerdict verdict = judge_restart(most, ends);
    if (most > 0 && verdict.why.starts_with("--max-restarts")) verdict = {true, 60s, {}};
    return verdict;
  });
  judge("a storm of restarts", [](int most, const Ends& ends) {
    RestartVerdict verdict = judge_restart(most, ends);
    verdict.wait = JobTime{0};
    return verdict;
  });
  judge("a back-off that does not grow", [](int most, const Ends& ends) {
    RestartVerdict verdict = judge_restart(most, ends);
    verdict.wait = std::min(verdict.wait, JobTime(kFirstBackOff));
    return verdict;
  });
  judge("a job that has ended is started again", [](int most, const Ends& ends) {
    RestartVerdict verdict = judge_restart(most, ends);
    if (static_cast<int>(ends.size()) <= most && verdict.why.empty()) verdict.again = true;
    return verdict;
  });
  judge("status 65 is tried again", [](int most, const Ends& ends) {
    Ends other = ends;
    if (other.back().outcome.exit_status == 65) other.back().outcome.exit_status = 1;
    return judge_restart(most, other);
  });
}

void add_wrong_causes(std::vector<Mutant>& all) {
  const auto deciding = [&](const char* name, decltype(&deciding_epoch) rule) {
    all.push_back({name, {}});
    all.back().rules.deciding = rule;
  };
  deciding("the last cause instead of the first", [](const Ends& ends) { return ends.size() - 1; });
  deciding("always the first epoch", [](const Ends&) { return std::size_t{0}; });
  deciding("the epoch after the first cause",
           [](const Ends& ends) { return std::min(deciding_epoch(ends) + 1, ends.size() - 1); });
}

void add_wrong_fences(std::vector<Mutant>& all) {
  const auto to_fence = [&](const char* name, decltype(&hosts_to_fence) rule) {
    all.push_back({name, {}});
    all.back().rules.to_fence = rule;
  };
  to_fence("no fence", [](const Epoch&) { return std::vector<std::size_t>{}; });
  to_fence("a fence for the first host only", [](const Epoch& epoch) {
    auto unsure = hosts_to_fence(epoch);
    unsure.resize(std::min<std::size_t>(unsure.size(), 1));
    return unsure;
  });
  to_fence("a fence for those that reported their end", [](const Epoch& epoch) {
    std::vector<std::size_t> sure;
    for (std::size_t i = 0; i < epoch.size(); ++i)
      if (epoch[i].finished) sure.push_back(i);
    return sure;
  });
}

void add_wrong_waits(std::vector<Mutant>& all) {
  const auto next = [&](const char* name, decltype(&next_hosts) rule) {
    all.push_back({name, {}});
    all.back().rules.next = rule;
  };
  next("a silent host taken for clean",
       [](const Epoch& epoch, JobTime ended, Hosts hosts, Hosts spares, bool fixed) {
         return changed_input(epoch, ended, hosts, spares, fixed,
                              [](HostAtEnd& host) { host.fenced = true; });
       });
  next("a fenced host left out",
       [](const Epoch& epoch, JobTime ended, Hosts hosts, Hosts spares, bool fixed) {
         return changed_input(epoch, ended, hosts, spares, fixed,
                              [](HostAtEnd& host) { host.fenced = false; });
       });
  next("no wait for silence",
       [](const Epoch& epoch, JobTime ended, Hosts hosts, Hosts spares, bool fixed) {
         NextHosts result = next_hosts(epoch, ended, hosts, spares, fixed);
         result.wait = JobTime{0};
         return result;
       });
  next("silence measured from the start",
       [](const Epoch& epoch, JobTime ended, Hosts hosts, Hosts spares, bool fixed) {
         return changed_input(epoch, ended, hosts, spares, fixed,
                              [](HostAtEnd& host) { host.last_told = JobTime{0}; });
       });
  next("silence measured from what was heard, not from what was said",
       [](const Epoch& epoch, JobTime ended, Hosts hosts, Hosts spares, bool fixed) {
         return changed_input(epoch, ended, hosts, spares, fixed,
                              [](HostAtEnd& host) { host.last_told -= JobTime(kDead); });
       });
  next("the lease without the grace, in which a checkpoint of the old epoch is taken late",
       [](const Epoch& epoch, JobTime ended, Hosts hosts, Hosts spares, bool fixed) {
         NextHosts result = next_hosts(epoch, ended, hosts, spares, fixed);
         result.wait = std::max(JobTime{0}, result.wait - JobTime(kKillGrace));
         return result;
       });
}

void add_wrong_hosts(std::vector<Mutant>& all) {
  const auto next = [&](const char* name, decltype(&next_hosts) rule) {
    all.push_back({name, {}});
    all.back().rules.next = rule;
  };
  next("a lost spare",
       [](const Epoch& epoch, JobTime ended, Hosts hosts, Hosts spares, bool fixed) {
         NextHosts result = next_hosts(epoch, ended, hosts, spares, fixed);
         if (!result.spares.empty()) result.spares.pop_back();
         return result;
       });
  next("a spare used twice",
       [](const Epoch& epoch, JobTime ended, Hosts hosts, Hosts spares, bool fixed) {
         NextHosts result = next_hosts(epoch, ended, hosts, spares, fixed);
         result.spares = spares;
         return result;
       });
  next("the last spare first",
       [](const Epoch& epoch, JobTime ended, Hosts hosts, Hosts spares, bool fixed) {
         std::reverse(spares.begin(), spares.end());
         NextHosts result = next_hosts(epoch, ended, hosts, spares, fixed);
         std::reverse(result.spares.begin(), result.spares.end());
         return result;
       });
  next("a host that has to go used again",
       [](const Epoch& epoch, JobTime ended, Hosts hosts, Hosts spares, bool fixed) {
         return changed_input(epoch, ended, hosts, spares, fixed,
                              [](HostAtEnd& host) { host.told_to_go = false; });
       });
  next("a host that did not come up kept",
       [](const Epoch& epoch, JobTime ended, Hosts hosts, Hosts spares, bool fixed) {
         return changed_input(epoch, ended, hosts, spares, fixed, [](HostAtEnd& host) {
           host.finished |= host.not_up;
           host.not_up = false;
         });
       });
}

std::vector<Mutant> mutants() {
  std::vector<Mutant> all;
  for (auto* part :
       {add_wrong_verdicts, add_wrong_causes, add_wrong_fences, add_wrong_waits, add_wrong_hosts}) {
    part(all);
  }
  return all;
}

TEST(RestartSimulation, SeesEveryPlantedMistake) {
  const std::vector<Mutant> all = mutants();
  ASSERT_GE(all.size(), 20U);
  for (const Mutant& mutant : all) {
    std::uint64_t seed = 1;
    std::string seen;
    for (; seen.empty() && seed <= 20000; ++seed) {
      RestartWorld world(seed, mutant.rules);
      world.run();
      seen = world.complaints();
    }
    EXPECT_NE(seen, "") << "not seen within 20,000 seeds: " << mutant.name;
  }
}

}  // namespace
}  // namespace dtl::sim::restart_sim_test
