// Each file in hostfiles/ is a dialect that dtlaunch-hostfile(5) documents.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fd.h"
#include "base/limits.h"
#include "plan/request/hostfile.h"
#include "tests/support/folders.h"

namespace dtl::sample_hostfiles_test {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> sample(const std::string& name) {
  const std::string path = test::source_path("hostfiles/" + name);
  std::vector<std::string> texts;
  for (const Host& host : parse_hostfile(read_file(path, kMaxHostfileBytes), path)) {
    texts.push_back(fmt::format("{}*{}{}{}", host.name, host.slots.value_or(0),
                                host.user.empty() ? "" : " " + host.user,
                                host.port == 0 ? "" : fmt::format(" {}", host.port)));
  }
  return texts;
}

TEST(SampleHostfiles, AreReadAsTheySay) {
  EXPECT_THAT(sample("names"), ElementsAre("node01*0", "node02*0"));
  EXPECT_THAT(sample("mpich"), ElementsAre("10.0.0.1*2", "10.0.0.2*2"));
  EXPECT_THAT(sample("openmpi"),
              ElementsAre("node01*4", "node02*4 alice", "node03*2 bob", "node05*4", "node07*4"));
  EXPECT_THAT(sample("ranges"),
              ElementsAre("n01*2", "n02*2", "n03*2", "n04*2", "n05*2", "n06*2", "n08*2",
                          "rack1-n1*1", "rack1-n2*1", "rack2-n1*1", "rack2-n2*1"));
  EXPECT_THAT(sample("addresses"),
              ElementsAre("192.0.2.10*2", "2001:db8::11*2", "2001:db8::12*2", "fe80::13%eth0*2"));
  EXPECT_THAT(sample("ports"), ElementsAre("192.0.2.10*2 2201", "192.0.2.10*2 2202"));
  EXPECT_THAT(sample("machines"), ElementsAre("node01*2", "node02*2"));
  EXPECT_THAT(sample("own"), ElementsAre("node01*2", "node02*2", "node03*2"));
  EXPECT_THAT(sample("deepspeed"), ElementsAre("worker-1*4", "worker-2*4"));
  EXPECT_THAT(sample("slurm"), ElementsAre("cn001*0", "cn002*0", "cn003*0", "cn007*0", "gn12*0"));
  EXPECT_THAT(sample("localhost"), ElementsAre("localhost*2", "node02*2"));
  EXPECT_THAT(sample("windows"), ElementsAre("node01*2", "node02*2"));
}

}  // namespace
}  // namespace dtl::sample_hostfiles_test
