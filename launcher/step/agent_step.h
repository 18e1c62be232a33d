#pragma once
// AgentStep: the part of a scheduler's job in which all agents of one dtlaunch run. The scheduler's
// starter, such as srun, runs a dtlaunch on every node that may be used. These connect back to our
// JoinRoom and start agents on request until the job is over. The starter runs only when the first
// agent is asked for, so a job that fails before costs the scheduler nothing. Only StepStarter
// knows which scheduler it is. Any thread may call the functions.

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "launcher/join/join_room.h"
#include "launcher/step/step_starter.h"
#include "plan/request/host.h"
#include "plan/request/request.h"

namespace dtl {

class StarterWatch;

struct AgentStepOptions {
  std::vector<Host> nodes;           // by the scheduler's names; `here` marks this machine
  bool only = false;                 // agents on other hosts are refused; otherwise they start in
                                     // another way
  std::string job;                   // the scheduler's job number
  PortRange ports;                   // on which the nodes connect back; {0, 0}: any
  std::string token;                 // of this job; empty: the step draws one
  std::chrono::seconds patience{0};  // how long to wait for the nodes
  // Called on a thread of the step when the scheduler ends a node; absent: sends SIGTERM to this
  // process for each.
  std::function<void()> told_to_end = {};
  std::function<void()> over = {};  // the starters have ended; called on a thread of the step
};

class AgentStep {
 public:
  // Starts nothing yet. The destructor ends the step like a job that failed within dtlaunch.
  AgentStep(std::unique_ptr<StepStarter> starter, AgentStepOptions options);
  ~AgentStep();
  AgentStep(const AgentStep&) = delete;
  AgentStep& operator=(const AgentStep&) = delete;

  // Whether this step starts or refuses agents on that host. If not, another way starts them.
  bool takes(const Host& host) const;
  // Like start_ssh_agent: returns when the agent has greeted. arguments: replace --serve. Errors
  // name the host and include the starter's messages.
  awaitable<std::unique_ptr<AgentStream>> start(asio::io_context& context, Host host,
                                                std::vector<std::string> arguments = {});
  // Whether the host's node is connected now: nodes may arrive late or be lost. Fences and probes
  // of restarts check this first.
  bool has(const Host& host) const;
  // Starts dtagent with other arguments on a node where no agent runs, for fences and probes; the
  // stream has bytes once the node is connected. Throws Error for a host outside the step.
  std::unique_ptr<AgentStream> run(asio::io_context& context, const Host& host,
                                   const std::vector<std::string>& arguments);

  void about_to_stop();  // see JoinRoom

  // The job is over: sends its status to all nodes and ends the starters. Does nothing if no
  // starter ever ran.
  void finish(int status);

 private:
  std::optional<std::size_t> find_place(const Host& host) const;
  // A place is an index into AgentStepOptions::nodes.
  std::size_t place_of(const Host& host) const;  // throws Error
  void begin();

  const std::unique_ptr<StepStarter> starter_;
  const AgentStepOptions options_;
  mutable std::mutex mutex_;
  // Both are nullptr until the first agent is asked for, and after finish().
  std::shared_ptr<JoinRoom> room_;       // shared with watch_, which reports ended starters
  std::shared_ptr<StarterWatch> watch_;  // shared with the agents' streams
};

}  // namespace dtl
