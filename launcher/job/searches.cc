// During a search the node stays kReady: messages to it wait in its Connection, and its ranks keep
// running.
#include "launcher/job/searches.h"

#include <fmt/format.h>

#include <algorithm>

#include "launcher/job/losses.h"

namespace dtl::job {
namespace {

void give_up_search(Turn& turn, int node) {
  const LinkSearch& link = turn.node(node).link;
  std::string text = fmt::format("connection lost, and not found again within {}",
                                 seconds_text(link.lasted(turn.now)));
  if (!link.last_problem().empty()) text += ": " + link.last_problem();
  // The job no longer waits for this host, so tell the user what happens there.
  if (turn.ending()) {
    text += fmt::format("; what runs there ends by itself within {}",
                        seconds_text(JobTime(kLease) + link.patience() + JobTime(kKillGrace)));
  }
  lose(turn, node, Cause::kNodeLost, static_cast<int>(Exit::kUnreachable), text);
  turn.close(node);
}

void tell_search(Turn& turn, int node) {
  LinkSearch& link = turn.node(node).link;
  if (!link.must_tell(turn.now)) return;
  turn.notice(node, fmt::format("connection lost, looking for it for up to {}",
                                seconds_text(link.patience())));
}

void tell_found(Turn& turn, int node) {
  const LinkSearch& link = turn.node(node).link;
  if (!link.was_told()) return;
  turn.notice(node, fmt::format("found again after {}", seconds_text(link.lasted(turn.now))));
}

}  // namespace

// Without a tree, only while the ranks run: a job that is starting or ending would lose less than a
// search takes. In a tree a lost connection says nothing about the agent: another one may be lost.
bool search_for(Turn& turn, int node) {
  NodeState& state = turn.node(node);
  if (state.link.searching()) return true;
  if (!state.link.allowed()) return false;
  const bool runs = state.phase == NodePhase::kReady && turn.job.state == JobState::kRunning;
  if (!runs && !(state.in_tree && reachable(state))) return false;
  state.link.begin(turn.now);
  if (turn.ending() && turn.job.deadline) state.link.hurry(*turn.job.deadline);
  // The Connection stays, and keeps messages meanwhile.
  turn.effects.push_back(DetachNode{node});
  tell_search(turn, node);
  plan_searches(turn);
  return true;
}

void branch_taken(Turn& turn, const BranchTaken& event) {
  NodeState& state = turn.node(event.node);
  if (!reachable(state)) return;
  state.last_heard = turn.now;
  state.suspected = false;
  if (!state.link.searching()) return;
  tell_found(turn, event.node);
  state.link.end();
  plan_searches(turn);
}

void link_tried(Turn& turn, const LinkTried& event) {
  NodeState& state = turn.node(event.node);
  switch (state.link.tried(event.attempt, event.answer, event.text, turn.now)) {
    case LinkSearch::Verdict::kGoOn:
      break;
    case LinkSearch::Verdict::kFound:
      // The network caused its silence.
      state.last_heard = turn.now;
      state.suspected = false;
      tell_found(turn, event.node);
      break;
    case LinkSearch::Verdict::kGone:
      // Not kNodeLost: a login worked, so the host is there.
      lose(turn, event.node, Cause::kAgentFailed, static_cast<int>(Exit::kOs),
           "the connection was lost, and the agent is gone; the host itself answers");
      turn.close(event.node);
      break;
  }
  plan_searches(turn);
}

void hurry_searches(Turn& turn, JobTime until) {
  for (NodeState& node : turn.job.nodes) node.link.hurry(until);
  plan_searches(turn);
}

void watch_searches(Turn& turn) {
  if (!turn.job.next_link || turn.now < *turn.job.next_link) return;
  for (int node = 0; node < turn.node_count(); ++node) {
    LinkSearch& link = turn.node(node).link;
    tell_search(turn, node);
    if (link.is_over(turn.now)) {
      give_up_search(turn, node);
    } else if (const auto attempt = link.next_try(turn.now)) {
      turn.effects.push_back(Rejoin{node, attempt->attempt, attempt->until});
    }
  }
  plan_searches(turn);
}

void plan_searches(Turn& turn) {
  // Kept as one time, because next_wakeup() is asked after each event and must not look at all
  // nodes.
  turn.job.next_link.reset();
  for (const NodeState& node : turn.job.nodes) {
    const auto wakeup = node.link.wakeup();
    if (wakeup) turn.job.next_link = std::min(turn.job.next_link.value_or(*wakeup), *wakeup);
  }
}

}  // namespace dtl::job
