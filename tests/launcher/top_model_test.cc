#include "launcher/top/top_model.h"

#include <gmock/gmock.h>

#include "base/text.h"
#include "tests/launcher/top_support.h"

namespace dtl::top_model_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using top_tests::frame;
using top_tests::frame_text;
using top_tests::kJob;
using top_tests::rank_lines;

const std::string kAgent = std::string("agent ") + kJob + " 2 7500\n";

std::string progress(int step, int tokens, const std::string& loss = "2.5") {
  return "progress " + std::to_string(step) + " 1000 " + std::to_string(tokens) + " " + loss + "\n";
}

TEST(HostFrame, HasWhatDtagentSays) {
  const auto parsed = parse_host_frame(frame_text(
      5000,
      "cores cpus 0-7\ncores cores 8\ncores free-cpus 4-7\ncores free-cores 4\ncores \n"
      "cores job 3f2a91c07be4d518\ncores user 1000 alice\ncores age 60\ncores shared no\n"
      "cores cpus 0-3\ncores cores 4\ncores left 0\ncores \ncores end\ncores \n"
      "launcher 3f2a91c07be4d518 running 4 7500 n1,n2 python3 train.py\n" +
          kAgent + rank_lines(1, 5000, "disk", 17, 16) + progress(40, 5000)));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->at_ms, 5000);
  EXPECT_EQ(parsed->load, 1.5);
  ASSERT_TRUE(parsed->cores);
  EXPECT_EQ(parsed->cores->free_cores, 4);
  ASSERT_THAT(parsed->cores->claims, SizeIs(1));
  EXPECT_EQ(parsed->cores->claims[0].user, "alice");
  ASSERT_THAT(parsed->launchers, SizeIs(1));
  EXPECT_EQ(parsed->launchers[0].hosts, "n1,n2");
  EXPECT_EQ(parsed->launchers[0].command, "python3 train.py");
  EXPECT_EQ(parsed->agents.at(0).ranks, 2);
  ASSERT_THAT(parsed->ranks, SizeIs(1));
  const FrameRank& rank = parsed->ranks[0];
  EXPECT_EQ(rank.rank, 1);
  EXPECT_EQ(rank.report.pid, 711u);
  EXPECT_EQ(rank.report.activity, Activity::kWaitsForDisk);
  EXPECT_EQ(rank.report.usage.cpu_ms, 2500u);
  EXPECT_EQ(rank.report.usage.memory_kib, 1300000u);
  EXPECT_EQ(rank.sent, 5'000'000u);
  EXPECT_EQ(rank.program, "python3.11");
  ASSERT_THAT(rank.report.comms, SizeIs(1));
  EXPECT_EQ(rank.report.comms[0].begun, 17u);
  EXPECT_EQ(rank.report.progress.step, 40u);
  EXPECT_EQ(rank.report.progress.loss, 2.5);
}

TEST(HostFrame, SkipsNonsense) {
  const auto parsed = parse_host_frame(frame_text(
      1,
      "comm 1 0 4 1 1 0 1\nprogress 1 1 1 1\nrank 3f2a91c07be4d518 -7 1 running 1 1 1 1 a\n"
      "comm 1 0 4 1 1 0 1\nrank 3f2a91c07be4d518 1 1 dancing 1 1 1 1 a\n"
      "rank 3f2a 1 1 running 1 1 1 1 a\nrank 3f2a91c07be4d518 99999 1 running 1 1 1 1 a\n"
      "rank 3f2a91c07be4d518 1 1 running 99999999999999999999 1 1 1 a\nlauncher\nagent x 1 1\n"
      "cores lies\nrank 3f2a91c07be4d518 -1 8 running 9223372036854775807 1 1 1 a\x1b[2Jb c\n"
      "comm 1 9 0 1 1 0 1\ncomm x 0 4 1 1 0 1\ncomm 1 0 4 1 999 0 1\nprogress 1 2 3 inf\n"));
  ASSERT_TRUE(parsed);
  EXPECT_FALSE(parsed->cores);
  EXPECT_TRUE(parsed->launchers.empty());
  EXPECT_TRUE(parsed->agents.empty());
  ASSERT_THAT(parsed->ranks, SizeIs(1));
  EXPECT_EQ(parsed->ranks[0].rank, -1);
  EXPECT_EQ(parsed->ranks[0].program, "a\\x1b[2Jb c");
  EXPECT_TRUE(parsed->ranks[0].report.comms.empty());
  EXPECT_TRUE(std::isnan(parsed->ranks[0].report.progress.loss));
  for (const char* text : {"", "end\n", "frame\nend\n", "frame x 1\nend\n", "frame 1 1\n"}) {
    EXPECT_FALSE(parse_host_frame(text)) << text;
  }
}

