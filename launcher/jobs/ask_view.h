#pragma once
// What `dtlaunch ask` shows: a row for each rank, then the stacks, equal ones once. Pure.

#include <optional>
#include <string>
#include <vector>

#include "launcher/jobs/rank_answers.h"

namespace dtl {

// A host that has not answered, and why.
struct SilentHost {
  std::string host, reason;
};

struct JobAnswer {
  std::string job;
  int ranks = 0;  // of the whole job; 0: unknown
  std::vector<RankAnswer> running;
  std::vector<SilentHost> silent_hosts;
};

// Puts the ranks of all hosts in order, each once: one machine may have been asked under two names.
JobAnswer merge_answers(const std::string& job, int ranks, const std::vector<HostAnswer>& hosts);

// columns: of the terminal (80 at least); absent: nothing is cut or wrapped.
std::string ask_text(const JobAnswer& job, std::optional<int> columns);
std::string ask_json(const JobAnswer& job);

// A line for each reason why ranks did not answer, for standard error. Empty: all did.
std::vector<std::string> unanswered_lines(const JobAnswer& job);

}  // namespace dtl
