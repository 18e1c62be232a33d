#pragma once
// AgentSession: one conversation with the launcher, from Welcome to the exit of the agent. The
// shell around supervisor.h: turns frames, guard reports, pipes, signals and the clock into events,
// and performs the effects. One io_context, one thread.

#include <sys/types.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "agent/guard/guard_link.h"
#include "agent/job/failure_evidence.h"
#include "agent/job/link_door.h"
#include "agent/job/meeting_watch.h"
#include "agent/job/output.h"
#include "agent/job/rank_folder.h"
#include "agent/job/rank_observer.h"
#include "agent/job/supervisor.h"
#include "agent/node/probe.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/machine/job_record.h"
#include "plan/pinning/topology.h"
#include "wire/asio.h"
#include "wire/connection.h"
#include "wire/environments.h"
#include "wire/task_group.h"

namespace dtl {

// Of an agent that is its launcher's child.
struct LocalLauncher {
  pid_t process = 0;  // 0: it is none
  Fd input;           // its standard input, for ranks that read; invalid: they get it in frames
};

class AgentSession {
 public:
  // own_folder: where dtagent lies. input and output carry the frames; the greeting is out already.
  // received: frames that have been read already.
  AgentSession(std::string own_folder, Fd input, Fd output, std::string received,
               LocalLauncher launcher);

  // Until the agent should exit; returns its status. Every process of the ranks is gone then, or
  // was reported as unkillable.
  Exit run(NodeFacts facts);

 private:
  struct RankStreams {
    std::unique_ptr<RankCredit> credit;
    std::unique_ptr<RankOutput> output, errors;
    Fd output_pipe, errors_pipe;        // our ends, until it has started
    std::vector<std::string> programs;  // where its program is looked for, until then
    std::unique_ptr<RankInput> input;   // for wants_stdin
    Fd input_pipe;                      // the rank's end, until its files are opened
    int open_outputs = 0;
    std::uint32_t pid = 0;  // while it runs
    int stopped_looks = 0;  // how often in a row it was seen stopped
    std::optional<RankObserver> observer;
  };

  awaitable<void> read_frames(NodeFacts facts);
  awaitable<std::optional<Message>> next_message();
  awaitable<void> write_frames();
  awaitable<void> read_guard();
  awaitable<void> watch_clock();
  awaitable<void> watch_signals();
  awaitable<void> forward(RankOutput& output, Fd pipe, std::uint32_t rank);
  awaitable<void> feed_input(std::uint32_t rank);
  awaitable<void> ask_ranks(AskRanks order);
  awaitable<void> tell_native_stacks(std::uint32_t patience_ms);
  awaitable<void> report_ranks();
  void tell_states();
  void tell_stack(const Stack& stack);
  awaitable<void> reach(Reach wanted);
  void examine(const Examine& question);
  void watch_for_notices(Cloud cloud);
  void sweep();
  void look_for_keeper();
  awaitable<void> leave();

  void welcome(const Message& message, NodeFacts facts);
  void dispatch(Message message);
  bool start_guard();
  void feed(const Event& event);
  void perform(const Effect& effect);
  void spawn(const SpawnRank& spawn);
  void open_input(std::uint32_t rank);
  std::optional<SpawnFiles> open_files(const SpawnRank& spawn);
  SpawnFiles make_files(const SpawnRank& spawn);
  void no_files(std::uint32_t rank, const Error& error);
  SpawnFailed explained(SpawnFailed failed);
  void give_input(const Stdin& message);
  void start(Start start);
  void expect_losses(const Reconnect& agreed);
  void resume(const Resume& offer, std::unique_ptr<ByteStream> stream, std::string received);
  void record(const Start& start);
  void note_start(const GuardReport& report);
  void note_end(const GuardReport& report);
  void tick_guard();
  void look_for_stopped_ranks();
  std::unique_ptr<RankFile> kept_file(std::uint32_t rank, const char* ending);

  asio::io_context context_{1};  // first: outlives what is suspended in it
  std::string own_folder_;
  const pid_t launcher_;
  Fd launchers_input_;
  Connection connection_;
  GuardLink guard_;
  TaskGroup tasks_;
  asio::steady_timer clock_;
  asio::signal_set signals_;
  Supervisor supervisor_;
  std::optional<RankFolder> kept_in_;  // with --log-dir, from the first rank on
  OpenRankFiles open_rank_files_;
  std::map<std::uint32_t, RankStreams> streams_;
  std::optional<Listener> listener_;  // from Welcome on
  std::optional<LinkDoor> door_;      // from Reconnect on
  std::string token_;                 // what it says
  std::string job_id_;
  JobRecord record_;  // of this node's part of the job
  OwnRecord record_file_;
  OutputRules rules_;
  Environments environments_;
  std::optional<FailureEvidence> witness_;
  std::optional<MeetingWatch> meeting_;  // of rank 0
  BootTime next_heartbeat_{};
  BootTime report_period_{};  // 0: nobody wants reports
  bool reports_ = false;      // the task runs
  bool watches_cloud_ = false;
  bool guard_is_late_ = false;  // and that was said
  std::optional<Exit> exit_;
  const pid_t keeper_;  // our parent
  std::jthread debugger_;
  std::jthread sweeper_;
  std::jthread examiner_;  // last: joined while all that it uses is there
};

}  // namespace dtl
