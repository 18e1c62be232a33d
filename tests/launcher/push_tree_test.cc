// Who feeds whom, with hosts that stop, cannot be reached or lie, by seeded simulations.
#include "launcher/agents/push_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "launcher/agents/push.h"

namespace dtl::push_tree_test {
namespace {

struct World {
  // A host is fed while it is in `fed_now`. Dead hosts give nothing to others.
  explicit World(std::size_t hosts) : dead(hosts, false), seeds(hosts, true), done(hosts, false) {
    for (std::size_t i = 0; i < hosts; ++i) ids.push_back(tree.enter());
  }
  void ask_all() {
    for (const PushTree::Id id : ids) tree.ask(id);
  }
  std::vector<PushTree::Id> fed_now() const {
    std::vector<PushTree::Id> now;
    for (const PushTree::Id id : ids) {
      if (!done[id] && tree.feed_of(id).is_decided) now.push_back(id);
    }
    return now;
  }
  // The feeding of one host ends.
  void end_feeding(PushTree::Id id) {
    const PushTree::Feed feed = tree.feed_of(id);
    if (feed.seeder && dead[feed.seeder->id]) {
      ++vain;
      tree.failed(id);
      return;
    }
    done[id] = true;
    if (!feed.seeder) ++by_launcher;
    if (seeds[id]) {
      tree.seeds(id, "10.0.0.1", static_cast<std::uint16_t>(id + 1));
    } else {
      tree.fed(id);
    }
    tree.left(id);
  }
  // Until nobody is fed any more; each round ends all feedings that were going on.
  int run_rounds() {
    int rounds = 0;
    for (auto now = fed_now(); !now.empty(); now = fed_now(), ++rounds) {
      for (const PushTree::Id id : now) end_feeding(id);
    }
    return rounds;
  }
  std::size_t without() const {
    return static_cast<std::size_t>(std::count(done.begin(), done.end(), false));
  }

  PushTree tree;
  std::vector<PushTree::Id> ids;
  std::vector<bool> dead, seeds, done;
  std::size_t by_launcher = 0, vain = 0;
};

TEST(PushTree, LetsTheLauncherFeedFourOf64InFourRounds) {
  World world(64);
  world.ask_all();
  EXPECT_EQ(world.run_rounds(), 4);
  EXPECT_EQ(world.without(), 0u);
  EXPECT_EQ(world.by_launcher, 4u);
}

TEST(PushTree, GivesTheChildrenOfAHostThatStoppedToOthers) {
  World world(64);
  world.dead[0] = true;
  world.ask_all();
  world.run_rounds();
  EXPECT_EQ(world.without(), 0u);
  EXPECT_EQ(world.vain, 2u);  // its two children; nobody is sent to it again
  EXPECT_EQ(world.by_launcher, 4u);
}

TEST(PushTree, LetsTheLauncherFeedAllWhereHostsDoNotReachEachOther) {
  World world(64);
  world.dead.assign(64, true);
  world.ask_all();
  world.run_rounds();
  EXPECT_EQ(world.without(), 0u);
  EXPECT_TRUE(world.tree.is_off());
  EXPECT_EQ(world.by_launcher, 64u);
  EXPECT_LE(world.vain, 8u);
}

TEST(PushTree, FeedsAllThoughNobodySeeds) {
  World world(64);
  world.seeds.assign(64, false);
  world.ask_all();
  world.run_rounds();
  EXPECT_EQ(world.without(), 0u);
  EXPECT_EQ(world.by_launcher, 64u);
}

TEST(PushTree, ReplacesARootThatLeaves) {
  World world(20);
  world.ask_all();
  world.done[1] = true;
  world.tree.left(1);  // its host was powered off while the launcher fed it
  EXPECT_TRUE(world.tree.feed_of(4).is_decided);
  EXPECT_FALSE(world.tree.feed_of(4).seeder);
  EXPECT_FALSE(world.tree.feed_of(5).is_decided);
}

TEST(PushTree, GivesALateHostASeederThatIsFree) {
  World world(5);
  for (std::size_t i = 0; i < 4; ++i) world.tree.ask(i);
  world.end_feeding(2);
  world.tree.ask(4);
  ASSERT_TRUE(world.tree.feed_of(4).seeder);
  EXPECT_EQ(world.tree.feed_of(4).seeder->id, 2u);
  EXPECT_EQ(world.tree.feed_of(4).seeder->port, 3);
}

// The address goes into a command of other hosts' shells.
TEST(SeederPlace, IsANumericAddressAndAPort) {
  const auto place = parse_seeder_place("10.0.0.7 40123");
  ASSERT_TRUE(place);
  EXPECT_EQ(place->address, "10.0.0.7");
  EXPECT_EQ(place->port, 40123);
  EXPECT_TRUE(parse_seeder_place("fd00::7 1"));
  for (const char* other : {"", "10.0.0.7", "10.0.0.7 0", "10.0.0.7 65536", "$(id) 1", "1;id 1",
                            "node2 1", "10.0.0.7 1 2", " 1", "10.0.0.7 1;id", "`id` 1"}) {
    EXPECT_FALSE(parse_seeder_place(other)) << other;
  }
}

// Hosts ask, stop, leave and end in any order. Whoever does not leave gets everything, and nobody
// waits while nobody is fed.
TEST(PushTree, FeedsEverybodyWhateverHappens) {
  for (unsigned seed = 1; seed <= 2000; ++seed) {
    std::mt19937 draw(seed);
    const auto below = [&](std::size_t bound) { return draw() % bound; };
    World world(1 + below(40));
    const std::size_t faults = below(4);  // of 8 hosts
    for (const PushTree::Id id : world.ids) {
      world.dead[id] = below(8) < faults;
      world.seeds[id] = below(8) >= faults;
    }
    std::vector<PushTree::Id> to_ask = world.ids;
    std::shuffle(to_ask.begin(), to_ask.end(), draw);
    for (int step = 0; step < 2000; ++step) {
      const auto now = world.fed_now();
      if (!to_ask.empty() && (now.empty() || below(3) == 0)) {
        world.tree.ask(to_ask.back());
        to_ask.pop_back();
        continue;
      }
      if (now.empty()) break;
      const PushTree::Id id = now[below(now.size())];
      if (below(16) < faults) {
        world.done[id] = true;  // it left
        world.tree.left(id);
      } else {
        world.end_feeding(id);
      }
    }
    ASSERT_EQ(world.without(), 0u) << "seed " << seed;
  }
}

}  // namespace
}  // namespace dtl::push_tree_test
