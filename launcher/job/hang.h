#pragma once
// Hang: what the ranks of a job did when its time was up: who was not where the others waited, and
// how the failure card tells that. Works on the stacks that ranks gave when the job was ended; who
// hangs while it runs is RankWatch's business. Pure.

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
  std::vector<int> cannot;     // Pythons that could not be asked
  std::string cannot_program;  // of the first of them
  // Of all of those above: who was not in the collective in which the others waited. Empty: no rank
  // can be told apart.
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

// What the card says. Empty when no rank could tell and none is a Python. A line with an empty
// label continues the one above.
std::vector<CardLine> hang_lines(const Hang& hang, const std::vector<RankNow>& ranks);

// What to do so that the card says more the next time; empty: nothing.
std::string hang_step(const Hang& hang);

}  // namespace dtl
