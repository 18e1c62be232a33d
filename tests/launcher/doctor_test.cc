#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "launcher/doctor/doctor_findings.h"
#include "launcher/doctor/ssh_config_check.h"

namespace dtl::doctor_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// A healthy host, the `number`-th of a cluster.
Examination healthy(int number, int hosts) {
  Examination host;
  host.name = "n" + std::to_string(number);
  NodeFacts facts;
  facts.topology.cores = {{0, 0, {0}}, {0, 0, {1}}};
  facts.topology.memory_bytes = std::uint64_t{64} << 30;
  Nic nic;
  nic.name = "eth0";
  nic.up = true;
  nic.mtu = 1500;
  nic.addresses = {"10.0.0." + std::to_string(number)};
  nic.prefix_bits = {24};
  facts.nics = {nic};
  facts.reached_at = nic.addresses[0];
  host.facts = facts;
  host.more = {{"kernel.pidfd", "yes"},       {"kernel.close_range", "yes"},
               {"limit.nofile", "1024 4096"}, {"limit.nproc", "unlimited unlimited"},
               {"cpu.model", "Xeon"},         {"cpu.features", "avx2 avx512f"},
               {"torch.version", "2.1.0"},    {"shm.total_bytes", "4000000000"},
               {"cgroup.version", "2"},       {"cgroup.writable", "yes"}};
  host.clock_ahead_s = 0.01;
  host.listening.addresses = nic.addresses;
  for (int other = 1; other <= hosts; ++other) {
    if (other == number) continue;
    Attempt attempt;
    attempt.endpoint = {"10.0.0." + std::to_string(other), 4000,
                        static_cast<std::uint32_t>(other - 1)};
    attempt.reached = true;
    attempt.local_address = nic.addresses[0];
    attempt.local_interface = "eth0";
    host.attempts.push_back(attempt);
    host.large_attempts.push_back(attempt);
  }
  return host;
}

std::vector<Examination> cluster(int hosts) {
  std::vector<Examination> all;
  for (int number = 1; number <= hosts; ++number) all.push_back(healthy(number, hosts));
  return all;
}

// "warning n2: clock: its clock is ..." for all findings that are not fine.
std::vector<std::string> complaints(const std::vector<Examination>& hosts) {
  std::vector<std::string> lines;
  for (const Finding& finding : find_all(hosts, {})) {
    if (finding.level == Level::kOk) continue;
    std::string names;
    for (const std::string& name : finding.hosts) names += (names.empty() ? "" : ",") + name;
    lines.push_back(std::string(level_name(finding.level)) + " " + names + ": " + finding.check +
                    ": " + finding.text);
  }
  return lines;
}

TEST(Doctor, HasNoComplaintAboutHostsThatAreWell) {
  const auto hosts = cluster(3);
  EXPECT_THAT(complaints(hosts), IsEmpty());
  EXPECT_EQ(exit_status(find_all(hosts, {})), 0);
}

TEST(Doctor, AHostThatDoesNotComeUpStopsNoOtherCheck) {
  auto hosts = cluster(3);
  hosts[0].failure = Error(Exit::kAuth, "n1: cannot start agent", "key refused", "ssh-copy-id n1");
  hosts[0].facts.reset();
  hosts[2].clock_ahead_s = -5;
  EXPECT_THAT(complaints(hosts),
              ElementsAre("error n1: login: cannot start agent: key refused",
                          "warning n3: clock: its clock is 5.0 s behind this host's"));
  const auto findings = find_all(hosts, {});
  EXPECT_EQ(findings[0].fix, "ssh-copy-id n1");
  EXPECT_EQ(exit_status(findings), 77);
}

TEST(Doctor, SaysWhichNamesAreOneMachine) {
  auto hosts = cluster(3);
  for (const std::size_t i : {0u, 2u}) {
    hosts[i].facts->boot_id = "boot";
    hosts[i].facts->machine_id = "machine";
  }
  EXPECT_THAT(
      complaints(hosts),
      ElementsAre("note : names: n1 and n3 are the same machine: they count as one node, n1"));
  EXPECT_EQ(exit_status(find_all(hosts, {})), 0);
}

TEST(Doctor, NamesThePhaseThatFailed) {
  auto hosts = cluster(4);
  hosts[0].failure = Error(Exit::kUnreachable, "n1: cannot resolve its name", "unknown");
  hosts[1].failure = Error(Exit::kUnreachable, "n2: cannot connect to 10.0.0.2 port 22", "refused");
  hosts[2].failure = Error(Exit::kAuth, "n3: cannot start agent", "the host key has changed");
  hosts[3].failure = Error(Exit::kVersion, "n4: cannot use its dtagent", "it is version 0.0.1");
  std::vector<std::string> checks;
  for (const Finding& finding : find_all(hosts, {})) checks.push_back(finding.check);
  EXPECT_THAT(checks, ElementsAre("name", "port", "host key", "agent"));
}