TEST(HostFrame, IsCutFromBytesAsTheyCome) {
  HostFrameReader reader;
  EXPECT_THAT(reader.feed("frame 1 1\nen"), ElementsAre());
  EXPECT_THAT(reader.feed("d\nframe 2 1\nend\nframe"),
              ElementsAre("frame 1 1\nend\n", "frame 2 1\nend\n"));
  EXPECT_THAT(reader.feed(" 3 1\nend\n"), ElementsAre("frame 3 1\nend\n"));
  EXPECT_THROW(reader.feed(std::string(HostFrameReader::kMostBytes + 1, 'x')), std::exception);
}

TEST(TopModel, MakesRatesOfTwoFrames) {
  TopModel model;
  const std::size_t host = model.add_host("n1");
  model.take(host, frame(1000, kAgent + rank_lines(0, 1000, "running", 0, 0)), JobTime(0));
  EXPECT_FALSE(model.view(JobTime(0)).jobs.at(0).ranks.at(0).cpu_percent);
  // The host's clock counts, not when its frame has arrived.
  model.take(host, frame(3000, kAgent + rank_lines(0, 3000, "running", 0, 0)), JobTime(9000));
  const TopJob job = model.view(JobTime(9000)).jobs.at(0);
  EXPECT_EQ(job.id, kJob);
  EXPECT_EQ(job.age_s, 7500);
  EXPECT_EQ(job.world, 2);
  EXPECT_FALSE(job.is_whole);
  const TopRank& rank = job.ranks.at(0);
  EXPECT_DOUBLE_EQ(rank.cpu_percent.value(), 50);
  EXPECT_DOUBLE_EQ(rank.sent_per_s.value(), 1e6);
  EXPECT_DOUBLE_EQ(rank.ring_per_s.value(), 2e6);
}

TEST(TopModel, ShowsNoNegativeRates) {
  TopModel model;
  const std::size_t host = model.add_host("n1");
  model.take(host, frame(1000, rank_lines(0, 9000, "running", 0, 0)), JobTime(0));
  model.take(host, frame(2000, rank_lines(0, 10, "running", 0, 0)), JobTime(1000));
  EXPECT_EQ(model.view(JobTime(1000)).jobs.at(0).ranks.at(0).cpu_percent.value(), 0);
  model.take(host, frame(2000, rank_lines(0, 10, "running", 0, 0)), JobTime(1000));  // no time
  EXPECT_FALSE(model.view(JobTime(1000)).jobs.at(0).ranks.at(0).cpu_percent);
}

// Two hosts with two ranks each; all but rank 3 wait in the 17th collective.
void take_frames(TopModel& model, int at_ms, int others_begun, int behind_begun,
                 const std::string& behind_state = "stopped") {
  const int waiting = others_begun - 1;
  model.take(0,
             frame(at_ms, kAgent + rank_lines(0, at_ms, "sleeping", others_begun, waiting) +
                              rank_lines(1, at_ms, "sleeping", others_begun, waiting)),
             JobTime(at_ms));
  model.take(1,
             frame(at_ms, kAgent + rank_lines(2, at_ms, "sleeping", others_begun, waiting) +
                              rank_lines(3, at_ms, behind_state, behind_begun, behind_begun)),
             JobTime(at_ms));
  model.look(JobTime(at_ms));
}

