// Collects evidence about memory and errors only for failed ranks. Of successful ranks, only rank 0
// is checked: did it connect to the others?
#include "agent/job/rank_witness.h"

#include <csignal>

namespace dtl {

std::vector<std::string> RankWitness::take_on(const std::string& job_id, std::uint32_t rank,
                                              const std::vector<std::string_view>& environment) {
  if (!evidence_) evidence_.emplace(job_id);
  if (rank == 0) meeting_.emplace(environment);
  return evidence_->file_variables(rank, environment);
}

void RankWitness::started(std::uint32_t rank, pid_t process) {
  if (rank == 0) meeting_->started(process);
}

void RankWitness::note_old_connections() {
  if (meeting_) meeting_->note_old_connections();
}

void RankWitness::look() {
  if (meeting_) meeting_->look();
}

std::optional<Message> RankWitness::ended(const GuardReport& report) {
  if (report.code == 0 && report.signal == 0) {
    if (report.rank != 0) return std::nullopt;
    const auto line = meeting_->ended();
    return line ? std::optional<Message>(Notice{*line}) : std::nullopt;
  }
  Evidence evidence = evidence_->about(report.rank, report.signal == SIGKILL, report.max_rss_kib);
  if (evidence.oom_kills == 0 && evidence.error_file.empty()) return std::nullopt;
  return evidence;
}

void RankWitness::tell_grace(std::chrono::milliseconds grace) const {
  if (evidence_) evidence_->tell_grace(grace);
}

std::string RankWitness::stack_path(std::uint32_t rank) const {
  return evidence_->stack_path(rank);
}

}  // namespace dtl
