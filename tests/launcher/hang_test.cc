#include "launcher/job/hang.h"

#include <gmock/gmock.h>

#include "launcher/job/job_outcome.h"

namespace dtl::hang_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kWaits =
    "Thread 0x00007f1a (most recent call first):\n"
    "  File \"/usr/lib/python3.11/threading.py\", line 320 in wait\n"
    "\n"
    "Current thread 0x00007f1b (most recent call first):\n"
    "  File \"/opt/dtring/_communicator.py\", line 63 in wait\n"
    "  File \"/opt/dtring/_stacks.py\", line 70 in all_reduce of 4.0 MiB of float32, since "
    "10:13:02\n"
    "  File \"/opt/dtring/_work.py\", line 151 in settle\n"
    "  File \"/x/site-packages/torch/distributed/distributed_c10d.py\", line 3000 in all_reduce\n"
    "  File \"/x/site-packages/torch/distributed/c10d_logger.py\", line 83 in wrapper\n"
    "  File \"/home/me/train.py\", line 31 in main\n"
    "  File \"/home/me/train.py\", line 40 in <module>\n";
constexpr const char* kSleeps =
    "Current thread 0x00007f1b (most recent call first):\n"
    "  File \"/me/a\", line 7 in x/data.py\", line 12 in load_shard\n"
    "  File \"/home/me/train.py\", line 29 in main\n"
    "  File \"/home/me/train.py\", line 40 in <module>\n";

RankNow told(int rank, const std::string& text) {
  RankNow now;
  now.rank = rank;
  now.host = "node" + std::to_string(rank % 2);
  now.stack = Stack{static_cast<std::uint32_t>(rank), StackAnswer::kTold, text};
  return now;
}

RankNow answered(int rank, StackAnswer answer, const std::string& text) {
  RankNow now = told(rank, text);
  now.stack->answer = answer;
  return now;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
  return text;
}

std::string card(std::vector<RankNow> ranks) {
  Outcome outcome;
  outcome.cause = Cause::kTimeout;
  outcome.exit_status = 124;
  CardFacts facts;
  facts.seconds = 10;
  facts.asked = std::move(ranks);
  return failure_card(outcome, facts, 80);
}

TEST(RankStack, HasTheCollectiveThatDtringNamesAndSinceWhen) {
  const RankStack stack = parse_stack(kWaits);
  EXPECT_EQ(stack.collective, "all_reduce");
  EXPECT_EQ(stack.details, "all_reduce of 4.0 MiB of float32");
  EXPECT_EQ(stack.since, "10:13:02");
  EXPECT_EQ(*where(stack), (StackFrame{"/home/me/train.py", 31, "main"}));
}

TEST(RankStack, TakesTheCollectiveOfOtherBackendsFromTorchsFrame) {
  const RankStack stack = parse_stack(
      "Current thread 0x01 (most recent call first):\n"
      "  File \"/x/torch/distributed/distributed_c10d.py\", line 9 in _wait_for_it\n"
      "  File \"/x/torch/distributed/distributed_c10d.py\", line 8 in broadcast\n"
      "  File \"/x/torch/distributed/distributed_c10d.py\", line 7 in broadcast_object_list\n"
      "  File \"train.py\", line 3 in <module>\n");
  EXPECT_EQ(stack.details, "broadcast");
  EXPECT_EQ(stack.since, "");
}

TEST(RankStack, IsThatOfTheMainThreadWhoeverElseRuns) {
  // Without a thread that took the signal, the last thread is the main thread.
  const std::string last = replaced(kWaits, "Current thread", "Thread");
  EXPECT_EQ(parse_stack(last).frames.size(), 7u);
  // A future's thread and the main thread, in C++, wait for the same operation.
  const RankStack ddp = parse_stack(
      "Thread 0x01 (most recent call first):\n"
      "  File \"/x/dtring/_stacks.py\", line 70 in all_reduce of 8 B of int64, since 09:00:00\n"
      "Current thread 0x02 (most recent call first):\n"
      "  File \"/x/site-packages/torch/_tensor.py\", line 5 in backward\n"
      "  File \"train.py\", line 8 in <module>\n");
  EXPECT_EQ(ddp.details, "all_reduce of 8 B of int64");
  EXPECT_EQ(where(ddp)->line, 8);
}

TEST(RankStack, OfAnyTextIsOneThatCanBeShown) {
  EXPECT_THAT(parse_stack("").frames, IsEmpty());
  EXPECT_THAT(parse_stack("File \"x\", line 3\n  File \"x\n  File \"x\", line y\n").frames,
              IsEmpty());
  const RankStack odd = parse_stack("  File \"a\x1b[2J\", line 99999999999 in b\x1b\n");
  EXPECT_EQ(odd.frames.at(0), (StackFrame{"a\\x1b[2J", 0, "b\\x1b"}));
  EXPECT_EQ(where(parse_stack("  File \"/usr/lib/python3/x.py\", line 1 in y\n"))->line, 1);
}

