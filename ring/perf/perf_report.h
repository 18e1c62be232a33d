#pragma once
// Prints the results of dtring-perf in the format of nccl-tests, which people and scripts know, and
// as JSON: dtring-perf(1) has the fields. Rows appear as they are measured. Only rank 0 has one.
// Throws Error if it cannot be written.

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "ring/perf/perf_bench.h"
#include "ring/perf/perf_collective.h"
#include "ring/perf/perf_options.h"

namespace dtl::ring {

struct PerfRow {
  Job job;
  std::uint64_t bytes = 0;
  std::optional<PerfResult> out_of_place, in_place;
};

class PerfReport {
 public:
  // hosts: by rank.
  PerfReport(const PerfOptions& options, std::vector<std::string> hosts);

  void begin(const std::string& stats);
  void remark(std::string_view text);  // one line that is a comment
  void begin_table(const Job& job);
  void add(const PerfRow& row);
  void end(const std::string& stats);

 private:
  int world() const { return static_cast<int>(hosts_.size()); }
  double algbw(const PerfRow& row, const PerfResult& result) const;  // GB/s
  double busbw(const PerfRow& row, const PerfResult& result) const;
  std::string columns(const PerfRow& row, const std::optional<PerfResult>& result) const;
  std::string json_row(const PerfRow& row, const PerfResult& result, bool is_in_place) const;
  std::string json(const std::string& stats) const;
  Error cannot_write_json(Exit status) const;

  const PerfOptions& options_;
  std::vector<std::string> hosts_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> json_file_;  // none without --json
  std::vector<std::string> json_rows_;
  std::uint64_t wrong_ = 0;
  // Over all measured rows that move data, for the average at the end.
  double busbw_sum_ = 0;
  int busbw_count_ = 0;
};

}  // namespace dtl::ring
