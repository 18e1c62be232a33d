#pragma once
// Epochs: a job whose ranks start again, after a failure (--max-restarts) or because hosts join or
// leave it (--nnodes MIN:MAX and similar options). Each epoch is a session with its own agents,
// network, secret and port, on the remaining and spare hosts. An epoch begins only when all
// processes of the previous one have ended, or their host has been silent for long enough to have
// ended them (kFence). launcher/restart decides whether and where the job goes on; this is the loop
// around sessions. One thread, the sessions'.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/restart/restart.h"
#include "launcher/session/elastic_hosts.h"
#include "launcher/session/session.h"

namespace dtl {

// The result of fencing a host that did not report the end of its processes.
struct Fenced {
  bool clean = false;     // it answered, and nothing of the job runs there
  std::string reason;     // why not
  std::size_t ended = 0;  // processes that fencing killed there
};

// An epoch that has ended, for the report.
struct Epoch {
  EpochEnd end;
  std::string host;                   // of the rank or node that failed; or empty
  std::vector<std::string> hosts;     // with ranks
  int ranks = 0;                      // 0: they were not placed
  bool elastic = false;               // another epoch may have more or fewer ranks
  std::vector<std::string> left_out;  // after this epoch
  JobTime began{0}, ended{0};         // since the first one began
  JobTime lost{0};                    // from the failure until all ranks ran again; 0: never
  std::string why;                    // why no epoch followed
};

// What --on-event gets.
struct JobEvent {
  enum class Kind { kStart, kFailure, kRestart, kEnd };
  Kind kind = Kind::kStart;
  int restarts = 0;                   // so far, including this one
  std::size_t ranks = 0;              // kStart
  std::vector<std::string> hosts;     // kStart, kRestart: that may have ranks; kFailure: that had
  std::vector<std::string> left_out;  // kRestart: hosts of the last epoch that the job gave up
  std::optional<Outcome> outcome;     // kFailure, kEnd
  std::string host;                   // of the rank or node that failed; or empty
  JobTime since_start{0};             // of the job
};

// What a job that may have several epochs needs from its caller. All functions run on the session's
// thread; fence blocks, so it runs only between two epochs.
struct RestartOptions {
  std::vector<Host> spares;               // used in this order
  std::optional<ElasticOptions> elastic;  // absent: as many ranks as at the job's begin
  // Ends what is left of the job on these hosts and returns a result for each, in the same order,
  // within kFenceAnswer or little more.
  std::function<std::vector<Fenced>(const std::vector<Host>&)> fence;
  // For the job's record; may be empty. `hosts` are those of the next epoch.
  std::function<void(int restarts, const std::vector<Host>& hosts, const Epoch& ended)> restarting;
  // All ranks run again; lost: the time since the failure. May be empty.
  std::function<void(JobTime lost)> running_again;
  // Gets every event but kEnd; may be empty. Called on the session's thread.
  std::function<void(const JobEvent&)> tell;
};

// The whole job: `last` is the last epoch's result with began, messages and status of the job.
struct JobResult {
  SessionResult last;
  std::vector<Epoch> epochs;
  Reporting reporting;
};

// Like run_session; the result's outcome is that of the deciding epoch (deciding_epoch).
JobResult run_epochs(Request request, SessionOptions options, const RestartOptions& restarts);

}  // namespace dtl
