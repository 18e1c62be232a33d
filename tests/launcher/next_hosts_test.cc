#include "launcher/restart/next_hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/limits.h"
#include "tests/launcher/named_hosts.h"

namespace dtl::next_hosts_test {
namespace {

using named_hosts::hosts;
using named_hosts::names;
using testing::ElementsAre;
using testing::IsEmpty;

HostAtEnd at_end(const std::string& name, bool told_to_go, bool finished = true) {
  HostAtEnd host;
  host.name = name;
  host.finished = finished;
  host.told_to_go = told_to_go;
  return host;
}

TEST(NextHosts, WhoHasToGoIsLeftOutThoughNothingRunsThereAndNobodyWaitsForIt) {
  const std::vector<HostAtEnd> epoch = {at_end("a", false), at_end("b", true)};
  EXPECT_THAT(hosts_to_fence(epoch), IsEmpty());
  const NextHosts next = next_hosts(epoch, 60s, hosts({"a", "b"}), hosts({"c"}), false);
  EXPECT_THAT(names(next.hosts), ElementsAre("a", "c"));
  EXPECT_THAT(next.left_out, ElementsAre("b"));
  EXPECT_EQ(next.wait.count(), 0);
  EXPECT_EQ(next.why, "");
}

TEST(NextHosts, WhoHadToGoAndWentTooSoonIsFencedAllTheSame) {
  const std::vector<HostAtEnd> epoch = {at_end("a", false), at_end("b", true, false)};
  EXPECT_THAT(hosts_to_fence(epoch), ElementsAre(1u));
  const NextHosts next = next_hosts(epoch, 60s, hosts({"a", "b"}), {}, false);
  EXPECT_THAT(names(next.hosts), ElementsAre("a"));
  EXPECT_THAT(next.left_out, ElementsAre("b")) << "once";
  EXPECT_EQ(next_hosts(epoch, 0s, hosts({"a", "b"}), {}, false).wait, JobTime(kFence));
}

TEST(NextHosts, WithoutAnotherHostThereIsNone) {
  const std::vector<HostAtEnd> epoch = {at_end("a", true)};
  EXPECT_EQ(next_hosts(epoch, 60s, hosts({"a"}), {}, false).why, "no host is left");
  EXPECT_EQ(next_hosts(epoch, 60s, hosts({"a"}), {}, true).why, "no spare host can take a's place");
}

}  // namespace
}  // namespace dtl::next_hosts_test