TEST(Doctor, AllowsForTheRoundTripWhenItComparesClocks) {
  auto hosts = cluster(1);
  hosts[0].clock_ahead_s = 1.4;
  hosts[0].clock_uncertain_s = 0.5;
  EXPECT_THAT(complaints(hosts), IsEmpty());
  hosts[0].clock_ahead_s = 1.6;
  EXPECT_THAT(complaints(hosts), ElementsAre(HasSubstr("clock is 1.6 s ahead")));
}

// A job of `user` on these CPUs of the host.
CoreClaim claim(const std::string& user, const std::vector<int>& cpus) {
  return {"1a2b00000000ffff", 1000, user, 7500, CpuSet(cpus), false};
}

TEST(Doctor, NotesWhoHasCores) {
  auto hosts = cluster(3);
  for (auto& host : hosts) host.facts->topology.allowed = CpuSet({0, 1});
  for (const std::size_t i : {0u, 2u}) hosts[i].facts->claims = {claim("alice", {0})};
  EXPECT_THAT(complaints(hosts),
              ElementsAre("note n1,n3: cores: job 1a2b of alice has had 1 of 2 cores for 2h05m"));
  EXPECT_EQ(exit_status(find_all(hosts, {})), 0);
  hosts[0].facts->claims = {claim("\x1b[2J", {0})};
  EXPECT_THAT(complaints(hosts)[0], Not(HasSubstr("\x1b[")));
}

TEST(Doctor, BlamesLoadOnThoseWhoHaveTheCores) {
  auto hosts = cluster(1);
  hosts[0].facts->topology.allowed = CpuSet({0, 1});
  hosts[0].more["cpu.load"] = "2.4";
  EXPECT_THAT(complaints(hosts),
              ElementsAre("note n1: cpu: load 2 on 2 cores: something else runs there"));
  hosts[0].facts->claims = {claim("alice", {0, 1})};
  EXPECT_THAT(complaints(hosts),
              ElementsAre("note n1: cores: job 1a2b of alice has had 2 of 2 cores for 2h05m"));
  hosts[0].more["cpu.load"] = "6";
  EXPECT_THAT(complaints(hosts),
              ElementsAre("note n1: cpu: load 6 on 2 cores: something else runs there, beside "
                          "dtlaunch's jobs",
                          HasSubstr("note n1: cores: job 1a2b of alice")));
}

TEST(Doctor, FoldsWhatManyHostsHave) {
  auto hosts = cluster(3);
  for (auto& host : hosts) host.more["limit.nofile"] = "256 256";
  hosts[1].more["shm.total_bytes"] = "67108864";
  EXPECT_THAT(complaints(hosts),
              ElementsAre("warning n1,n2,n3: limits: a rank may open 256 files (ulimit -n)",
                          HasSubstr("warning n2: shared memory: /dev/shm has 64 MiB")));
}

TEST(Doctor, SaysWhereNoJobWouldBeFound) {
  auto hosts = cluster(3);
  hosts[0].more["records.folder"] = "/run/user/1000/dtlaunch";
  hosts[1].more["records.folder"] = "/home/me/.local/state/dtlaunch/run-n2";
  hosts[1].more["records.taken"] = "/tmp/dtlaunch-1000: it belongs to another user (7)";
  hosts[2].more["records.taken"] = hosts[1].more["records.taken"];
  hosts[2].more["records.problem"] = "no place: /tmp/dtlaunch-1000: it belongs to another user (7)";
  EXPECT_THAT(
      complaints(hosts),
      ElementsAre(HasSubstr("warning n3: records: ps, kill and clean find no job there: no"),
                  HasSubstr("note n2: records: not used: /tmp/dtlaunch-1000")));
}

TEST(Doctor, PointsAtTheHostsThatDiffer) {
  auto hosts = cluster(5);
  hosts[3].more["torch.version"] = "1.13.1";
  hosts[4].more.erase("torch.version");
  hosts[0].facts->nics[0].mtu = 9000;
  hosts[1].facts->topology.cores.pop_back();
  hosts[2].more["cpu.features"] = "avx2";
  EXPECT_THAT(
      complaints(hosts),
      ElementsAre("warning n2: cpu: the topology differs: 2 cores, 1 socket, 1 NUMA node on "
                  "4 hosts; 1 core, 1 socket, 1 NUMA node on n2",
                  HasSubstr("warning n3: cpu: what the CPU offers for training differs"),
                  "warning n1: mtu: the MTU differs: 1500 on 4 hosts; 9000 on n1",
                  "warning n4,n5: torch: torch differs: 2.1.0 on n1, n2, n3; 1.13.1 on n4; "
                  "unknown on n5"));
}

