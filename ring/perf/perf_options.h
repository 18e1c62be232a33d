#pragma once
// The command line of dtring-perf: one table makes the parser, --help and the completion. Options
// use the letters of nccl-tests where it has them, so that its users know them.

#include <cstdint>
#include <string>
#include <vector>

#include "base/options/completion.h"
#include "ring/perf/perf_collective.h"

namespace dtl::ring {

// Which rank's time counts, with the numbers of nccl-tests.
enum class Average { kRank0 = 0, kMean = 1, kLeast = 2, kMost = 3 };
const char* average_name(Average average);
const char* wire_name(int wire);

struct PerfOptions {
  std::vector<Collective> collectives{Collective::kAllreduce};
  std::uint64_t min_bytes = 4, max_bytes = 64 << 20;
  std::uint64_t step_factor = 4, step_bytes = 0;  // bytes, if not 0
  int iterations = 20, warmups = 2;
  bool check = true;
  std::vector<int> ops{DT_SUM}, dtypes{DT_F32};
  int root = 0;
  Average average = Average::kMost;
  int wire = DT_WIRE_DEFAULT;
  bool alloc = false, in_place = false, out_of_place = false;  // after parsing at least one is true
  std::string json;
  bool links = false, raw = false, explain = false;
  bool help = false, version = false, verbose = false;
  std::string shell;  // --completion

  std::vector<std::uint64_t> sizes() const;  // bytes, in rising order
};

// Throws Error(kUsage). arguments: without argv[0].
PerfOptions parse_perf_options(const std::vector<std::string>& arguments);
std::string perf_help();
Completion perf_completion();

}  // namespace dtl::ring
