#pragma once
// SessionShell: the one object behind run_session(). Internal to session*.cc: session.cc has the
// tasks that wait, session_links.cc those of connections that are lost and found again,
// session_effects.cc what the state machine's effects do.

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/agents/agent_link.h"
#include "launcher/network/network.h"
#include "launcher/screen/console.h"
#include "launcher/screen/standard_input.h"
#include "launcher/session/notice_budget.h"
#include "launcher/session/session.h"
#include "plan/placement.h"
#include "wire/asio.h"
#include "wire/task_group.h"

namespace dtl {

// What could not be written of standard output and of standard error; set by their writers'
// threads.
struct Unwritten {
  std::atomic<std::size_t> bytes[2] = {0, 0};
  std::atomic<int> first_error[2] = {0, 0};         // errno; 0: none
  std::atomic<std::int64_t> told_ms[2] = {-1, -1};  // when the user was told last; -1: never
};

class SessionShell {
 public:
  SessionShell(const Request& request, const SessionOptions& options,
               std::shared_ptr<Unwritten> unwritten);
  SessionResult run();

  // For SessionControl, on this session's thread.
  void say(const std::string& text) { console_.say(text); }
  void feed(job::Event event);
  void host_goes(const std::string& host, const std::string& told_by);

 private:
  struct Node {
    Host host;
    std::shared_ptr<Connection> connection;  // shared with the task that writes its queue
    std::optional<NodeFacts> facts;
    std::optional<Error> start_error;
    bool talking = false;                 // its task is reading messages
    std::shared_ptr<AgentStream> stream;  // the connection's, which shares it
    std::string link, token;              // of Reconnect; empty: it was not sent
    NoticeBudget notices;
    std::size_t unshown_bytes = 0;  // of its ranks' output
  };

  struct RankInput {
    std::size_t taken = 0;
    std::optional<std::size_t> read = {};  // once it reads no more
  };

  // Tasks
  awaitable<void> serve(int node);
  awaitable<AgentLink> bring_up(int node);
  awaitable<job::AgentLost> converse(int node);
  awaitable<void> rejoin(job::Rejoin order);
  bool go_on_with(const job::Rejoin& order, Rejoined& rejoined);
  void expect_losses(int node);
  awaitable<void> stop_self();
  awaitable<void> watch_time();
  awaitable<void> watch_signals();
  awaitable<void> forward_input();

  // Events
  void hear(int node, Message message);
  void state_changed(JobState before);
  void rearm();
  void end_if_done();

  void output_failed(Stream stream, int problem, std::size_t lost);
  void give_credit(const std::vector<Credit>& credits);
  void introduce(const Started& started, int node);
  void input_taken(const StdinTaken& taken);
  void input_closed(const StdinClosed& closed);
  std::size_t input_used() const;
  bool input_is_handed_over() const;
  void count_output(int node, const Output& output);
  void count_skip(const Skipped& skipped);
  void show_notice(int node, const std::string& text);
  void send_input(const Stdin& input);
  void count_input();
  bool gets_input(int rank) const;
  bool reads_input(std::size_t rank) const;  // it gets it, and has not ended

  // Effects
  void perform(job::Effect& effect);
  void place_ranks_now();
  void make_plan();
  void start_ranks();
  void close_node(int node);
  void look_at_agent(int node);
  void tell_start_errors();
  std::vector<int> probed_hosts() const;
  std::vector<ProbedNode> probed_nodes();
  void probe(int round);
  void judge_network();
  Network proved_network();
  void refuse(const Error& error);

  Node& node(int index) { return nodes_[static_cast<std::size_t>(index)]; }
  const std::string& host_name(int index) { return node(index).host.name; }
  JobTime now() const;
  void say_about(int index, const std::string& text);
  SessionResult result();
  void tell_the_end(const SessionResult& known);

  const Request& request_;
  const SessionOptions& options_;
  const std::shared_ptr<Unwritten> unwritten_;
  std::chrono::steady_clock::time_point began_;
  Job job_;
  std::deque<job::Event> events_;  // waiting for the machine; see feed()
  bool stepping_ = false;
  std::vector<RankPlace> places_;
  std::size_t started_ = 0;  // ranks
  const InterfaceFilter interfaces_;
  std::optional<NetworkChoice> network_;
  std::optional<JobPlan> plan_;
  std::vector<PhaseTime> phases_;
  JobTime ended_{0};

  asio::io_context context_;  // before everything that uses it
  std::vector<Node> nodes_;
  TaskGroup tasks_;
  asio::steady_timer timer_;
  asio::signal_set signals_;
  std::vector<std::uint32_t> shown_;  // of each rank's output, and not yet credited
  std::vector<int> skips_;            // of each rank's output since it got credit
  std::vector<RankInput> input_of_;   // of each rank
  std::size_t input_counted_ = 0;     // taken by all of them
  Console console_;
  StandardInput input_;
  const off_t input_began_;  // its place in its file; -1: none
};

}  // namespace dtl
