// On a thread, because a sweep may wait for processes to end, and must not delay the job's start.
#include "launcher/jobs/sweep_here.h"

#include <csignal>
#include <string>

#include "base/limits.h"
#include "base/log.h"
#include "base/machine/job_record.h"
#include "base/text.h"
#include "launcher/agents/agent_query.h"

namespace dtl {
namespace {

void sweep(const StartOptions& start) {
  constexpr auto kSweepPatience = kKillGrace + kReapDeadline + kAnswerMargin;
  Host here;
  here.name = "localhost";
  // Prints no errors: the user has not asked for a sweep.
  const Answer answer = ask_agents({here}, runner_by(start), {"--sweep"}, kSweepPatience).front();
  for (const std::string& line : split(answer.text, '\n')) {
    if (line.starts_with("ended ") || line.starts_with("cannot ")) log_notice(line);
  }
}

}  // namespace

SweepHere::SweepHere(const StartOptions& start) {
  // Reading the records is cheap; starting dtagent is not, and usually there is nothing to do.
  if (dead_jobs(records_here()).empty()) return;
  thread_ = std::thread([start] {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);  // signals are for the job's thread
    sweep(start);
  });
}

SweepHere::~SweepHere() {
  if (thread_.joinable()) thread_.join();
}

}  // namespace dtl
