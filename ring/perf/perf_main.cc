// dtring-perf: times every collective of libdtring and checks every element of every result, with
// the options and columns of nccl-tests; or, with --links, measures every link. Started by
// dtlaunch, or alone with one rank. Exit status 1: a result was wrong.

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/library.h"
#include "base/log.h"
#include "base/sha256.h"
#include "ring/perf/perf_bench.h"
#include "ring/perf/perf_comm.h"
#include "ring/perf/perf_explain.h"
#include "ring/perf/perf_links.h"
#include "ring/perf/perf_options.h"
#include "ring/perf/perf_report.h"
#include "ring/perf/perf_values.h"

namespace dtl::ring {
namespace {

constexpr int kWrongResult = 1;

// Every rank measures; rank 0 reports.
class Perf {
 public:
  Perf(PerfComm& comm, const PerfOptions& options)
      : comm_(comm), options_(options), bench_(comm, options) {}

  bool run() {  // false: something was wrong
    const auto hosts = comm_.gather(told_host_name());
    if (comm_.rank() == 0) report_.emplace(options_, hosts);
    if (report_) report_->begin(comm_.stats());
    for (const Collective collective : options_.collectives) run_collective(facts_of(collective));
    if (report_) report_->end(comm_.stats());
    // A library that sums wrongly may also corrupt this sum, so count this rank's own result too.
    return comm_.sum(bench_.own_wrong()) == 0 && bench_.own_wrong() == 0;
  }

 private:
  void remark(const CollectiveFacts& facts, std::string_view why) {
    if (report_) report_->remark(fmt::format("{}: {}", facts.name, why));
  }

  void run_collective(const CollectiveFacts& facts) {
    const bool has_place =
        (facts.in_place && options_.in_place) || (facts.out_of_place && options_.out_of_place);
    if (facts.collective == Collective::kSendrecv && comm_.world() == 1) {
      return remark(facts, "not measured, it needs two ranks");
    }
    if (!has_place) return remark(facts, "not measured, it has no such form");
    Job job{facts.collective};
    job.root = options_.root;
    job.wire = options_.wire;
    if (facts.collective == Collective::kBarrier) return run_sizes(facts, job, {0});
    for (const int dtype : options_.dtypes) {
      job.dtype = dtype;
      if (!facts.reduces) run_sizes(facts, job, options_.sizes());
      for (const int op : options_.ops) {
        job.op = op;
        if (facts.reduces && is_combinable(dtype, op)) run_sizes(facts, job, options_.sizes());
      }
    }
  }

  void run_sizes(const CollectiveFacts& facts, Job job, const std::vector<std::uint64_t>& sizes) {
    if (report_) report_->begin_table(job);
    const std::size_t element = type_of(job.dtype).bytes;
    std::uint64_t last = 0;
    for (const std::uint64_t bytes : sizes) {
      job.count = count_for(job.collective, bytes, element, comm_.world());
      // Two sizes may have the same count, and would be measured twice.
      if (job.count == last && bytes != 0) continue;
      last = job.count;
      PerfRow row;
      row.job = job;
      row.bytes = std::max(in_count(job, comm_.world()), out_count(job, comm_.world())) * element;
      if (facts.out_of_place && options_.out_of_place) row.out_of_place = bench_.run(job, false);
      if (facts.in_place && options_.in_place) row.in_place = bench_.run(job, true);
      if (report_) report_->add(row);
    }
  }

  PerfComm& comm_;
  const PerfOptions& options_;
  PerfBench bench_;
  std::optional<PerfReport> report_;
};

// Under a launcher every rank gets --help and --version, but one should print.
bool is_rank_0() {
  const char* rank = std::getenv("RANK");
  return rank == nullptr || std::string_view(rank) == "0";
}

std::string version_text(bool verbose) {
  const std::string text = "dtring-perf " DTL_VERSION "\n";
  return verbose ? text + library_lines({crypto_library()}) : text;
}

int run(const PerfOptions& options) {
  if (options.links) {
    std::fputs(measure_links(options.raw).c_str(), stdout);
    return std::fflush(stdout) == 0 ? 0 : static_cast<int>(Exit::kIo);
  }
  PerfComm comm = PerfComm::join();
  if (options.root >= comm.world()) {
    throw Error(Exit::kUsage, fmt::format("--root {}", options.root),
                fmt::format("no such rank (0 to {})", comm.world() - 1), "--root 0");
  }
  if (options.explain) {
    if (comm.rank() == 0) std::fputs(explain(comm.stats()).c_str(), stdout);
    return std::fflush(stdout) == 0 ? 0 : static_cast<int>(Exit::kIo);
  }
  return Perf(comm, options).run() ? 0 : kWrongResult;
}

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    // Shell scripts call this at each TAB: no communicator, no other options.
    if (!arguments.empty() && arguments[0] == kCompleteCommand) {
      std::fputs(
          completion_answer(perf_completion(), {arguments.begin() + 1, arguments.end()}).c_str(),
          stdout);
      return std::fflush(stdout) == 0 ? 0 : static_cast<int>(Exit::kIo);
    }
    const PerfOptions options = parse_perf_options(arguments);
    if (!options.help && !options.version && options.shell.empty()) return run(options);
    if (is_rank_0() && !options.shell.empty()) {
      std::fputs(completion_script("dtring-perf", options.shell).c_str(), stdout);
    } else if (is_rank_0()) {
      std::fputs(options.help ? perf_help().c_str() : version_text(options.verbose).c_str(),
                 stdout);
    }
    return std::fflush(stdout) == 0 ? 0 : static_cast<int>(Exit::kIo);
  } catch (const Error& error) {
    log_error(error.what());
    return static_cast<int>(error.status());
  } catch (const std::exception& error) {
    log_error(error.what());
    return static_cast<int>(Exit::kInternal);
  }
}

}  // namespace
}  // namespace dtl::ring

int main(int argc, char** argv) {
  dtl::set_program_name("dtring-perf");
  return dtl::ring::main(argc, argv);
}
