#include "agent/watch/watch_jobs.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "agent/processes/process_table.h"
#include "agent/watch/watched_rank.h"
#include "base/text.h"

namespace dtl::watch_jobs_test {
namespace {

constexpr const char* kJob = "3f2a91c07be4d518";

TEST(WatchWish, IsAJobOrAllAndAPeriod) {
  EXPECT_EQ(parse_watch_wish("all", "2000").job_id, "");
  EXPECT_EQ(parse_watch_wish(kJob, "100").job_id, kJob);
  EXPECT_EQ(parse_watch_wish(kJob, "100").period, std::chrono::milliseconds(100));
  for (const char* period : {"", "99", "-1", "x", "86400001"}) {
    EXPECT_THROW(parse_watch_wish("all", period), Error) << period;
  }
  for (const char* job : {"", "3f2a", "any", "3F2A91C07BE4D518"}) {
    EXPECT_THROW(parse_watch_wish(job, "1000"), Error) << job;
  }
}

// launcher/top/host_frame.h reads these lines.
TEST(WatchedRank, SaysWhatItsProcessUses) {
  FoundRank found;
  found.rank = 3;
  found.pid = ::getpid();
  WatchedRank rank(kJob, found);
  const std::string line = rank.lines(scan_processes(), {}, std::chrono::milliseconds(1000));
  const auto words = split(line, ' ');
  ASSERT_EQ(words.size(), 10u) << line;
  EXPECT_EQ(words[0] + " " + words[1] + " " + words[2], std::string("rank ") + kJob + " 3");
  EXPECT_EQ(words[3], std::to_string(::getpid()));
  EXPECT_EQ(words[4], "running");  // the first report has nothing to compare with
  EXPECT_TRUE(parse_integer(words[5], 0, 1'000'000));
  EXPECT_TRUE(parse_integer(words[6], 1, 100'000'000));
  EXPECT_TRUE(parse_integer(words[7], 1, 1000));
  EXPECT_EQ(words[8], "0");
  EXPECT_EQ(words[9].back(), '\n');
}

}  // namespace
}  // namespace dtl::watch_jobs_test
