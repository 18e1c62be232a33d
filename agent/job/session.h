#pragma once
// AgentSession: one conversation with the launcher, from Welcome to the agent's exit. The shell
// around supervisor.h: turns frames, guard reports, signals and the clock into events, and has its
// parts perform the effects. One io_context, one thread. Must not know how ranks start, what their
// pipes carry or how the node is examined: its parts do.

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "agent/container/node_container.h"
#include "agent/cores/core_line.h"
#include "agent/cores/core_owner.h"
#include "agent/job/guard_watch.h"
#include "agent/job/node_questions.h"
#include "agent/job/rank_stacks.h"
#include "agent/job/rank_starter.h"
#include "agent/job/rank_streams.h"
#include "agent/job/rank_witness.h"
#include "agent/job/reconnection.h"
#include "agent/job/running_ranks.h"
#include "agent/job/supervisor.h"
#include "agent/mpi/pmi_links.h"
#include "agent/mpi/pmix_link.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/machine/job_record.h"
#include "wire/asio.h"
#include "wire/connection.h"
#include "wire/task_group.h"

namespace dtl {

// The launcher of an agent that is its child (--child, --input); otherwise empty.
struct LocalLauncher {
  pid_t process = 0;  // 0: the launcher is not our parent
  // Its standard input, for ranks with input; invalid: they get Stdin frames.
  Fd input;
};

class AgentSession {
 public:
  // own_folder: dtagent's folder. input and output carry frames; the greeting was already sent.
  // received: bytes of frames already read.
  AgentSession(std::string own_folder, Fd input, Fd output, std::string received,
               LocalLauncher launcher);

  // Runs until the agent should exit; returns its status. By then every process of the ranks is
  // gone or was reported as unkillable. Missing facts are detected first, while the guard starts.
  Exit run(std::optional<NodeFacts> facts);
  bool has_run_ranks() const { return record_.ranks > 0; }

 private:
  // Tasks of the context. The first four run for the whole session.
  awaitable<void> read_frames(NodeFacts facts);
  awaitable<void> write_frames();
  awaitable<void> watch_clock();
  awaitable<void> watch_signals();
  awaitable<void> ask_ranks(AskRanks order);
  awaitable<void> note_old_connections();
  awaitable<void> leave();

  void welcome(const Message& message, NodeFacts facts);
  void dispatch(Message message);
  void act_on(Message message);
  void act_on_held();
  void wait_in_line(TakeTicket order);
  void claim(const ClaimCores& order);
  void start(Start start);
  void serve_pmix(const ServePmix& job);
  void end_ranks(const Event& order);
  NodeFacts detect_beside_guard();
  bool start_guard();
  void hear_guard(const GuardReport& report);
  void feed(const Event& event);
  void perform(const Effect& effect);

  asio::io_context context_{1};  // first: outlives the suspended tasks
  // Parts refer to members above them, so the order counts.
  const std::string own_folder_;
  const pid_t launcher_;
  // Our parent. If it changes, the keeper was killed.
  const pid_t keeper_;
  JobRecord record_;  // of this node's part of the job
  OwnRecord record_file_;
  Supervisor supervisor_;
  Connection connection_;
  TaskGroup tasks_;
  Reconnection reconnection_;
  GuardWatch guard_;
  RankStreams streams_;
  RankWitness witness_;
  PmiLinks pmi_;
  PmixLink pmix_;
  NodeContainer container_;
  RankStarter starter_;
  RunningRanks running_;
  RankStacks stacks_;
  asio::steady_timer clock_;
  asio::signal_set signals_;
  BootTime next_heartbeat_{};
  std::vector<Message> held_;  // in order, until dtpmix is ready for the ranks
  // Set once it is known how the agent ends.
  std::optional<Exit> exit_;
  // Set at Welcome, which has the job's id. Last: its threads post to the members above.
  std::optional<NodeQuestions> node_;
  // Since Welcome, too.
  std::optional<CoreOwner> cores_;
  std::optional<CoreLine> line_;
};

}  // namespace dtl
