#pragma once
// Epochs: a job whose ranks are started again after a failure, by --max-restarts, or because hosts
// join or leave it, by --nnodes MIN:MAX and its like. Each epoch is a session of its own, with
// agents, a network, a secret and a port of its own, on the hosts that are left and on spare ones.
// None begins before all processes of the one before it are known to have ended, or their host has
// been silent for so long that it must have ended them (kFence). Whether and where it goes on is
// judged in launcher/restart; here is the loop around sessions. One thread, the sessions'.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/restart/restart.h"
#include "launcher/session/elastic_hosts.h"
#include "launcher/session/session.h"

namespace dtl {

// What was done about a host from which no end of its processes was reported.
struct Fenced {
  bool clean = false;     // it has answered, and nothing of the job runs there any more
  std::string reason;     // why not
  std::size_t ended = 0;  // processes that were still there
};

// One of them that has ended, for the report.
struct Epoch {
  EpochEnd end;
  std::string host;                   // of the rank or node that failed; or empty
  std::vector<std::string> hosts;     // with ranks
  int ranks = 0;                      // 0: it did not come to that
  bool elastic = false;               // another epoch may have more or fewer
  std::vector<std::string> left_out;  // since then
  JobTime began{0}, ended{0};         // since the first one began
  JobTime lost{0};  // from the failure to the time when all ranks ran again; 0: they never did
  std::string why;  // there was no other after it
};

// What --on-event hears of.
struct JobEvent {
  enum class Kind { kStart, kFailure, kRestart, kEnd };
  Kind kind = Kind::kStart;
  int restarts = 0;       // so far, this one included
  std::size_t ranks = 0;  // kStart
  std::vector<std::string>
      hosts;  // kStart: that may have ranks; kRestart: the same; kFailure: that had
  std::vector<std::string> left_out;  // kRestart: hosts of the last epoch that are given up
  std::optional<Outcome> outcome;     // kFailure, kEnd
  std::string host;                   // of the rank or node that failed; or empty
  JobTime since_start{0};             // of the job
};

// What a job that may have several epochs needs of the world. Its functions are called on the
// session's thread; fence, which blocks, only between two epochs.
struct RestartOptions {
  std::vector<Host> spares;               // used in their order
  std::optional<ElasticOptions> elastic;  // absent: as many ranks as at the job's begin
  // Goes to these hosts, ends what is left of the job there, and says for each what came of it, in
  // their order, within kFenceAnswer or little more.
  std::function<std::vector<Fenced>(const std::vector<Host>&)> fence;
  // For the job's record; may be empty. `hosts` are those that it goes on with.
  std::function<void(int restarts, const std::vector<Host>& hosts, const Epoch& ended)> restarting;
  // All ranks run again; lost: the time since the failure. May be empty.
  std::function<void(JobTime lost)> running_again;
  // Every kind but kEnd; may be empty. On the session's thread.
  std::function<void(const JobEvent&)> tell;
};

// Of the whole job: what `last` knows is of its last epoch, but for began, messages and the status.
struct JobResult {
  SessionResult last;
  std::vector<Epoch> epochs;
  Reporting reporting;
};

// As run_session; what the result's outcome says is of the epoch that decides (deciding_epoch).
JobResult run_epochs(Request request, SessionOptions options, const RestartOptions& restarts);

}  // namespace dtl
