#pragma once
// PerfBench: runs one collective of one size many times, with new values each time, and counts
// wrong elements: a fast library that is sometimes wrong should not look good. Collective: every
// rank calls the same. One thread.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "ring/perf/perf_collective.h"
#include "ring/perf/perf_comm.h"
#include "ring/perf/perf_options.h"
#include "ring/perf/perf_sequence.h"

namespace dtl::ring {

struct PerfResult {
  double time_us = 0, least_us = 0, most_us = 0;  // over the iterations; time: their median
  std::uint64_t wrong = 0;                        // elements, over all iterations and ranks
};

// A buffer that only grows, so that all sizes of a table use the same memory.
struct PerfMemory {
  struct Free {
    dt_comm* comm;  // the owner of the memory, or nullptr
    void operator()(std::byte* memory) const;
  };
  std::unique_ptr<std::byte, Free> data{nullptr, Free{nullptr}};
  std::size_t bytes = 0;
};

class PerfBench {
 public:
  PerfBench(PerfComm& comm, const PerfOptions& options) : comm_(comm), options_(options) {}

  PerfResult run(const Job& job, bool is_in_place);
  // Wrong elements that this rank has seen, even if the library cannot add them up.
  std::uint64_t own_wrong() const { return own_wrong_; }

 private:
  struct Values {
    std::vector<Sequence> sources;  // by rank
    // Only for collectives that reduce.
    std::optional<Sequence> reduced;
  };

  std::byte* memory(PerfMemory& memory, std::size_t bytes);
  void make_values(const Job& job);
  const Sequence& own() const { return values_.sources[static_cast<std::size_t>(comm_.rank())]; }
  void fill(const Job& job, const Buffers& buffers, bool is_in_place);
  double time_once(const Job& job, const Buffers& buffers);
  std::uint64_t check(const Job& job, const Buffers& buffers, bool is_in_place);
  std::uint64_t check_piece(const Job& job, const Piece& piece, const std::byte* data,
                            const char* buffer);
  std::uint64_t check_barrier(const Job& job);
  void complain(const Job& job, const std::string& what);

  PerfComm& comm_;
  const PerfOptions& options_;
  PerfMemory first_, second_;
  Job values_job_;
  Values values_;
  // The number of the operation in this run, equal on all ranks; values depend on it.
  std::uint64_t turn_ = 0;
  std::uint64_t own_wrong_ = 0;
};

}  // namespace dtl::ring
