#include "launcher/jobs/queue_view.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/text.h"
#include "launcher/options/jobs_options.h"
#include "launcher/options/subcommands.h"

namespace dtl::queue_view_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

const std::string kFull = "cpus 0-7\ncores 8\nfree-cpus \nfree-cores 0\n\n";
const std::string kHalf = "cpus 0-7\ncores 8\nfree-cpus 4-7\nfree-cores 4\n\n";
const std::string kIdle = "cpus 0-7\ncores 8\nfree-cpus 0-7\nfree-cores 8\n\n";

std::string claim(const std::string& job, const std::string& user, int left,
                  const std::string& cpus = "0-7", int cores = 8) {
  return fmt::format(
      "job {}00000000ffff\nuser 1000 {}\nage 60\nshared no\ncpus {}\ncores {}\nleft {}\n\n", job,
      user, cpus, cores, left);
}

std::string ticket(const std::string& job, const std::string& user, std::int64_t arrival, int wants,
                   int kept = 0, const std::string& cpus = "") {
  return fmt::format(
      "ticket {}00000000ffff\nuser 1001 {}\nage 75\narrival {}\nwants {}\nwants-cpus {}\nruns 600\n"
      "kept {}\n\n",
      job, user, arrival, wants, cpus, kept);
}

HostCores host(const std::string& name, const std::string& answer) {
  return {name, parse_node_cores(answer + "end\n").value()};
}

TEST(TicketsOfANode, AreReadBehindItsClaims) {
  const auto node = parse_node_cores(kFull + claim("1a2b", "bob", 7200) +
                                     ticket("3c4d", "alice", 1700000000000, 4, 2, "0-3") + "end\n");
  ASSERT_TRUE(node);
  ASSERT_THAT(node->claims, SizeIs(1));
  EXPECT_EQ(node->claims[0].left_s, 7200);
  ASSERT_THAT(node->waiting, SizeIs(1));
  const WaitingTicket& waits = node->waiting[0];
  EXPECT_EQ(waits.job, "3c4d00000000ffff");
  EXPECT_EQ(waits.user, "alice");
  EXPECT_EQ(waits.age_s, 75);
  EXPECT_EQ(waits.arrival_ms, 1700000000000);
  EXPECT_EQ(waits.cores, 4);
  EXPECT_EQ(waits.cpus, "0-3");
  EXPECT_EQ(waits.runs_s, 600);
  EXPECT_EQ(waits.kept, 2);
}

TEST(TicketsOfANode, MakeAnyOtherAnswerARefusedOne) {
  const std::string good = kFull + ticket("3c4d", "alice", 1700000000000, 4);
  ASSERT_TRUE(parse_node_cores(good + "end\n"));
  const auto with = [&](const std::string& old, const std::string& other) {
    std::string text = good + "end\n";
    text.replace(text.find(old), old.size(), other);
    return text;
  };
  for (const std::string& text :
       {good, good + "end", good + claim("1a2b", "bob", 0) + "end\n", with("ticket ", "tickets "),
        with("user 1001 alice", "user alice"), with("user 1001 alice\n", ""),
        with("age 75", "age -1"), with("arrival 1700000000000", "arrival soon"),
        with("arrival 1700000000000", "arrival 9999999999999999999"),
        with("wants 4", "wants 65537"), with("wants 4\n", ""), with("wants-cpus ", "wants-cpus"),
        with("wants-cpus ", "wants-cpus all"), with("wants-cpus ", "wants-cpus \x1b"),
        with("runs 600", "runs 600s"), with("kept 0", "kept 9"),
        with("kept 0\n", "kept 0\nmore 1\n"), with("kept 0\n\n", "kept 0\n")}) {
    EXPECT_FALSE(parse_node_cores(text)) << printable(text);
  }
}

// Each answer that is cut off, and each with one other byte, is refused or read, and nothing worse.
TEST(TicketsOfANode, SurviveDamage) {
  const std::string whole = kHalf + claim("1a2b", "bob", 60, "0-3", 4) +
                            ticket("3c4d", "alice", 1, 8, 4) +
                            ticket("5e6f", "carol", 2, 2, 0, "0-1") + "end\n";
  for (std::size_t at = 0; at < whole.size(); ++at) {
    EXPECT_FALSE(parse_node_cores(whole.substr(0, at))) << at;
    for (const char byte : {'\0', '\n', ' ', '9', ',', '-', '\x1b', '\xff'}) {
      std::string text = whole;
      text[at] = byte;
      const auto node = parse_node_cores(text);
      if (!node) continue;
      const std::vector<HostCores> hosts = {{"n1", *node}};
      const std::string table = queue_table(fold_line(hosts), 80);
      EXPECT_THAT(table, Not(HasSubstr("\x1b"))) << at;
      queue_json(hosts, fold_line(hosts), {});
      cores_table(hosts, 80);
    }
  }
}

