#pragma once
// RankAnswers: what dtagent --ask says about the ranks of one host (agent/ask/ask_job.h has the
// form of the text). Pure. A host may send anything, so numbers are checked and texts printable.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dtl {

// A collective of libdtring that the rank waited in for as long as it was looked at.
struct RingWait {
  std::string collective;  // "allreduce"; "collective" if its kind is unknown
  std::int64_t number = 0, world = 0;
};

struct RankAnswer {
  int rank = -1;  // -1: unknown, as the program has overwritten its environment
  std::string host;
  std::int64_t pid = 0;
  std::string state;  // "running", "sleeping", "stopped", "zombie", "disk"
  std::int64_t cpu_ms = 0, cpu_percent = 0, memory_kib = 0, threads = 0, age_s = 0;
  std::string program;
  std::vector<RingWait> waits;
  std::string answer;        // "told", "silent", "stopped", "busy", "cannot", "refused"
  std::string stack;         // with "told"
  std::string native;        // a debugger's text; empty: not asked
  bool native_told = false;  // else `native` is the reason
};

struct HostAnswer {
  std::string host;
  int agents = 0;  // of the job there
  int ranks = 0;   // that they have started or will start
  std::vector<RankAnswer> running;
};

// Skips lines that it does not know.
HostAnswer parse_rank_answers(const std::string& host, std::string_view text);

}  // namespace dtl
