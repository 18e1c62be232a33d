#pragma once
// Session: the shell around the job's state machine (job.h). It starts the agents, turns what they
// and the user do into events, performs the effects, and mixes the ranks' output. It decides
// nothing: so the machine's tests need no processes. One io_context, one thread. Everything that
// can go wrong in the world ends in an Outcome; an exception out of run() is a fault of dtlaunch
// itself.

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

// Brings an agent to life on a host, in whatever way (launcher/run/job_agents.h). Its stream begins
// with the agent's greeting. Throws Error, whose text need not name the host.
using AgentStarter =
    std::function<awaitable<std::unique_ptr<AgentStream>>(asio::io_context&, Host)>;

// Looks for the agent of a host whose connection is lost; as rejoin_agent.
using AgentFinder = std::function<awaitable<Rejoined>(
    asio::io_context&, Host, std::string link, Resume, std::chrono::steady_clock::time_point)>;

// What a job's record and kept output hear of it. Called on the session's thread; each may be
// empty.
struct SessionHooks {
  std::function<void(JobState)> state;         // it has changed
  std::function<void(std::size_t)> placed;     // how many ranks there are
  std::function<void()> started;               // every rank runs
  std::function<void(bool)> stopped;           // true: by ^Z, at once; false: it goes on
  std::function<void(const Output&)> output;   // of a rank
  std::function<void(std::string_view)> said;  // by dtlaunch, without its name in front
};

// How a session is run, beside what the job is (Request).
struct SessionOptions {
  AgentStarter start_agent;
  AgentFinder find_agent = {};  // of hosts that are logged in to; empty: none of them is
  std::string job_id;           // 16 hex digits
  JobOptions job;
  Streams streams;
  std::vector<TypedOption> typed = {};    // options as they were given, for messages
  bool dry_run = false;                   // print the plan and end
  int input = 0, output = 1, errors = 2;  // descriptors
  SessionHooks hooks;
  std::shared_ptr<SessionControl> control = {};  // nullptr: no other thread wants anything
  std::function<void()> before_stop = {};  // ^Z: called before this process stops; may be empty
};

// When the job came into a state, since the session began.
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
  std::vector<std::string> network;     // why the network was chosen, a reason a line
  std::vector<std::string> messages;    // what dtlaunch said
  std::size_t dropped_bytes = 0;        // of output that nobody read in time, or that is lost
  std::size_t input_bytes = 0;          // of standard input that ranks have used, or that are lost
  std::size_t lost_input_bytes = 0;     // read and not used, and they cannot be given back
};

// Runs the job, or one epoch of it, and returns when nothing of it is left or its deadlines are
// over. With no hosts in the request the job runs on this machine, without ssh. Throws Error(kOs)
// where this process may not have enough descriptors.
SessionResult run_session(const Request& request, const SessionOptions& options);

}  // namespace dtl