TEST(Doctor, APathForSmallPacketsOnlyIsAnError) {
  auto hosts = cluster(3);
  for (const std::size_t from : {1U, 2U}) {
    hosts[from].large_attempts[0].reached = false;
    hosts[from].large_attempts[0].problem = "small packets pass, large ones do not";
  }
  EXPECT_THAT(complaints(hosts),
              ElementsAre("error n2,n3: large packets: to n1 at 10.0.0.1: small packets pass, "
                          "large ones do not"));
  EXPECT_EQ(exit_status(find_all(hosts, {})), 78);
}

TEST(Doctor, AMissingNetworkNamesThePairs) {
  auto hosts = cluster(3);
  hosts[0].attempts[1].reached = false;
  hosts[0].attempts[1].problem = "no answer in time";
  const auto found = complaints(hosts);
  ASSERT_FALSE(found.empty());
  EXPECT_THAT(found[0], HasSubstr("error : network: no network on which all 3 nodes"));
  EXPECT_THAT(found[0], HasSubstr("n1 cannot reach n3 at 10.0.0.3 (eth0): no answer in time"));
}

TEST(Doctor, TheNetworkIsJudgedAmongTheHostsThatAreUp) {
  auto hosts = cluster(3);
  hosts[1].failure = Error(Exit::kUnreachable, "n2: cannot connect to n2", "refused");
  for (auto& host : hosts) {
    for (Attempt& attempt : host.attempts) {
      if (attempt.endpoint.node == 1) attempt.reached = false;
    }
    host.large_attempts.clear();
  }
  const auto nodes = probed_nodes(hosts);
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes[0].attempts.at(0).endpoint.node, 1U);
  EXPECT_THAT(complaints(hosts), ElementsAre(HasSubstr("error n2: port")));
}

TEST(Doctor, NamesSlowLinks) {
  std::vector<Link> links;
  for (const auto& [from, to] : {std::pair(0U, 1U), {1U, 0U}, {0U, 2U}, {2U, 0U}, {1U, 2U}}) {
    links.push_back({from, to, 9.4, 50});
  }
  EXPECT_EQ(judge_links({"a", "b", "c"}, links).size(), 1U);
  links.push_back({2, 1, 0.9, 50});
  const auto findings = judge_links({"a", "b", "c"}, links);
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].text, "0.90 Gbit/s to b, while the median is 9.40");
  EXPECT_THAT(findings[0].hosts, ElementsAre("c"));
}

std::vector<std::string> ignored(const std::string& text, const std::string& host) {
  const ReadIncluded include = [](const std::string& pattern, const std::string&) {
    return std::vector<ConfigText>{{pattern, "IdentitiesOnly yes\n"}};
  };
  std::vector<std::string> found;
  for (const auto& each : ignored_keywords({"config", text}, host, include)) {
    found.push_back(each.where + " " + each.keyword);
  }
  return found;
}

TEST(SshConfigCheck, FindsKeywordsOfTheSectionsThatApply) {
  const std::string text =
      "ControlPath ~/.ssh/%C\n"
      "Host n1 n2\n"
      "  CertificateFile = \"x\"\n"
      "Host * !n2\n"
      "  certificatefile ~/.ssh/c\n";
  EXPECT_THAT(ignored(text, "n1"), ElementsAre("config:1 ControlPath", "config:3 CertificateFile",
                                               "config:5 CertificateFile"));
  EXPECT_THAT(ignored(text, "n2"), ElementsAre("config:1 ControlPath", "config:3 CertificateFile"));
}

TEST(SshConfigCheck, LeavesAloneWhatLibsshDoesAnyway) {
  EXPECT_THAT(
      ignored(
          "IdentitiesOnly no\nControlPath none\nAddressFamily any\nPort 22\n# CertificateFile x\n",
          "n1"),
      IsEmpty());
}

TEST(SshConfigCheck, FollowsIncludesAndMatch) {
  EXPECT_THAT(ignored("Host n1\n Include more\n", "n1"), ElementsAre("more:1 IdentitiesOnly"));
  EXPECT_THAT(ignored("Host n1\n Include more\n", "n2"), IsEmpty());
  EXPECT_THAT(
      ignored("Match host n*,m*\nCertificateFile x\nMatch exec true\nCertificateFile y\n", "n1"),
      ElementsAre("config:2 CertificateFile"));
}

}  // namespace
}  // namespace dtl::doctor_test
