#pragma once
// Stepper: one step of the job's state machine, while it is being taken. Internal to job*.cc; the
// table is in job.cc, what messages do in job_messages.cc, what nodes and time do in job_nodes.cc,
// who watches ranks in job_ranks.cc, how lost agents are found again in job_links.cc.

#include <string>
#include <utility>
#include <vector>

#include "launcher/job/job.h"

namespace dtl::job {

enum class Move { kAllUp, kAbandon, kProbed, kPlanned, kRanksGone, kAgentsGone, kDeadline };

class Stepper {
 public:
  Stepper(Job& job, JobTime now) : job_(job), now_(now) {}

  void operator()(const AgentReady& event);
  void operator()(const AgentFailed& event);
  void operator()(const AgentLost& event);
  void operator()(const AgentSeen& event);
  void operator()(const LinkTried& event);
  void operator()(const FromAgent& event);
  void operator()(const Placed& event);
  void operator()(const Judged& event);
  void operator()(const Planned&) { move(Move::kPlanned); }
  void operator()(const Refused& event);
  void operator()(const Signalled& event);
  void operator()(const Continued&);
  void operator()(const ToldToGo& event);
  void operator()(const HostsChanged&);
  void operator()(const OutputClosed&);
  void operator()(const Tick&);
  void excuse_own_absence();
  void outlive_leases(JobTime absent);
  void end_as_outlived(JobTime absent);  // before any of them

  std::vector<Effect> effects;

 private:
  void move(Move move);
  void pause();
  void enter(JobState state);
  void enter_stopping();
  void enter_finishing();
  JobTime stop_grace() const;
  void hurry_stop();
  void abandon(Outcome outcome);
  bool ending() const { return job_.state >= JobState::kStopping; }

  // What messages do
  void listening(int node, const Listening& message);
  void examined(int node, const Examined& message);
  void check_listening();
  void reached(int node, const Reached& message);
  void probe(int round);
  void started(int node, const Started& message);
  void spawn_failed(int node, const SpawnFailed& message);
  void exited(int node, const Exited& message, LastWords words);
  void note_failure(const RankState& rank, const Outcome& failure);
  bool blame(const Outcome& loss);
  void finished(int node, const Finished& message);
  RankState* rank_of(int node, std::uint32_t rank);
  void rank_ended(RankState& rank, RankPhase phase, const Outcome& failure, bool failed);

  // What happens to nodes
  void fail_start(int node, Exit status);
  void check_started();
  void check_ranks();
  void check_agents();
  void lose(int node, Cause cause, int exit_status, const std::string& text);
  void garbage(int node, const std::string& what);

  // What happens to connections
  bool search_for(int node);
  void give_up_search(int node);
  void hurry_searches(JobTime until);
  void watch_searches();
  void plan_searches();

  // What is known of ranks that run
  void begin_watch();
  void hear_states(int node, const RankStates& message);
  void look_at_ranks();
  int node_at(const std::string& address) const;

  // What time does
  void send_heartbeats();
  void watch_silence();
  void tell_suspicion(int node, JobTime silent);
  void tell_whom_we_wait_for();
  void tell_who_ended_early();
  void tell_what_was_left();
  void deadline_passed();
  void give_up_start(int node);
  void give_up_preflight(int node);
  void give_up_finish(int node);

  void send(int node, Message message) { effects.push_back(Send{node, std::move(message)}); }
  void send_to_all(const Message& message);
  void notice(int node, std::string text) { effects.push_back(Notice{node, std::move(text)}); }
  void close(int node);
  NodeState& node_state(int node) { return job_.nodes[static_cast<std::size_t>(node)]; }
  int node_count() const { return static_cast<int>(job_.nodes.size()); }

  Job& job_;
  JobTime now_;
};

bool gone(const RankState& rank);       // it will not run any more
bool reachable(const NodeState& node);  // it can be sent messages
std::string seconds_text(JobTime time);

}  // namespace dtl::job
