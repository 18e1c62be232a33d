#pragma once
// Session: the shell around the job's state machine (job.h). It starts the agents, turns what they
// and the user do into events, performs the effects, and mixes the ranks' output. It decides
// nothing, so tests of the machine need no processes. One io_context, one thread. Every failure of
// the outside world ends in an Outcome; an exception from run_session() is a bug in dtlaunch.

#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/signal_disposition.h"
#include "launcher/agents/agent_rejoin.h"
#include "launcher/agents/agent_start.h"
#include "launcher/job/job.h"
#include "launcher/screen/console_options.h"
#include "launcher/session/session_control.h"
#include "plan/job_plan.h"
#include "plan/pinning/topology.h"
#include "plan/request/request.h"

namespace dtl {

// Starts an agent on a host (launcher/run/job_agents.h). The agent's greeting is the first thing on
// its stream. Throws Error, whose text need not name the host.
using AgentStarter =
    std::function<awaitable<std::unique_ptr<AgentStream>>(asio::io_context&, Host)>;

// Finds the agent of a host whose connection is lost; see rejoin_agent.
using AgentFinder = std::function<awaitable<Rejoined>(
    asio::io_context&, Host, std::string link, Resume, std::chrono::steady_clock::time_point)>;

// Calls for a job's record and kept output. On the session's thread; each may be empty.
struct SessionHooks {
  std::function<void(JobState)> state;        // the state has changed
  std::function<void(std::size_t)> placed;    // the number of ranks
  std::function<void(std::size_t)> claiming;  // the number of cores, on all nodes
  std::function<void()> started;              // every rank runs
  std::function<void(bool)> stopped;          // true: by ^Z, called at once; false: it continues
  std::function<void(const Output&)> output;  // of a rank
  // What a rank did and used since its last report; comes every few seconds.
  std::function<void(const RankReport&)> seen;
  std::function<void(std::string_view)> said;  // by dtlaunch, without its name in front
};

// How to run a session; Request says what the job is.
struct SessionOptions {
  AgentStarter start_agent;
  AgentFinder find_agent = {};  // for hosts reached by a login; empty: none
  std::string job_id;           // 16 hex digits
  JobOptions job;
  Streams streams;
  std::vector<TypedOption> typed = {};  // options as they were given, for messages
  bool dry_run = false;                 // print the plan and end
  std::string container = {};           // --container: an image of podman; empty: none
  std::string (*plan_text)(const JobPlan&, int columns) = to_table;  // its form
  std::optional<int> tree = {};                                      // --tree, if it was given
  // Where a folder of this machine is on a host, if --sync brought it elsewhere. Empty: at its own
  // path.
  std::function<std::string(const std::string& host, const std::string& path)> place_on = {};
  std::size_t more_hosts = 0;  // that another session may ask if too few cores are free on these
  int input = 0, output = 1, errors = 2;  // descriptors
  SessionHooks hooks;
  std::shared_ptr<SessionControl> control = {};  // nullptr: no other thread uses the session
  std::function<void()> before_stop = {};  // called before ^Z stops this process; may be empty
};

// When the job entered a state, since the session began.
struct PhaseTime {
  JobState state = JobState::kStarting;
  JobTime began{0};
};

// Everything that is known when the job is over.
struct SessionResult {
  Job job;  // has an outcome
  std::vector<Host> hosts;
  std::vector<std::optional<NodeFacts>> facts;  // of each host
  std::optional<JobPlan> plan;
  std::vector<PhaseTime> phases;
  std::time_t began = 0;  // by the wall clock
  JobTime ended{0};
  std::vector<std::string> last_lines;  // of the first failing rank's standard error
  bool lines_shown = false;             // our standard error has them, too
  std::vector<std::string> network;     // why the network was chosen, a reason a line
  std::vector<std::string> messages;    // what dtlaunch said
  std::size_t dropped_bytes = 0;        // of output that nobody read in time, or that was lost
  std::size_t input_bytes = 0;          // of standard input that ranks have used, or that was lost
  std::size_t lost_input_bytes = 0;     // read and not used, and they cannot be given back
};

// Runs the job, or one epoch of it. Returns when nothing of it is left or its deadlines have
// passed. With no hosts in the request the job runs on this machine, without ssh. Throws Error(kOs)
// if the limit on open descriptors is too low.
SessionResult run_session(const Request& request, const SessionOptions& options);

}  // namespace dtl