TEST(TopModel, NamesTheRankThatOthersWaitFor) {
  TopModel model;
  model.add_host("node1");
  model.add_host("node2");
  take_frames(model, 1000, 17, 16);
  EXPECT_EQ(top_wait_text(model.view(JobTime(1000)).jobs.at(0)), "");
  take_frames(model, 3000, 17, 16);
  take_frames(model, 5100, 17, 16);
  const TopJob job = model.view(JobTime(5100)).jobs.at(0);
  EXPECT_EQ(top_wait_text(job),
            "ranks 0-2 wait in allreduce for rank 3 (node2, stopped), seen for 4.1 s");
  EXPECT_EQ(job.ranks.at(0).collective, "allreduce");
  EXPECT_EQ(job.ranks.at(0).number, 17);
  EXPECT_DOUBLE_EQ(job.ranks.at(0).waits_s, 4.1);
  EXPECT_FALSE(job.ranks.at(0).is_odd);
  EXPECT_TRUE(job.ranks.at(3).is_odd);
  EXPECT_EQ(job.ranks.at(3).collective, "");
  // It goes on.
  take_frames(model, 7100, 19, 19, "running");
  EXPECT_EQ(top_wait_text(model.view(JobTime(7100)).jobs.at(0)), "");
  EXPECT_EQ(model.view(JobTime(7100)).jobs.at(0).ranks.at(0).collective, "");
}

TEST(TopModel, BlamesNobodyInAJobThatMoves) {
  TopModel model;
  model.add_host("node1");
  model.add_host("node2");
  // Its frames come a little earlier than those of the others, so rank 3 looks behind.
  for (int i = 0; i < 5; ++i) {
    take_frames(model, 1000 + 2000 * i, 17 + 9 * i, 16 + 9 * i, "running");
    EXPECT_EQ(top_wait_text(model.view(JobTime(1000 + 2000 * i)).jobs.at(0)), "");
  }
}

TEST(TopModel, ForgetsWhatHasEnded) {
  TopModel model;
  model.add_host("node1");
  model.add_host("node2");
  take_frames(model, 1000, 17, 16);
  take_frames(model, 3000, 17, 16);
  model.take(1, frame(4000, ""), JobTime(4000));
  model.look(JobTime(4000));
  const TopJob job = model.view(JobTime(4000)).jobs.at(0);
  EXPECT_THAT(job.ranks, SizeIs(2));
  EXPECT_EQ(top_wait_text(job), "");
  EXPECT_TRUE(model.has_jobs());
  model.take(0, frame(5000, ""), JobTime(5000));
  EXPECT_FALSE(model.has_jobs());
  EXPECT_TRUE(model.view(JobTime(5000)).jobs.empty());
}

TEST(TopModel, ShowsRanksOfALostHostAsUnknown) {
  TopModel model;
  model.add_host("node1");
  model.add_host("node2");
  EXPECT_FALSE(model.is_watching());
  take_frames(model, 1000, 17, 16);
  model.lose(1, "connection lost", JobTime(9000));
  const TopView view = model.view(JobTime(4000));
  EXPECT_EQ(view.hosts.at(1).state, TopHostState::kLost);
  EXPECT_EQ(view.hosts.at(1).next_try_s, 5.0);
  EXPECT_THAT(view.jobs.at(0).ranks, SizeIs(4));
  EXPECT_TRUE(view.jobs[0].ranks[1].activity);
  EXPECT_FALSE(view.jobs[0].ranks[2].activity);
  EXPECT_TRUE(model.has_heard(1, JobTime(0)));
  EXPECT_FALSE(model.has_heard(2, JobTime(0)));
  model.lose(0, "connection lost", {});
  EXPECT_FALSE(model.is_watching());
  EXPECT_FALSE(model.has_jobs());
}

TEST(TopModel, ShowsOnlyTheJobThatIsMeant) {
  TopModel model("00112233aabbccdd");
  model.add_host("n1");
  model.take(0, frame(1000, kAgent + rank_lines(0, 1000, "running", 0, 0)), JobTime(0));
  EXPECT_FALSE(model.has_jobs());
  EXPECT_TRUE(model.view(JobTime(0)).jobs.empty());
}

