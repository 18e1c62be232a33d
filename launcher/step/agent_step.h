#pragma once
// AgentStep: the part of a scheduler's job in which all agents of one dtlaunch live. The
// scheduler's own starter brings a dtlaunch to every node that may be wanted; those come back to a
// JoinRoom of ours, and start agents there as they are told, until the job is over. The starter
// runs only once the first agent is asked for: a job that fails before that costs the scheduler
// nothing. Which scheduler it is, StepStarter alone knows. The functions may be called from any
// thread.

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
  std::vector<Host> nodes;           // by the scheduler's names, with `here` for this machine
  bool only = false;                 // agents on other hosts are refused; else they are others' to
                                     // start
  std::string job;                   // the scheduler's number of it
  PortRange ports;                   // for the nodes to come back to; {0, 0}: any
  std::string token;                 // of this job; empty: one is drawn
  std::chrono::seconds patience{0};  // for the nodes to come
  // The scheduler ends a node, on a thread of the step's; absent: this process is sent SIGTERM,
  // once for each.
  std::function<void()> told_to_end = {};
  std::function<void()> over = {};  // what has started the nodes has ended; on another such thread
};

class AgentStep {
 public:
  // Starts nothing yet. The destructor ends the step as a job that failed within dtlaunch.
  AgentStep(std::unique_ptr<StepStarter> starter, AgentStepOptions options);
  ~AgentStep();
  AgentStep(const AgentStep&) = delete;
  AgentStep& operator=(const AgentStep&) = delete;

  // Whether an agent on that host is this step's to start, or to refuse. Else another way starts
  // it.
  bool takes(const Host& host) const;
  // As start_ssh_agent: returns when the agent has greeted; arguments: in the place of --serve.
  // Errors name the host and have the starter's words.
  awaitable<std::unique_ptr<AgentStream>> start(asio::io_context& context, Host host,
                                                std::vector<std::string> arguments = {});
  // Nodes may come late or be lost; fences and probes of restarts ask first.
  // Whether the host's node is there now.
  bool has(const Host& host) const;
  // Starts dtagent with other arguments on a node where no agent runs, for fences and probes; its
  // bytes come once the node is there. Throws Error for a host that the step cannot have.
  std::unique_ptr<AgentStream> run(asio::io_context& context, const Host& host,
                                   const std::vector<std::string>& arguments);

  void about_to_stop();  // as JoinRoom's

  // The job is over: all nodes are told its status, and what has started them ends. Does nothing
  // where the starter was never asked for.
  void finish(int status);

 private:
  std::optional<std::size_t> find_place(const Host& host) const;
  // Places are indexes into AgentStepOptions::nodes.
  std::size_t place_of(const Host& host) const;  // throws Error
  void begin();

  const std::unique_ptr<StepStarter> starter_;
  const AgentStepOptions options_;
  mutable std::mutex mutex_;
  // Both are nullptr before the first agent is asked for, and after finish().
  std::shared_ptr<JoinRoom> room_;       // shared with watch_, which tells it of a starter's end
  std::shared_ptr<StarterWatch> watch_;  // shared with the streams of its agents
};

}  // namespace dtl
