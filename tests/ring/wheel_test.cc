// Who drives the engine: the table of moves, and threads that hand over the wheel.
#include "ring/engine/wheel.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <deque>
#include <map>
#include <set>
#include <thread>
#include <tuple>
#include <vector>

#include "base/fd.h"

namespace dtl::ring::test::wheel_test {
namespace {

using State = WheelState;
using Event = WheelEvent;

constexpr std::array kEverybody{State::kThread,  State::kAsleep, State::kLent, State::kLeft,
                                State::kTicking, State::kDue,    State::kUsed, State::kParked,
                                State::kWanted,  State::kOffered};
const std::set<State> kCallers{State::kLent, State::kUsed, State::kParked, State::kWanted};
constexpr std::array kLeaving{Event::kLeaveIdle, Event::kLeaveActive, Event::kHandOver};

bool nobody_has(State state) {
  return state != State::kThread && kCallers.count(state) == 0;
}

TEST(WheelTable, GivesTheWheelToACallerOnlyIfNobodyHasIt) {
  for (const State state : kEverybody) {
    const auto move = next_move(state, Event::kTake);
    EXPECT_EQ(move.has_value(), nobody_has(state)) << int(state);
    if (move) {
      EXPECT_EQ(kCallers.count(move->to), 1U) << int(state);
    }
  }
}

TEST(WheelTable, LetsOnlyACallerThatHasItLeave) {
  for (const State state : kEverybody) {
    for (const Event event : kLeaving) {
      const auto move = next_move(state, event);
      EXPECT_EQ(move.has_value(), kCallers.count(state) == 1) << int(state);
      if (move) {
        EXPECT_TRUE(nobody_has(move->to)) << int(state);
      }
    }
  }
}

TEST(WheelTable, LetsOnlyTheThreadThatHasItSleep) {
  for (const State state : kEverybody) {
    EXPECT_EQ(next_move(state, Event::kSleep).has_value(), state == State::kThread) << int(state);
    EXPECT_EQ(next_move(state, Event::kLook).has_value(), state != State::kThread) << int(state);
  }
}

TEST(WheelTable, NeverTakesTheWheelFromWhoHasIt) {
  for (const State state : kEverybody) {
    const auto recalled = next_move(state, Event::kRecall);
    ASSERT_TRUE(recalled) << int(state);
    EXPECT_EQ(kCallers.count(recalled->to), kCallers.count(state)) << int(state);
    EXPECT_EQ(recalled->to == State::kThread, state == State::kThread) << int(state);
    if (kCallers.count(state) == 0) continue;
    EXPECT_EQ(kCallers.count(next_move(state, Event::kLook)->to), 1U) << int(state);
  }
}

// What the thread does, and what may wake it in sleep().
enum class Nap { kDrives, kDeep, kTick, kLongTick };
struct World {
  State state = State::kThread;
  Nap nap = Nap::kDrives;
  bool is_called = false;
  bool has_work = false;  // left by a caller
  auto key() const { return std::tuple(state, nap, is_called, has_work); }
};

World after(World world, Event event) {
  const WheelMove move = *next_move(world.state, event);
  world.state = move.to;
  world.is_called = world.is_called || move.calls;
  if (event == Event::kTake || event == Event::kLeaveIdle) world.has_work = false;
  if (event == Event::kLeaveActive || event == Event::kHandOver) world.has_work = true;
  if (event == Event::kSleep) world.nap = Nap::kDeep;
  if (event == Event::kLook) {
    world.is_called = false;
    if (move.to == State::kDue) {
      world.nap = Nap::kTick;
    } else if (move.to == State::kThread) {
      world.nap = Nap::kDrives;
      world.has_work = false;
    } else {
      world.nap = Nap::kLongTick;
    }
  }
  return world;
}

// All states that can occur, in any interleaving of threads.
std::vector<World> every_world() {
  std::map<decltype(World{}.key()), World> seen;
  std::deque<World> next{World{}};
  while (!next.empty()) {
    const World world = next.front();
    next.pop_front();
    if (!seen.emplace(world.key(), world).second) continue;
    for (const Event event : {Event::kTake, Event::kLeaveIdle, Event::kLeaveActive,
                              Event::kHandOver, Event::kRecall, Event::kSleep, Event::kLook}) {
      if (next_move(world.state, event)) next.push_back(after(world, event));
    }
  }
  std::vector<World> worlds;
  for (const auto& [key, world] : seen) worlds.push_back(world);
  return worlds;
}

TEST(WheelTable, ReachesEveryState) {
  std::set<State> states;
  for (const World& world : every_world()) states.insert(world.state);
  EXPECT_EQ(states.size(), kEverybody.size());
}

TEST(WheelTable, NeverLeavesWorkToAThreadThatSleepsOn) {
  for (const World& world : every_world()) {
    if (!nobody_has(world.state) || !world.has_work) continue;
    EXPECT_TRUE(world.is_called || world.nap == Nap::kTick)
        << "state " << int(world.state) << ", nap " << int(world.nap);
  }
}

TEST(WheelTable, GivesWhatIsLeftToTheThreadAfterTwoTicksAtMost) {
  for (World world : every_world()) {
    if (!nobody_has(world.state)) continue;
    for (int looks = 0; looks < 2 && world.state != State::kThread; ++looks) {
      world = after(world, Event::kLook);
    }
    EXPECT_EQ(world.state, State::kThread);
  }
}

TEST(WheelTable, TellsTheThreadThatWaitsForTheEndWhenItComes) {
  for (const World& world : every_world()) {
    if (world.nap != Nap::kLongTick || !kCallers.count(world.state)) continue;
    for (const Event event : kLeaving) {
      EXPECT_TRUE(after(world, event).is_called) << int(world.state);
    }
  }
}

TEST(Wheel, IsTheThreadsToBeginWith) {
  Wheel wheel;
  EXPECT_EQ(wheel.take(), std::nullopt);
}

TEST(Wheel, SaysWhetherTheThreadWasAsleep) {
  Wheel wheel;
  std::thread thread([&] { wheel.sleep(-1, -1); });
  std::optional<State> before;
  while (!before) before = wheel.take();
  EXPECT_EQ(before, State::kAsleep);
  wheel.leave(Event::kLeaveIdle);
  before = wheel.take();
  EXPECT_EQ(before, State::kLeft);
  wheel.leave(Event::kHandOver);
  thread.join();
  EXPECT_EQ(wheel.take(), std::nullopt) << "the thread has it";
}

TEST(Wheel, ComesBackToTheThreadWhenItsDescriptorIsReadable) {
  Wheel wheel;
  Pipe pipe = make_pipe();
  ASSERT_EQ(::write(pipe.write_end.get(), "x", 1), 1);
  wheel.sleep(pipe.read_end.get(), -1);
  EXPECT_EQ(wheel.take(), std::nullopt);
}

TEST(Wheel, ComesBackToTheThreadWhenItsTimeIsOver) {
  Wheel wheel;
  wheel.sleep(-1, 1);
  EXPECT_EQ(wheel.take(), std::nullopt);
}

TEST(Wheel, ComesBackToTheThreadWhenCallersRecallIt) {
  Wheel wheel;
  std::thread thread([&] { wheel.sleep(-1, -1); });
  std::optional<State> before;
  while (!before) before = wheel.take();
  wheel.recall();
  wheel.leave(Event::kLeaveIdle);
  thread.join();
}

TEST(Wheel, IsNeverInTwoHands) {
  constexpr int kCallersAtOnce = 3, kTurns = 3000;
  Wheel wheel;
  long turns = 0;  // protected by the wheel
  std::atomic<int> busy{kCallersAtOnce};
  std::thread thread([&] {
    while (busy > 0) {
      ++turns;
      wheel.sleep(-1, 1);
    }
  });
  std::atomic<long> taken{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < kCallersAtOnce; ++caller) {
    callers.emplace_back([&, caller] {
      for (int i = 0; i < kTurns;) {
        if (!wheel.take()) {
          std::this_thread::yield();
          continue;
        }
        ++turns;
        ++taken;
        if ((i + caller) % 7 == 0) wheel.recall();
        wheel.leave(kLeaving[static_cast<std::size_t>(i++ + caller) % kLeaving.size()]);
      }
      --busy;
    });
  }
  for (std::thread& caller : callers) caller.join();
  wheel.recall();
  thread.join();
  EXPECT_EQ(taken, kCallersAtOnce * kTurns);
  EXPECT_GT(turns, taken) << "the thread had its turns as well";
}

}  // namespace
}  // namespace dtl::ring::test::wheel_test
