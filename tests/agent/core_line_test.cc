#include "agent/cores/core_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <memory>

#include "agent/cores/abstract_socket.h"
#include "agent/cores/core_owner.h"
#include "agent/cores/ticket_name.h"
#include "base/random.h"
#include "base/text.h"
#include "tests/agent/own_network.h"

namespace dtl::core_line_test {
namespace {

using std::chrono::milliseconds;

std::string new_id() {
  return to_hex(random_bytes(8, "draw a job id"));
}

// The CPUs of this process, each as a core.
NodeTopology own_node() {
  cpu_set_t set;
  CPU_ZERO(&set);
  ::sched_getaffinity(0, sizeof set, &set);
  NodeTopology topology;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &set)) continue;
    topology.allowed.add(cpu);
    topology.cores.emplace_back().cpus = {cpu};
  }
  return topology;
}

// ---- names

TEST(TicketName, IsReadAsItWasWritten) {
  TicketName ticket{"00112233aabbccdd", 1700000000000, 600, 0xabcdef01, 4, {}};
  EXPECT_EQ(write_ticket_name(ticket),
            "dtlaunch-ticket/2/00112233aabbccdd/1700000000000/600/0/abcdef01/4");
  EXPECT_EQ(read_ticket_name(write_ticket_name(ticket)), ticket);
  ticket.cpus = CpuSet({0, 1, 2, 8});
  EXPECT_EQ(write_ticket_name(ticket),
            "dtlaunch-ticket/2/00112233aabbccdd/1700000000000/600/0/abcdef01/=0-2,8");
  EXPECT_EQ(read_ticket_name(write_ticket_name(ticket)), ticket);
  ticket.blocked_until = milliseconds(98765);
  EXPECT_EQ(write_ticket_name(ticket),
            "dtlaunch-ticket/2/00112233aabbccdd/1700000000000/600/98765/abcdef01/=0-2,8");
  EXPECT_EQ(read_ticket_name(write_ticket_name(ticket)), ticket);
  const EndName end{"00112233aabbccdd", milliseconds(123456), 7};
  EXPECT_EQ(write_end_name(end), "dtlaunch-ends/1/00112233aabbccdd/123456/00000007");
  EXPECT_EQ(read_end_name(write_end_name(end)), end);
}

TEST(TicketName, CountsCoresWhereCpusDoNotFit) {
  TicketName ticket{"00112233aabbccdd", 1700000000000, 600, 1, 40, {}};
  for (int cpu = 0; cpu < 400; cpu += 10) ticket.cpus.add(cpu);
  const std::string name = write_ticket_name(ticket);
  EXPECT_LE(name.size(), 107U);
  EXPECT_TRUE(name.ends_with("/40")) << name;
}

TEST(TicketName, HasOneSpelling) {
  for (const char* name :
       {"dtlaunch-ticket/2/ab/1/0/0/00000001", "dtlaunch-ticket/2/ab/1/0/0/00000001/",
        "dtlaunch-ticket/2/ab/1/0/0/00000001/=", "dtlaunch-ticket/2/ab/01/0/0/00000001/1",
        "dtlaunch-ticket/2/ab/1/0/0/0000000A/1", "dtlaunch-ticket/2/ab/1/0/0/00000001/-1",
        "dtlaunch-ticket/2/ab/1/0/0/00000001/65537", "dtlaunch-ticket/2/ab/1/0/0/00000001/=1,0",
        "dtlaunch-ticket/2/ab/1/0/0/00000001/1/2", "dtlaunch-ticket/2/ab/1/0/00/00000001/1",
        "dtlaunch-ticket/2/ab/1/0/-1/00000001/1", "dtlaunch-ticket/2//1/0/0/00000001/1",
        "dtlaunch-ticket/2/00112233aabbccdd0/1/0/0/00000001/1",
        "dtlaunch-ticket/3/ab/1/0/0/00000001/1", "dtlaunch-ends/1/ab/1/00000001"}) {
    EXPECT_FALSE(read_ticket_name(name)) << name;
  }
  for (const char* name : {"dtlaunch-ends/1/ab/1/1", "dtlaunch-ends/1/ab/-1/00000001",
                           "dtlaunch-ends/1/ab/1/00000001/", "dtlaunch-ends/1/a/b/1/00000001"}) {
    EXPECT_FALSE(read_end_name(name)) << name;
  }
}

// Anybody may bind any name.
TEST(TicketName, IsNothingElseAfterAnyChange) {
  RandomNumbers random;
  const TicketName ticket{"00112233aabbccdd", 1700000000000, 600, 0xabcdef01, 4, CpuSet({0, 3})};
  const std::string good = write_ticket_name(ticket);
  for (int times = 0; times < 20'000; ++times) {
    std::string name = good;
    for (std::uint32_t changes = random() % 3 + 1; changes > 0; --changes) {
      const std::size_t at = random() % name.size();
      if (random() % 2 == 0)
        name[at] = static_cast<char>(random());
      else
        name.insert(at, 1, static_cast<char>('0' + random() % 12));
    }
    const auto read = read_ticket_name(name);
    if (!read) continue;
    EXPECT_EQ(write_ticket_name(*read), name);
  }
}

// ---- a line on this machine

class Lines : public testing::Test {
  const test::OwnNetwork alone_;

 protected:
  struct Waiter {
    std::string job = new_id();
    std::vector<CoresSeen> told;
    std::unique_ptr<CoreLine> line;
  };

