// Thousands of jobs whose hosts come and go, in virtual time, and the same with planted bugs that
// must be found. DTL_SIM_SEED=n runs one story, DTL_SIM_RUNS=n that many.

#include <gtest/gtest.h>

#include <utility>

#include "base/limits.h"
#include "tests/sim/elastic_world.h"
#include "tests/sim/seeds.h"

namespace dtl::sim::elastic_sim_test {
namespace {

using Hosts = std::vector<Host>;
using Names = std::vector<std::string>;

TEST(ElasticSimulation, EveryJobKeepsItsPromises) {
  const Seeds seeds = chosen_seeds();
  int grew = 0, shrank = 0, ended = 0;
  for (std::uint64_t seed = seeds.first; seed < seeds.end; ++seed) {
    ElasticWorld world(seed, {});
    world.run();
    ASSERT_EQ(world.complaints(), "") << "seed " << seed << "\n" << world.story();
    grew += world.grew() ? 1 : 0;
    shrank += world.shrank() ? 1 : 0;
    ended += world.ended() ? 1 : 0;
  }
  if (!seeds.are_many()) return;
  const int tenth = static_cast<int>((seeds.end - seeds.first) / 10);
  EXPECT_GT(grew, tenth);
  EXPECT_GT(shrank, tenth);
  EXPECT_GT(ended, tenth);
  EXPECT_LT(ended, 9 * tenth);
}

struct Mutant {
  const char* name;
  ElasticRules rules;
};

using Change = std::optional<HostsChange>;

Mutant wrong_change(const char* name, Change (*change)(Membership, JobTime)) {
  Mutant mutant{name, {}};
  mutant.rules.change = change;
  return mutant;
}

Mutant wrong_loss(const char* name,
                  void (*lose)(Membership&, const Hosts&, const Names&, JobTime)) {
  Mutant mutant{name, {}};
  mutant.rules.lose = lose;
  return mutant;
}

Mutant wrong_regrouping(const char* name, void (*apply)(Membership&, const HostsChange&, JobTime)) {
  Mutant mutant{name, {}};
  mutant.rules.apply = apply;
  return mutant;
}

std::vector<Mutant> wrong_changes() {
  return {
      wrong_change("more hosts than MAX",
                   [](Membership members, JobTime now) {
                     ++members.range.most;
                     return change_of_hosts(members, now);
                   }),
      wrong_change("hosts leave below MIN",
                   [](Membership members, JobTime now) {
                     members.range.least = 0;
                     return change_of_hosts(members, now);
                   }),
      wrong_change("hosts that are no longer listed stay",
                   [](Membership members, JobTime now) {
                     members.unlisted.clear();
                     return change_of_hosts(members, now);
                   }),
      wrong_change("no time to settle",
                   [](Membership members, JobTime now) {
                     members.began = JobTime{0} - JobTime(kLongestSettled);
                     return change_of_hosts(members, now);
                   }),
      wrong_change("the time to settle does not grow",
                   [](Membership members, JobTime now) {
                     members.growths = 0;
                     return change_of_hosts(members, now);
                   }),
      wrong_change("nobody is taken back",
                   [](Membership members, JobTime now) {
                     members.answering.clear();
                     return change_of_hosts(members, now);
                   }),
      wrong_change("stopped for nothing",
                   [](Membership members, JobTime now) {
                     return Change(change_of_hosts(members, now).value_or(HostsChange{}));
                   }),
  };
}

std::vector<Mutant> wrong_losses() {
  return {
      wrong_loss("taken back as soon after the third loss as after the first",
                 [](Membership& members, const Hosts& before, const Names& lost, JobTime now) {
                   lose_hosts(members, before, lost, now);
                   for (auto& [name, past] : members.past) past.losses = std::min(past.losses, 1);
                 }),
      wrong_loss("a lost host is forgotten",
                 [](Membership& members, const Hosts& before, const Names& lost, JobTime now) {
                   lose_hosts(members, before, lost, now);
                   if (!lost.empty() && !members.away.empty()) members.away.pop_back();
                 }),
      wrong_loss("a lost spare host",
                 [](Membership& members, const Hosts& before, const Names& lost, JobTime now) {
                   lose_hosts(members, before, lost, now);
                   if (!members.spares.empty()) members.spares.pop_back();
                 }),
      wrong_loss("a spare host used twice",
                 [](Membership& members, const Hosts& before, const Names& lost, JobTime now) {
                   const Hosts spares = members.spares;
                   lose_hosts(members, before, lost, now);
                   members.spares = spares;
                 }),
      wrong_loss("a lost host keeps its ranks",
                 [](Membership& members, const Hosts& before, const Names& lost, JobTime now) {
                   const Hosts hosts = members.hosts;
                   lose_hosts(members, before, lost, now);
                   members.hosts = hosts;
                 }),
  };
}

std::vector<Mutant> wrong_regroupings() {
  return {
      wrong_regrouping("a host joins twice",
                       [](Membership& members, const HostsChange& change, JobTime now) {
                         const Hosts away = members.away;
                         apply_change(members, change, now);
                         if (!change.joining.empty()) members.hosts.push_back(away.front());
                       }),
      wrong_regrouping("who leaves keeps its ranks",
                       [](Membership& members, const HostsChange& change, JobTime now) {
                         apply_change(members, {change.joining, {}}, now);
                       }),
      wrong_regrouping("only the first of those that answer joins",
                       [](Membership& members, const HostsChange& change, JobTime now) {
                         HostsChange first = change;
                         if (first.joining.size() > 1) first.joining.resize(1);
                         apply_change(members, first, now);
                         for (std::size_t i = 1; i < change.joining.size(); ++i) {
                           std::erase_if(members.away, [&](const Host& host) {
                             return host.name == change.joining[i];
                           });
                         }
                       }),
  };
}

std::vector<Mutant> wrong_questions() {
  std::vector<Mutant> all(5);
  all[0].name = "asked at once";
  all[0].rules.to_ask = [](const Membership& members, JobTime) { return members.away; };
  all[1].name = "an answer of long ago counts";
  all[1].rules.note = [](Membership& members, const Hosts& asked, const std::vector<bool>& there) {
    const Names before = members.answering;
    note_answers(members, asked, there);
    members.answering.insert(members.answering.end(), before.begin(), before.end());
  };
  all[2].name = "each list is a new beginning";
  all[2].rules.list = [](Membership& members, const Hosts& listed, JobTime now) {
    members.away.clear();
    list_hosts(members, listed, now);
  };
  all[3].name = "goes on with any number of hosts";
  all[3].rules.too_few = [](const Membership&) { return std::string(); };
  all[4].name = "MIN is one too many";
  all[4].rules.too_few = [](const Membership& members) {
    Membership other = members;
    ++other.range.least;
    return too_few_hosts(other);
  };
  return all;
}

TEST(ElasticSimulation, SeesEveryPlantedMistake) {
  std::size_t planted = 0;
  for (const auto& part :
       {wrong_changes(), wrong_losses(), wrong_regroupings(), wrong_questions()}) {
    for (const Mutant& mutant : part) {
      std::string seen;
      for (std::uint64_t seed = 1; seen.empty() && seed <= 20000; ++seed) {
        ElasticWorld world(seed, mutant.rules);
        world.run();
        seen = world.complaints();
      }
      EXPECT_NE(seen, "") << "not seen within 20,000 seeds: " << mutant.name;
      ++planted;
    }
  }
  EXPECT_EQ(planted, 20U);
}

}  // namespace
}  // namespace dtl::sim::elastic_sim_test