TEST(WaitingLine, FoldsTheTicketsOfAJobOnSeveralHosts) {
  const std::vector<HostCores> hosts = {
      host("node1", kFull + claim("1a2b", "bob", 7200) + ticket("3c4d", "alice", 5, 4)),
      host("node2", kFull + claim("1a2b", "bob", 0) + ticket("3c4d", "alice", 5, 4))};
  const auto jobs = fold_line(hosts);
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_EQ(jobs[0].position, 1U);
  EXPECT_THAT(jobs[0].users, ElementsAre("alice"));
  ASSERT_THAT(jobs[0].wants, SizeIs(2));
  // Bob's job is one job. Without a limit on one host it has none.
  ASSERT_THAT(jobs[0].waits_for, SizeIs(1));
  EXPECT_EQ(jobs[0].waits_for[0].left_s, 0);
  EXPECT_EQ(queue_table(jobs, 80),
            "POSITION JOB  USER  WAITING WANTS/HOST             FOR\n"
            "1        3c4d alice 1m      4 cores on node1,node2 1a2b of bob\n");
}

TEST(WaitingLine, IsInTheOrderOfArrivalAndThenOfTheJobsIds) {
  const std::vector<HostCores> hosts = {
      host("n1", kHalf + claim("1a2b", "bob", 7200, "0-3", 4) + ticket("9999", "ann", 7, 8, 4) +
                     ticket("5555", "eve", 8, 8) + ticket("4444", "dan", 8, 1))};
  EXPECT_EQ(queue_table(fold_line(hosts), 80),
            "POSITION JOB  USER WAITING WANTS/HOST    FOR\n"
            "1        9999 ann  1m      8 cores on n1 1a2b of bob, 2h00m left\n"
            "2        4444 dan  1m      1 core on n1  1a2b of bob, 2h00m left; 9999 of ann, >\n"
            "3        5555 eve  1m      8 cores on n1 1a2b of bob, 2h00m left; 9999 of ann, >\n");
}

// Two jobs that want different hosts do not wait for each other.
TEST(WaitingLine, CountsPositionsOnEachHost) {
  const auto jobs =
      fold_line({host("n1", kFull + ticket("aaaa", "ann", 1, 8)),
                 host("n2", kFull + ticket("bbbb", "bob", 2, 8)),
                 host("n3", kFull + ticket("aaaa", "ann", 1, 8) + ticket("cccc", "cat", 3, 8))});
  ASSERT_THAT(jobs, SizeIs(3));
  EXPECT_EQ(jobs[0].position, 1U);
  EXPECT_EQ(jobs[1].position, 1U);
  EXPECT_EQ(jobs[2].position, 2U);
}

TEST(WaitingLine, NamesOnlyJobsThatKeepOneFromStarting) {
  const auto jobs = fold_line(
      {host("n1", kHalf + claim("1a2b", "bob", 0, "0-3", 4) + ticket("aaaa", "ann", 1, 4, 4)),
       host("n2",
            kHalf + claim("2b3c", "cat", 0, "0-3", 4) + ticket("aaaa", "ann", 1, 2, 2, "4-5")),
       host("n3", kHalf + claim("3c4d", "dan", 0, "0-3", 4) + claim("4d5e", "eve", 0, "6-7", 2) +
                      ticket("aaaa", "ann", 1, 2, 0, "2,6"))});
  ASSERT_THAT(jobs, SizeIs(1));
  std::vector<std::string> users;
  for (const CoreHolder& holder : jobs[0].waits_for) users.push_back(holder.user);
  EXPECT_THAT(users, ElementsAre("dan", "eve"));
  EXPECT_THAT(queue_table(jobs, std::nullopt),
              HasSubstr("4 cores on n1; CPUs 4-5 on n2; CPUs 2,6 on n3"));
}

TEST(WaitingLine, LeavesOutAJobThatHasStarted) {
  EXPECT_THAT(
      fold_line({host("n1", kFull + claim("3c4d", "bob", 0) + ticket("3c4d", "bob", 1, 4))}),
      IsEmpty());
  // Another user's claim in its name does not hide it.
  EXPECT_THAT(
      fold_line({host("n1", kFull + claim("3c4d", "eve", 0) + ticket("3c4d", "bob", 1, 4))}),
      SizeIs(1));
}

// Anybody on a host may hold any ticket.
TEST(WaitingLine, ShowsForeignTicketsForWhatTheyAre) {
  std::string odd = ticket("3c4d", "eve", 1, 4);
  odd.replace(odd.find("3c4d"), 4, "\x1b[2J");
  const auto jobs = fold_line({host("n1", kFull + odd + odd + ticket("3c4d", "bob", 2, 4)),
                               host("n2", kFull + ticket("3c4d", "mal", 2, 4))});
  ASSERT_THAT(jobs, SizeIs(3));
  EXPECT_EQ(jobs[0].job, "?");
  EXPECT_THAT(jobs[2].users, ElementsAre("bob", "mal"));
}