TEST(Hang, NamesTheRankThatIsNotWhereTheOthersWait) {
  const std::string text =
      card({told(0, kWaits), told(1, kSleeps), told(2, replaced(kWaits, "10:13:02", "10:13:01"))});
  EXPECT_EQ(text,
            "the job reached its time limit after 10.0 s\n"
            "  hangs    rank 1 on node1: not in the all_reduce in which ranks 0,2 wait\n"
            "  stack    | File \"/me/a\", line 7 in x/data.py\", line 12, in load_shard\n"
            "           | File \"/home/me/train.py\", line 29, in main\n"
            "           | File \"/home/me/train.py\", line 40, in <module>\n"
            "  waits    ranks 0,2: all_reduce of 4.0 MiB of float32, since 10:13:01\n"
            "           | File \"/home/me/train.py\", line 31, in main");
}

TEST(Hang, NamesWhoIsInAnotherCollectiveThanMost) {
  const std::string other = replaced(kWaits, "all_reduce", "broadcast");
  Hang hang = judge_hang({told(0, kWaits), told(1, kWaits), told(2, other)});
  EXPECT_THAT(hang.odd, ElementsAre(2));
  EXPECT_EQ(hang.collective, "all_reduce");
  hang = judge_hang({told(0, kWaits), told(1, other)});
  EXPECT_THAT(hang.odd, IsEmpty()) << "one against one";
  EXPECT_EQ(hang.groups.size(), 2u);
  EXPECT_THAT(judge_hang({told(0, kWaits), told(1, kWaits)}).odd, IsEmpty());
  EXPECT_THAT(judge_hang({told(0, kSleeps), told(1, kSleeps)}).odd, IsEmpty());
}

TEST(Hang, NamesWhoHasEndedOrDoesNotAnswerWhileOthersWait) {
  RankNow done;
  done.rank = 1;
  done.host = "node1";
  done.completed = true;
  EXPECT_THAT(card({told(0, kWaits), done}),
              HasSubstr("  hangs    rank 1 on node1: not in the all_reduce in which rank 0 waits\n"
                        "           rank 1 had ended, with status 0\n"));
  EXPECT_THAT(card({told(0, kWaits), answered(1, StackAnswer::kSilent, "stopped")}),
              HasSubstr("           rank 1 did not answer: stopped"));
  const std::string both = card({told(0, kWaits), answered(1, StackAnswer::kSilent, ""),
                                 answered(2, StackAnswer::kSilent, "")});
  EXPECT_THAT(both, HasSubstr("ranks 1-2: not in the all_reduce in which rank 0 waits"));
  EXPECT_THAT(both, HasSubstr("ranks 1-2 did not answer within"));
  EXPECT_THAT(card({answered(0, StackAnswer::kSilent, "stopped")}),
              HasSubstr("  stopped  rank 0, as by SIGSTOP"));
}

TEST(Hang, TellsPythonsWhatLetsThemSpeakAndNobodyElse) {
  const std::string text = card({answered(0, StackAnswer::kCannot, "python3.11"),
                                 answered(1, StackAnswer::kCannot, "python3.11")});
  EXPECT_THAT(text, HasSubstr("  unasked  ranks 0-1 (python3.11), without dtring\n"
                              "  try      import dtring, or DTRING_AUTOLOAD=1"));
  EXPECT_EQ(card({answered(0, StackAnswer::kCannot, "sleep")}),
            "the job reached its time limit after 10.0 s");
}

TEST(Hang, ShowsManyRanksInFewLines) {
  std::vector<RankNow> ranks;
  for (int rank = 0; rank < 64; ++rank) ranks.push_back(told(rank, kWaits));
  ranks[3] = told(3, kSleeps);
  EXPECT_THAT(card(ranks),
              HasSubstr("  waits    ranks 0-2,4-63: all_reduce of 4.0 MiB of float32"));
  for (int rank = 0; rank < 64; ++rank) {
    const std::string line = std::to_string(rank) + " in main";
    ranks[static_cast<std::size_t>(rank)] = told(rank, replaced(kSleeps, "12 in load_shard", line));
  }
  const std::string many = card(ranks);
  EXPECT_THAT(many, HasSubstr("59 groups more in --report"));
  EXPECT_THAT(many, Not(HasSubstr("hangs")));
}

}  // namespace
}  // namespace dtl::hang_test
