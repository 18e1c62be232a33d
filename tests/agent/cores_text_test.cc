#include "agent/cores/cores_text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace dtl::cores_text_test {
namespace {

// Four cores of two CPUs each.
NodeTopology four_cores() {
  NodeTopology topology;
  for (int core = 0; core < 4; ++core) {
    topology.cores.push_back({0, 0, {core, core + 4}});
    topology.allowed.add(core);
    topology.allowed.add(core + 4);
  }
  return topology;
}

TEST(CoresText, SaysThatAllIsFree) {
  EXPECT_EQ(cores_text(four_cores(), {}),
            "cpus 0-7\ncores 4\nfree-cpus 0-7\nfree-cores 4\n\nend\n");
}

TEST(CoresText, CountsWhatJobsHaveForThemselvesAndWhatIsLeft) {
  const CoreClaim own{"1a2b00000000ffff", 1000, "alice", 75, CpuSet({0, 1, 4, 5}), false};
  CoreClaim shared{"99990000aaaa0000", 1001, "", 5, CpuSet({0, 1, 2, 3, 4, 5, 6, 7}), true};
  shared.left_s = 600;
  EXPECT_EQ(
      cores_text(four_cores(), {own, shared}),
      "cpus 0-7\ncores 4\nfree-cpus 2-3,6-7\nfree-cores 2\n\n"
      "job 1a2b00000000ffff\nuser 1000 alice\nage 75\nshared no\ncpus 0-1,4-5\ncores 2\nleft 0\n\n"
      "job 99990000aaaa0000\nuser 1001 \nage 5\nshared yes\ncpus 0-7\ncores 4\nleft 600\n\n"
      "end\n");
}

TEST(CoresText, SaysWhoWaitsAndWhatIsKeptForThem) {
  const CoreClaim own{"1a2b00000000ffff", 1000, "alice", 75, CpuSet({0, 1, 4, 5}), false};
  Ticket first{"2222000000000000", 1001, "bob", 1700000000000, 9, 3};
  first.runs_s = 60;
  Ticket second{"3333000000000000", UINT32_MAX, "", 1700000000001, 8, 0};
  second.cpus = CpuSet({2, 6});
  EXPECT_EQ(cores_text(four_cores(), {own}, {first, second}),
            "cpus 0-7\ncores 4\nfree-cpus 2-3,6-7\nfree-cores 2\n\n"
            "job 1a2b00000000ffff\nuser 1000 alice\nage 75\nshared no\ncpus 0-1,4-5\ncores 2\n"
            "left 0\n\n"
            "ticket 2222000000000000\nuser 1001 bob\nage 9\narrival 1700000000000\nwants 3\n"
            "wants-cpus \nruns 60\nkept 2\n\n"
            "ticket 3333000000000000\nuser ?\nage 8\narrival 1700000000001\nwants 1\n"
            "wants-cpus 2,6\nruns 0\nkept 0\n\n"
            "end\n");
}

TEST(CoresText, CountsOnlyCpusThatJobsMayUse) {
  NodeTopology topology = four_cores();
  topology.allowed = CpuSet({0, 1, 4, 5});
  const CoreClaim claim{"1a2b00000000ffff", 1000, "alice", 75, CpuSet({0, 2, 4, 6}), false};
  EXPECT_EQ(
      cores_text(topology, {claim}),
      "cpus 0-1,4-5\ncores 2\nfree-cpus 1,5\nfree-cores 1\n\n"
      "job 1a2b00000000ffff\nuser 1000 alice\nage 75\nshared no\ncpus 0,4\ncores 1\nleft 0\n\n"
      "end\n");
}

TEST(CoresText, KeepsForeignTextInItsLine) {
  const CoreClaim claim{"a\nend\n\x1b[2J", UINT32_MAX, "", 1, CpuSet({0, 4}), false};
  EXPECT_NE(cores_text(four_cores(), {claim}).find("job a\\nend\\n\\x1b[2J\nuser ?\n"),
            std::string::npos);
}

}  // namespace
}  // namespace dtl::cores_text_test
