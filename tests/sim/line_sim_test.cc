// Thousands of jobs in waiting lines, in virtual time, and the same with planted bugs that must be
// found. DTL_SIM_SEED=n runs one story, DTL_SIM_RUNS=n that many.

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/sim/line_world.h"
#include "tests/sim/seeds.h"

namespace dtl::sim::line_sim_test {
namespace {

using Claims = std::vector<CoreClaim>;
using Tickets = std::vector<Ticket>;

// Of 40 jobs. Sanitizers find nothing new in more worlds, and make the rule 20 times slower.
#ifdef DTL_SANITIZED
constexpr std::uint64_t kWorlds = 25;
#else
constexpr std::uint64_t kWorlds = 250;
#endif

TEST(LineSimulation, EveryJobKeepsItsPlace) {
  const Seeds seeds = chosen_seeds(kWorlds);
  std::size_t jobs = 0, ended = 0, from_line = 0, overtook = 0, failed_claims = 0, deadlines = 0;
  for (std::uint64_t seed = seeds.first; seed < seeds.end; ++seed) {
    LineWorld world(seed, {});
    world.run();
    ASSERT_EQ(world.complaints(), "") << "seed " << seed << "\n" << world.story();
    jobs += world.jobs();
    ended += world.ended("ended");
    from_line += world.started_from_line();
    overtook += world.overtook();
    failed_claims += world.failed_claims();
    deadlines += world.deadlines();
  }
  if (seeds.end - seeds.first < kWorlds) return;
  EXPECT_GT(ended, jobs / 2) << "most jobs run";
  EXPECT_GT(from_line, jobs / 3) << "many wait before";
  EXPECT_GT(overtook, jobs / 200);
  EXPECT_GT(deadlines, jobs / 4);
  EXPECT_GT(failed_claims, 0U) << "no two jobs ever want the same cores at the same moment";
  EXPECT_LT(failed_claims, jobs / 50) << "those that start at the same moment choose other cores";
}

#ifndef DTL_SANITIZED
struct Mutant {
  const char* name;
  LineRules rules;
};

auto adder(std::vector<Mutant>& all) {
  return [&all](const char* name, decltype(&keep_for_waiting) rule) {
    all.push_back({name, {}});
    all.back().rules.keep = rule;
  };
}

void add_wrong_limits(std::vector<Mutant>& all) {
  const auto keep = adder(all);
  keep("nothing is kept",
       [](const NodeTopology&, const Claims&, const Tickets&, const Ticket*) { return Claims{}; });
  keep("jobs without a limit overtake", [](const NodeTopology& node, const Claims& claims,
                                           const Tickets& tickets, const Ticket* own) {
    if (own == nullptr) return keep_for_waiting(node, claims, tickets, own);
    Ticket other = *own;
    if (other.runs_s == 0) other.runs_s = 1;
    return keep_for_waiting(node, claims, tickets, &other);
  });
  keep("jobs overtake that run for twice as long",
       [](const NodeTopology& node, const Claims& claims, const Tickets& tickets,
          const Ticket* own) {
         if (own == nullptr) return keep_for_waiting(node, claims, tickets, own);
         Ticket other = *own;
         other.runs_s = (other.runs_s + 1) / 2;
         return keep_for_waiting(node, claims, tickets, &other);
       });
  keep("jobs that may leave at any moment are expected to stay",
       [](const NodeTopology& node, Claims const& claims, const Tickets& tickets,
          const Ticket* own) {
         Claims stay = claims;
         for (CoreClaim& claim : stay) claim.left_s = claim.left_s > 0 ? claim.left_s : 1000;
         return keep_for_waiting(node, stay, tickets, own);
       });
}

std::uint64_t start_with_idle_limits(const NodeTopology& node, const Claims& claims,
                                     const Tickets& tickets, const Ticket& own) {
  Claims stay = claims;
  for (CoreClaim& claim : stay) claim.left_s = claim.left_s > 0 ? claim.left_s : 1000;
  return earliest_start_here(node, stay, tickets, own);
}

void add_wrong_blocks(std::vector<Mutant>& all) {
  all.push_back({"others block a job for twice as long as they do", {}});
  all.back().rules.starts = [](const NodeTopology& node, const Claims& claims,
                               const Tickets& tickets, const Ticket& own) {
    return 2 * earliest_start_here(node, claims, tickets, own);
  };
  all.push_back({"jobs that may leave at any moment block others", {}});
  all.back().rules.starts = start_with_idle_limits;
  all.push_back({"a block stays after its end", {}});
  all.back().rules.takes_back = false;
}

void add_wrong_lines(std::vector<Mutant>& all) {
  const auto keep = adder(all);
  keep("nobody starts beside a job that waits", [](const NodeTopology& node, const Claims& claims,
                                                   const Tickets& tickets, const Ticket* own) {
    Claims kept = keep_for_waiting(node, claims, tickets, own);
    if (!kept.empty()) kept[0].cpus = node.allowed;
    return kept;
  });
  keep("the last one first", [](const NodeTopology& node, const Claims& claims,
                                const Tickets& tickets, const Ticket* own) {
    Tickets turned = tickets;
    for (Ticket& ticket : turned) ticket.arrival_ms = UINT64_MAX - ticket.arrival_ms;
    if (own == nullptr) return keep_for_waiting(node, claims, turned, own);
    Ticket other = *own;
    other.arrival_ms = UINT64_MAX - other.arrival_ms;
    return keep_for_waiting(node, claims, turned, &other);
  });
  keep("everybody lets everybody else go first", [](const NodeTopology& node, const Claims& claims,
                                                    const Tickets& tickets, const Ticket* own) {
    Tickets others = tickets;
    if (own != nullptr) {
      std::erase_if(others, [&](const Ticket& one) { return one.job_id == own->job_id; });
    }
    return keep_for_waiting(node, claims, others, nullptr);
  });
  keep("jobs that have started still wait", [](const NodeTopology& node, const Claims& claims,
                                               const Tickets& tickets, const Ticket* own) {
    Claims strangers = claims;
    for (CoreClaim& claim : strangers) claim.job_id += "?";
    return keep_for_waiting(node, strangers, tickets, own);
  });
  keep("a ticket keeps nothing before all of it is free",
       [](const NodeTopology& node, const Claims& claims, const Tickets& tickets,
          const Ticket* own) {
         Claims kept = keep_for_waiting(node, claims, tickets, own);
         std::erase_if(kept, [&](const CoreClaim& claim) {
           return std::any_of(tickets.begin(), tickets.end(), [&](const Ticket& ticket) {
             return ticket.job_id == claim.job_id && claim.cpus.count() < ticket.cores;
           });
         });
         return kept;
       });
}

void add_wrong_programs(std::vector<Mutant>& all) {
  const auto with = [&](const char* name, bool LineRules::*rule, bool value) {
    all.push_back({name, {}});
    all.back().rules.*rule = value;
  };
  with("the launcher's clock says when a job came", &LineRules::launchers_clock, true);
  with("each host's clock says when a job came", &LineRules::each_hosts_clock, true);
  with("jobs without --wait ignore the line", &LineRules::ignores_line, true);
  with("an agent claims what others have", &LineRules::claims_exclude, false);
  with("a job that waits keeps cores", &LineRules::keeps_half, true);
  with("tickets outlive their job", &LineRules::tickets_stay, true);
  with("stopped launchers stay in line", &LineRules::stopped_keep, true);
  with("agents do not say that cores are free again", &LineRules::tells_of_releases, false);
  with("agents say once that a job may overtake", &LineRules::looks_again, false);
}

// A job that waits for one of its hosts lets short ones use the others.
TEST(LineSimulation, LetsMoreJobsOvertakeIfThoseThatWaitSayWhen) {
  std::size_t with = 0, without = 0;
  for (std::uint64_t seed = 1; seed <= kWorlds; ++seed) {
    LineRules silent;
    silent.tells_of_others = false;
    LineWorld told(seed, {}), untold(seed, silent);
    told.run();
    untold.run();
    ASSERT_EQ(told.complaints() + untold.complaints(), "") << "seed " << seed;
    with += told.overtook();
    without += untold.overtook();
  }
  EXPECT_GT(with, without * 11 / 10);
}

TEST(LineSimulation, SeesEveryPlantedMistake) {
  std::vector<Mutant> all;
  add_wrong_limits(all);
  add_wrong_blocks(all);
  add_wrong_lines(all);
  add_wrong_programs(all);
  ASSERT_GE(all.size(), 21U);
  for (const Mutant& mutant : all) {
    std::uint64_t seed = 1;
    std::string seen;
    for (; seen.empty() && seed <= 5000; ++seed) {
      LineWorld world(seed, mutant.rules);
      world.run();
      seen = world.complaints();
    }
    EXPECT_NE(seen, "") << "not seen within 5,000 seeds: " << mutant.name;
  }
}
#endif

}  // namespace
}  // namespace dtl::sim::line_sim_test
