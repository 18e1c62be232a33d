#pragma once
// SrunStep: the step of a Slurm job in which all agents of one dtlaunch live. One srun starts a
// dtlaunch on every node that may be wanted; those come back to a JoinRoom of ours, and start
// agents there as they are told, until the job is over. srun is asked for when the first agent is.
// The functions may be called from any thread.

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "launcher/join/join_room.h"
#include "plan/host.h"
#include "plan/request.h"

namespace dtl {

class SrunWatch;

struct SrunStepOptions {
  std::vector<Host> nodes;           // by Slurm's names, with `here` for this machine
  bool whole = false;                // these are all of the allocation
  std::string job;                   // Slurm's number of it
  PortRange ports;                   // for the nodes to come back to; {0, 0}: any
  std::vector<std::string> command;  // of the dtlaunch on each node; the port follows
  std::string beside;                // a word behind that; empty: none
  Variables environment;             // of this process
  std::string token;                 // of this job; empty: one is drawn, and srun hands it on
  std::chrono::seconds patience{0};  // for the nodes to come
};

class SrunStep {
 public:
  explicit SrunStep(SrunStepOptions options);
  ~SrunStep();
  SrunStep(const SrunStep&) = delete;
  SrunStep& operator=(const SrunStep&) = delete;

  // As start_ssh_agent: returns when the agent has greeted. Errors name the host and have srun's
  // words.
  awaitable<std::unique_ptr<AgentStream>> start(asio::io_context& context, Host host);
  // dtagent with other arguments on a node where no agent runs; its bytes come once the node is
  // there.
  std::unique_ptr<AgentStream> run(asio::io_context& context, const Host& host,
                                   const std::vector<std::string>& arguments);

  // The job is over: all nodes are told its status, and srun ends. Does nothing where srun was
  // never asked for.
  void finish(int status);

 private:
  std::size_t place_of(const Host& host) const;  // throws Error
  void begin();

  const SrunStepOptions options_;
  std::mutex mutex_;
  std::shared_ptr<JoinRoom> room_;   // shared with srun_, which tells it of srun's end
  std::shared_ptr<SrunWatch> srun_;  // shared with the streams of its agents
};

}  // namespace dtl