  std::unique_ptr<Waiter> waiter() {
    auto one = std::make_unique<Waiter>();
    one->line = std::make_unique<CoreLine>(
        context_, tasks_, one->job, node_,
        [told = &one->told](CoresSeen seen) { told->push_back(std::move(seen)); });
    return one;
  }
  // Of one core, which comes after everything that really waits on this machine.
  TakeTicket ticket(std::uint64_t place, int cores = 1) const {
    TakeTicket order;
    order.arrival_ms = kLate + place;
    order.cores = static_cast<std::uint32_t>(cores);
    return order;
  }
  // Whether `one` is told, sooner or later, that so many cores are kept for the other.
  bool hears(const Waiter& one, const Waiter& other, int kept) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    const auto heard = [&] {
      return !one.told.empty() && kept_for(one.told.back().claims, other.job) == kept;
    };
    while (!heard() && std::chrono::steady_clock::now() < end) {
      context_.run_one_for(milliseconds(50));
    }
    return heard();
  }
  int cores() const { return static_cast<int>(node_.cores.size()); }
  static int kept_for(const std::vector<CoreClaim>& claims, const std::string& job) {
    int cpus = 0;
    for (const CoreClaim& claim : claims) {
      if (claim.waits && claim.job_id == job) cpus += claim.cpus.count();
    }
    return cpus;
  }

  static constexpr std::uint64_t kLate = 1'000'000'000'000'000;
  asio::io_context context_;
  TaskGroup tasks_{context_};
  const NodeTopology node_ = own_node();
};

TEST_F(Lines, TellWhenTheJobHasCome) {
  const auto one = waiter();
  TakeTicket first;
  first.cores = 1;
  const auto before = static_cast<std::uint64_t>(wall_clock().count());
  const CoresSeen seen = one->line->take(first);
  EXPECT_GE(seen.arrival_ms, before);
  EXPECT_LE(seen.arrival_ms, static_cast<std::uint64_t>(wall_clock().count()));
  EXPECT_EQ(seen.problem, "");
}

TEST_F(Lines, KeepCoresForThoseBeforeAndTellWhenTheyGo) {
  const auto first = waiter(), second = waiter();
  first->line->take(ticket(1, cores()));
  const CoresSeen seen = second->line->take(ticket(2));
  if (kept_for(seen.claims, first->job) != cores()) GTEST_SKIP() << "other jobs have cores here";
  EXPECT_EQ(kept_for(first->line->taken(), second->job), 0) << "it comes later";
  first->line->leave();
  EXPECT_TRUE(hears(*second, *first, 0));
}

TEST_F(Lines, LetAJobPassWhoseLauncherIsStoppedUntilItContinues) {
  const auto first = waiter(), second = waiter();
  first->line->take(ticket(1, cores()));
  if (kept_for(second->line->take(ticket(2)).claims, first->job) != cores()) {
    GTEST_SKIP() << "other jobs have cores here";
  }
  first->line->pause(true);
  EXPECT_TRUE(hears(*second, *first, 0));
  first->line->pause(false);
  EXPECT_TRUE(hears(*second, *first, cores()));
}

TEST_F(Lines, AreSeenByAJobThatDoesNotWait) {
  const auto first = waiter();
  first->line->take(ticket(1, cores()));
  const auto claims = taken_on_node(node_, new_id());
  int taken = 0;
  for (const CoreClaim& claim : claims) taken += claim.shared ? 0 : claim.cpus.count();
  EXPECT_EQ(taken, cores());
  const auto tickets = tickets_on_node(job_sockets_here(), node_.allowed);
  const auto own = std::find_if(tickets.begin(), tickets.end(),
                                [&](const Ticket& each) { return each.job_id == first->job; });
  ASSERT_NE(own, tickets.end());
  EXPECT_EQ(own->user_id, ::getuid());
  EXPECT_EQ(own->cores, cores());
  EXPECT_EQ(own->usable, node_.allowed);
}

TEST_F(Lines, KeepNothingForJobsAroundAndNothingOfTheirs) {
  const auto outer = waiter(), inner = waiter();
  outer->line->take(ticket(1, cores()));
  TakeTicket order = ticket(2);
  order.around = {outer->job};
  EXPECT_EQ(kept_for(inner->line->take(order).claims, outer->job), 0);
}

TEST_F(Lines, SayWhenJobsWithALimitEnd) {
  const std::string job = new_id();
  CoreOwner owner(job, node_.allowed);
  owner.claim({node_.allowed, true, {}, 600});
  for (const CoreClaim& claim : taken_on_node(node_, new_id())) {
    if (claim.job_id != job) continue;
    EXPECT_GE(claim.left_s, 590U);
    EXPECT_LE(claim.left_s, 600U);
    return;
  }
  FAIL() << "nobody sees the claim";
}

// Nobody answers for these tickets, and there are many.
TEST_F(Lines, BearManyTickets) {
  std::vector<Fd> tickets;
  for (std::uint32_t number = 0; number < 600; ++number) {
    tickets.push_back(
        bind_abstract(write_ticket_name({new_id(), kLate + number, 0, number, 1, {}})));
    listen_abstract(tickets.back());
  }
  const CpuSet all = *read_cpu_list("0-65535");
  for (std::uint32_t number = 0; number < 200; ++number) {
    tickets.push_back(bind_abstract(write_ticket_name({new_id(), kLate, 0, number, 1, all})));
    listen_abstract(tickets.back());
  }
  const auto last = waiter();
  EXPECT_EQ(last->line->take(ticket(1'000'000)).problem, "");
  const auto begin = std::chrono::steady_clock::now();
  last->line->taken();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(1000));
}

}  // namespace
}  // namespace dtl::core_line_test
