#include "agent/watch/watched_rank.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "agent/job/stack_file.h"
#include "base/text.h"
#include "wire/messages.h"

namespace dtl {
namespace {

const char* activity_word(Activity activity) {
  switch (activity) {
    case Activity::kComputes:
      return "running";
    case Activity::kSleeps:
      return "sleeping";
    case Activity::kStopped:
      return "stopped";
    case Activity::kWaitsForDisk:
      return "disk";
    case Activity::kSwaps:
      return "swapping";
  }
  return "?";
}

}  // namespace

WatchedRank::WatchedRank(std::string job_id, const FoundRank& found)
    : job_id_(std::move(job_id)), rank_(found.rank), observer_(found.pid) {}

std::string WatchedRank::lines(std::span<const Process> processes,
                               std::span<const TcpConnection> connections,
                               std::chrono::milliseconds now) {
  observer_.look();
  const pid_t before = observer_.process();
  const auto number = static_cast<std::uint32_t>(std::max(rank_, 0));
  const RankReport report = observer_.report(number, processes, connections, now);
  for (const WireState& wire : report.wires) sent_ += wire.bytes;
  // A shell may have started the program by now.
  if (program_.empty() || observer_.process() != before) {
    program_ = printable(program_of_rank(processes, observer_.process()));
  }
  std::string text = fmt::format("rank {} {} {} {} {} {} {} {} {}\n", job_id_, rank_, report.pid,
                                 activity_word(report.activity), report.usage.cpu_ms,
                                 report.usage.memory_kib, report.usage.threads, sent_, program_);
  for (const CommState& comm : report.comms) {
    text += fmt::format("comm {} {} {} {} {} {} {}\n", comm.id, comm.rank, comm.world, comm.begun,
                        comm.opcode, comm.completed, comm.bytes);
  }
  const TrainingProgress& progress = report.progress;
  if (progress.step > 0 || progress.total_steps > 0) {
    text += fmt::format("progress {} {} {} {}\n", progress.step, progress.total_steps,
                        progress.tokens, progress.loss);
  }
  return text;
}

}  // namespace dtl