TEST(QueueTable, FitsTheTerminalAndIsWholeInAPipe) {
  const std::string user(60, 'u'), other(60, 'o');
  std::vector<HostCores> hosts;
  for (int i = 0; i < 30; ++i) {
    hosts.push_back(host(fmt::format("a-long-name-of-a-host-{}x", i),
                         kFull + claim("1a2b", other, 90000) +
                             ticket("3c4d", user, 1, 8, 0, fmt::format("0,2,4-{}", 5 + i % 3))));
  }
  const auto jobs = fold_line(hosts);
  for (const int columns : {20, 80, 132}) {
    for (const std::string& line : split(queue_table(jobs, columns), '\n')) {
      EXPECT_LE(line.size(), static_cast<std::size_t>(std::max(columns, 80))) << line;
    }
  }
  const std::string whole = queue_table(jobs, std::nullopt);
  for (const std::string& part :
       {user, "1a2b00000000ffff of " + other + ", 25h00m left", std::string("3c4d00000000ffff"),
        std::string("CPUs 0,2,4-5 on ")}) {
    EXPECT_THAT(whole, HasSubstr(part));
  }
  EXPECT_THAT(whole, Not(HasSubstr(">")));
}

TEST(QueueTable, SaysInASentenceThatNobodyWaits) {
  EXPECT_EQ(empty_line_text({host("node1", kIdle), host("node2", kIdle)}),
            "no job waits for cores of node1,node2\n");
}

TEST(QueueJson, HasHostsAndJobs) {
  const std::vector<HostCores> hosts = {
      host("n1", kHalf + claim("1a2b", "bob", 60, "0-3", 4) + ticket("3c4d", "\xff", 5, 8, 4))};
  const auto json = nlohmann::json::parse(queue_json(hosts, fold_line(hosts), {}));
  EXPECT_EQ(json["schema"], "dtlaunch-queue/1");
  EXPECT_EQ(json["hosts"][0]["kept_cores"], 4);
  const auto& job = json["jobs"][0];
  EXPECT_EQ(job["job"], "3c4d00000000ffff");
  EXPECT_EQ(job["users"][0], "\\xff");
  EXPECT_EQ(job["wants"][0]["cores"], 8);
  EXPECT_TRUE(job["wants"][0]["cpus"].is_null());
  EXPECT_EQ(job["waits_for"][0]["left_s"], 60);
  EXPECT_EQ(job["runs_s"], 600);
}

TEST(CoresTable, ShowsCoresThatAreKeptForWaitingJobs) {
  EXPECT_EQ(cores_table({host("node1", kHalf + claim("1a2b", "bob", 0, "0-3", 4) +
                                           ticket("3c4d", "alice", 5, 8, 3) +
                                           ticket("5e6f", "carol", 6, 8, 0))},
                        80),
            "HOST  CPUS     CORES  JOB  USER  FOR\n"
            "node1 0-3      4 of 8 1a2b bob   1m\n"
            "node1 4-7      4 of 8 free\n"
            "node1 of these 3 of 8 3c4d alice 1m  waits\n");
}

// 1,000 tickets take some milliseconds; the limit is for a busy machine.
TEST(WaitingLine, IsQuickWithAThousandTickets) {
  std::string answer = kHalf + claim("1a2b", "bob", 0, "0-3", 4);
  for (int i = 0; i < 1000; ++i)
    answer += ticket(fmt::format("{:04x}", i), "ann", i, 8, i == 0 ? 4 : 0);
  const auto began = std::chrono::steady_clock::now();
  const std::vector<HostCores> hosts = {host("n1", answer)};
  const auto jobs = fold_line(hosts);
  const std::string table = queue_table(jobs, 80), json = queue_json(hosts, jobs, {});
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(2));
  EXPECT_THAT(jobs, SizeIs(1000));
  EXPECT_EQ(jobs.back().position, 1000U);
}

TEST(QueueOptions, TakeHostsAndNoJob) {
  EXPECT_TRUE(parse_jobs_command("queue", {"--json", "-hosts", "a,b"}).json);
  EXPECT_THROW(parse_jobs_command("queue", {"3c4d"}), Error);
  EXPECT_EQ(parse_jobs_command("cancel", {"3C4D"}).job, "3c4d");
  EXPECT_THROW(parse_jobs_command("cancel", {}), Error);
}

TEST(Subcommands, KnowTheWordsOfSchedulers) {
  for (const auto& [theirs, ours] : {std::pair("sbatch", "submit"),
                                     {"qsub", "submit"},
                                     {"squeue", "queue"},
                                     {"qstat", "queue"},
                                     {"scancel", "cancel"},
                                     {"qdel", "cancel"},
                                     {"cancle", "cancel"}}) {
    EXPECT_EQ(meant_subcommand(theirs), ours);
  }
  EXPECT_EQ(meant_subcommand("psss") + similar_subcommand("psss"), "ps");
  EXPECT_STREQ(unknown_word("psss", "ps").what(),
               "psss: dtlaunch has no such command, and no program here has this name. "
               "Try: dtlaunch ps, or dtlaunch -- psss if it is a program of the hosts");
  EXPECT_STREQ(unknown_word("foo", "").what(),
               "foo: dtlaunch has no such command, and no program here has this name. "
               "Try: dtlaunch help");
  EXPECT_EQ(similar_subcommand("hist"), "history");
  EXPECT_EQ(similar_subcommand("foo") + similar_subcommand("p") + similar_subcommand(""), "");
}

}  // namespace
}  // namespace dtl::queue_view_test