TEST(TopModel, CountsARankOnceWhoseHostHasTwoNames) {
  TopModel model;
  model.add_host("localhost");
  model.add_host("n1");
  for (const std::size_t host : {0, 1}) {
    model.take(host, frame(1000, rank_lines(0, 1000, "running", 0, 0)), JobTime(0));
  }
  EXPECT_THAT(model.view(JobTime(0)).jobs.at(0).ranks, SizeIs(1));
}

TEST(TopModel, ShowsHowFastAJobTrains) {
  TopModel model;
  model.add_host("n1");
  const auto step = [&](int at_ms, int number, const std::string& loss = "2.5") {
    model.take(0,
               frame(at_ms, kAgent + rank_lines(0, at_ms, "running", 0, 0) +
                                progress(number, number * 500, loss)),
               JobTime(at_ms));
    return model.view(JobTime(at_ms)).jobs.at(0).training.value();
  };
  EXPECT_EQ(step(0, 40).step, 40u);
  EXPECT_FALSE(step(2000, 40).tokens_per_s);
  EXPECT_FALSE(step(4000, 41).tokens_per_s);  // step 40 may have begun long before
  const TopTraining training = step(9000, 42, "nan");
  EXPECT_DOUBLE_EQ(training.steps_per_s.value(), 0.2);
  EXPECT_DOUBLE_EQ(training.tokens_per_s.value(), 100);
  EXPECT_DOUBLE_EQ(training.left_s.value(), (1000 - 42) * 5.0);
  EXPECT_FALSE(training.loss);
  // It starts again from a checkpoint.
  EXPECT_FALSE(step(11'000, 30).tokens_per_s);
  EXPECT_EQ(step(12'000, 30).step, 30u);
  // Many steps at once need no third one.
  EXPECT_DOUBLE_EQ(step(13'000, 60).tokens_per_s.value(), 7500);
}

TEST(TopModel, NamesRanksThatAreStepsBehind) {
  TopModel model;
  model.add_host("n1");
  std::string lines;
  for (int rank = 0; rank < 3; ++rank) {
    lines += rank_lines(rank, 1000, "running", 0, 0) + progress(rank == 1 ? 30 : 40 + rank, 0);
  }
  model.take(0, frame(1000, lines), JobTime(1000));
  EXPECT_THAT(model.view(JobTime(1000)).jobs.at(0).behind, IsEmpty()) << "they may go on";
  lines.clear();
  for (int rank = 0; rank < 3; ++rank) {
    lines += rank_lines(rank, 3000, "running", 0, 0) + progress(rank == 1 ? 30 : 40 + rank, 0);
  }
  model.take(0, frame(3000, lines), JobTime(3000));
  const TopJob job = model.view(JobTime(3000)).jobs.at(0);
  EXPECT_THAT(job.behind, ElementsAre(0, 1));
  EXPECT_EQ(top_wait_text(job), "ranks 0-1 (n1) are behind: step 30, others 42");
}

TEST(TopModel, SumsCoresOfEachOwner) {
  const std::string cores =
      "cores cpus 0-7\ncores cores 8\ncores free-cpus 6-7\ncores free-cores 2\ncores \n"
      "cores job 3f2a91c07be4d518\ncores user 1000 alice\ncores age 60\ncores shared no\n"
      "cores cpus 0-1\ncores cores 2\ncores left 0\ncores \n"
      "cores job 00112233aabbccdd\ncores user 1001 bob\ncores age 60\ncores shared no\n"
      "cores cpus 2-5\ncores cores 4\ncores left 0\ncores \ncores end\ncores \n";
  TopModel model;
  for (const std::size_t host : {0, 1}) {
    model.add_host("n" + std::to_string(host));
    model.take(host, frame(1000, cores), JobTime(0));
  }
  const TopView view = model.view(JobTime(0));
  ASSERT_THAT(view.owners, SizeIs(2));
  EXPECT_EQ(view.owners[0].user, "bob");
  EXPECT_EQ(view.owners[0].cores, 8);
  EXPECT_EQ(view.owners[1].jobs.at(0).first, kJob);
  EXPECT_EQ(view.hosts[0].cores, 8);
  EXPECT_EQ(view.hosts[0].free_cores, 2);
}

}  // namespace
}  // namespace dtl::top_model_test
