#pragma once
// Hang: finds the ranks that are missing from the others' collective when a job's time is up, and
// describes them for the failure card. It uses the stacks that ranks gave when the job was ended;
// RankWatch finds ranks that hang while the job runs. Pure.

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
  std::optional<Stack> stack;  // absent: the rank was not asked
  std::optional<NativeStack> native = {};
  bool completed = false;  // it had exited with status 0 before
};

// Ranks that did the same thing at the same place in their scripts.
struct HangGroup {
  std::vector<int> ranks;
  RankStack doing;
};

struct Hang {
  std::vector<HangGroup> groups;  // of ranks with an answer; odd ones first, then the largest
  std::vector<int> completed, silent, stopped;
  std::vector<int> cannot;     // Python ranks that could not report their stacks
  std::string cannot_program;  // of the first of these
  // Of all ranks above: those missing from the collective in which the others waited. Empty: no
  // rank stands out.
  std::vector<int> odd;
  std::string collective;    // in which the others waited
  std::vector<int> waiting;  // the ranks that waited in it
};

// known: RankWatch's finding, if that ended the job. It has watched for longer, so it decides which
// ranks are odd.
Hang judge_hang(const std::vector<RankNow>& ranks, const std::optional<HangFinding>& known = {});

struct CardLine {
  std::string label, text;
};

// The lines for the card; empty if there is nothing to say about any rank. A line with an empty
// label continues the one above.
std::vector<CardLine> hang_lines(const Hang& hang, const std::vector<RankNow>& ranks);

// What to do so that the card says more next time; empty: nothing.
std::string hang_step(const Hang& hang);

}  // namespace dtl
