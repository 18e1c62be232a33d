// Agents whose connection is lost and that may be found again, by --reconnect.

#include <fmt/format.h>

#include <algorithm>

#include "launcher/job/job_stepper.h"

namespace dtl::job {

// While the ranks run. A job that is starting or ending has less to lose than the time it takes.
bool Stepper::search_for(int node) {
  NodeState& state = node_state(node);
  if (state.link.searching()) return true;
  if (!state.link.allowed() || state.phase != NodePhase::kReady) return false;
  if (job_.state != JobState::kRunning) return false;
  state.link.begin(now_);
  effects.push_back(DetachNode{node});
  notice(node, fmt::format("connection lost, looking for it for up to {}",
                           seconds_text(state.link.patience())));
  plan_searches();
  return true;
}

void Stepper::operator()(const LinkTried& event) {
  NodeState& state = node_state(event.node);
  switch (state.link.tried(event.attempt, event.answer, event.text, now_)) {
    case LinkSearch::Verdict::kGoOn:
      break;
    case LinkSearch::Verdict::kFound:
      state.last_heard = now_;
      state.suspected = false;
      notice(event.node,
             fmt::format("found again after {}", seconds_text(state.link.lasted(now_))));
      break;
    case LinkSearch::Verdict::kGone:
      lose(event.node, Cause::kAgentFailed, static_cast<int>(Exit::kOs),
           "the connection was lost, and the agent is gone; the host itself answers");
      close(event.node);
      break;
  }
  plan_searches();
}

void Stepper::give_up_search(int node) {
  const LinkSearch& link = node_state(node).link;
  std::string text = fmt::format("connection lost, and not found again within {}",
                                 seconds_text(link.lasted(now_)));
  if (!link.last_problem().empty()) text += ": " + link.last_problem();
  if (ending()) {
    text += fmt::format("; what runs there ends by itself within {}",
                        seconds_text(JobTime(kLease) + link.patience() + JobTime(kKillGrace)));
  }
  lose(node, Cause::kNodeLost, static_cast<int>(Exit::kUnreachable), text);
  close(node);
}

void Stepper::hurry_searches(JobTime until) {
  for (NodeState& node : job_.nodes) node.link.hurry(until);
  plan_searches();
}

void Stepper::watch_searches() {
  if (!job_.next_link || now_ < *job_.next_link) return;
  for (int node = 0; node < node_count(); ++node) {
    LinkSearch& link = node_state(node).link;
    if (link.is_over(now_)) {
      give_up_search(node);
    } else if (const auto attempt = link.next_try(now_)) {
      effects.push_back(Rejoin{node, attempt->attempt, attempt->until});
    }
  }
  plan_searches();
}

void Stepper::plan_searches() {
  job_.next_link.reset();
  for (const NodeState& node : job_.nodes) {
    const auto wakeup = node.link.wakeup();
    if (wakeup) job_.next_link = std::min(job_.next_link.value_or(*wakeup), *wakeup);
  }
}

}  // namespace dtl::job
