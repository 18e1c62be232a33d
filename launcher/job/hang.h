#pragma once
// Hang: finds the ranks that are missing from the others' collective when a job's time is up, and
// words that for the failure card. It works on the stacks that ranks gave when the job was ended;
// RankWatch finds ranks that hang while it runs. Pure.

#include <optional>
#include <string>
#include <vector>

#include "launcher/job/rank_stack.h"
#include "launcher/job/rank_watch.h"
#include "wire/messages.h"

namespace dtl {

struct RankNow {
  int rank = 0;
  std::string host;
  std::optional<Stack> stack;  // absent: nobody has asked it
  std::optional<NativeStack> native = {};
  bool completed = false;  // it had exited with status 0 before
};

// Ranks that did the same thing at the same place of their scripts.
struct HangGroup {
  std::vector<int> ranks;
  RankStack doing;
};

struct Hang {
  std::vector<HangGroup> groups;  // of the ranks that told; the odd ones first, then the largest
  std::vector<int> completed, silent, stopped;
  std::vector<int> cannot;     // Python ranks that could not tell their stacks
  std::string cannot_program;  // of the first of them
  // Of all of those above: who was not in the collective in which the others waited. Empty: no rank
  // stands out.
  std::vector<int> odd;
  std::string collective;    // that one
  std::vector<int> waiting;  // in it
};

// known: what RankWatch had found, if that ended the job. It has watched for longer, so it decides
// who is odd.
Hang judge_hang(const std::vector<RankNow>& ranks, const std::optional<HangFinding>& known = {});

struct CardLine {
  std::string label, text;
};

// What the card says; empty when there is nothing to say of any rank. A line with an empty label
// continues the one above.
std::vector<CardLine> hang_lines(const Hang& hang, const std::vector<RankNow>& ranks);

// What to do so that the card says more the next time; empty: nothing.
std::string hang_step(const Hang& hang);

}  // namespace dtl
