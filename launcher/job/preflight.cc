// Two rounds at most. The first is quick and tries what probably works; the second tries
// everything, and only if the first has proved no network (launcher/network/network.h).
#include "launcher/job/preflight.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "launcher/job/losses.h"
#include "launcher/job/machine.h"
#include "launcher/job/stops.h"
#include "plan/line/waiting_line.h"

namespace dtl::job {
namespace {

constexpr int kMostClaims = 8;  // plans whose cores are tried

void probe(Turn& turn, int round) {
  turn.job.probe_round = round;
  turn.job.deadline = turn.now + kConnectDeadline + kAnswerMargin;
  // Answers of the first round must not count in the second.
  for (const int node : turn.job.used) turn.node(node).reached.reset();
  turn.job.progress.reached = 0;
  turn.effects.push_back(Probe{round});
}

void check_listening(Turn& turn) {
  const auto& used = turn.job.used;
  if (turn.job.state != JobState::kPreflight || turn.job.probe_round > 0) return;
  const auto ready = [&](std::size_t k) {
    const NodeState& state = turn.node(used[k]);
    return state.listening && (state.examined || !turn.job.asked);
  };
  if (!all_done(turn.job.progress.listening, used.size(), ready)) return;
  // A single node needs no network.
  if (used.size() > 1) {
    probe(turn, 1);
    return;
  }
  turn.send(used[0], StopListening{});
  transition(turn, Move::kProbed);
}

void take_ticket(Turn& turn, int node) {
  Waiting& waiting = turn.job.waiting;
  TakeTicket ticket = waiting.tickets[static_cast<std::size_t>(node)];
  ticket.arrival_ms = waiting.arrival_ms;
  if (const JobTime left = waiting.blocked[node] - turn.now; left.count() > 0) {
    ticket.blocked_s = static_cast<std::uint64_t>(left.count()) / 1000;
  }
  turn.send(node, std::move(ticket));
  waiting.asked.insert(node);
}

// The nodes in whose lines the job waits: those that have its ranks, or else all, in order.
std::vector<int> nodes_in_line(const Job& job) {
  if (!job.used.empty()) return job.used;
  std::vector<int> all(job.nodes.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// While one node cannot serve the job, short jobs may have what others keep for it. Those are told
// until when.
void tell_of_others(Turn& turn) {
  constexpr JobTime kSame{2500};
  Waiting& waiting = turn.job.waiting;
  const std::vector<int> nodes = nodes_in_line(turn.job);
  if (!waiting.needs_all || waiting.answered.size() < nodes.size()) return;
  std::vector<JobTime> starts;
  for (const int node : nodes) starts.push_back(waiting.starts[node]);
  const std::vector<JobTime> blocked = blocked_until(starts);
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    JobTime& told = waiting.blocked[nodes[k]];
    const JobTime until = blocked[k] > turn.now ? blocked[k] : JobTime{0};
    if (std::chrono::abs(until - told) < kSame || (until.count() == 0 && told <= turn.now))
      continue;
    told = until;
    waiting.answered.erase(nodes[k]);
    take_ticket(turn, nodes[k]);
  }
}

}  // namespace

// The first node says when the job has come; the others are told. So the job has the same place in
// all lines, and no launcher's clock counts.
void get_in_line(Turn& turn) {
  Waiting& waiting = turn.job.waiting;
  waiting.began = turn.now;
  waiting.asked.clear();
  waiting.answered.clear();
  waiting.blocked.clear();
  if (turn.job.options.wait_limit) {
    turn.job.deadline = turn.now + *turn.job.options.wait_limit - waiting.total;
  }
  for (const int node : nodes_in_line(turn.job)) {
    take_ticket(turn, node);
    if (waiting.arrival_ms == 0) return;
  }
}

// --timeout is for the job's work.
void leave_line(Turn& turn) {
  const JobTime waited = turn.now - turn.job.waiting.began;
  turn.job.waiting.total += waited;
  auto& timeout = turn.job.options.ending.timeout;
  if (timeout) *timeout += waited;
}

void must_wait(Turn& turn, const MustWait& event) {
  Waiting& waiting = turn.job.waiting;
  const bool is_new = waiting.tickets.empty();
  if (is_new) waiting.arrival_ms = turn.job.options.arrival_ms;
  waiting.tickets = event.tickets;
  waiting.refusal = event.refusal;
  waiting.needs_all = event.needs_all;
  if (turn.ending()) return;
  if (turn.job.state == JobState::kWaiting) return tell_of_others(turn);
  if (is_new) turn.notice(-1, "waiting for free cores: " + event.why);
  transition(turn, Move::kMustWait);
}

void waited_too_long(Turn& turn) {
  turn.notice(-1, turn.job.waiting.refusal);
  refused(turn, Refused{Cause::kCannotStart, static_cast<int>(Exit::kTryAgain)});
}

void hear_seen(Turn& turn, int node, const CoresSeen& message) {
  Waiting& waiting = turn.job.waiting;
  if (turn.job.state != JobState::kWaiting || !waiting.asked.contains(node)) return;
  if (!message.problem.empty() && !std::exchange(waiting.told, true)) {
    turn.notice(node, "other jobs cannot see that this one waits: " + message.problem);
  }
  waiting.answered.insert(node);
  const auto starts = std::chrono::seconds(message.starts_s);
  waiting.starts[node] = starts.count() > 0 ? turn.now + starts : JobTime{0};
  if (waiting.arrival_ms == 0) {
    waiting.arrival_ms = std::max<std::uint64_t>(message.arrival_ms, 1);
    for (const int other : nodes_in_line(turn.job)) {
      if (other != node) take_ticket(turn, other);
    }
  }
  if (waiting.answered.size() < nodes_in_line(turn.job).size()) return;
  if (turn.job.used.empty()) {
    turn.effects.push_back(PlaceRanks{});
  } else {
    turn.effects.push_back(MakePlan{});
  }
}

void ranks_placed(Turn& turn, const Placed& event) {
  // The job may have ended while the ranks were being placed.
  if (turn.job.state == JobState::kWaiting) transition(turn, Move::kPlaced);
  if (turn.job.state != JobState::kPreflight || !turn.job.used.empty()) return;
  turn.job.used = event.nodes;
  for (std::size_t k = 0; k < event.nodes.size(); ++k) {
    turn.node(event.nodes[k]).has_ranks = true;
    for (const int rank : event.ranks[k]) {
      // Each node lists its own ranks, so that the highest number is not known beforehand.
      turn.job.ranks.resize(std::max(turn.job.ranks.size(), static_cast<std::size_t>(rank) + 1));
      turn.job.ranks[static_cast<std::size_t>(rank)].node = event.nodes[k];
    }
  }
  // Hosts without ranks end now: a lost one must not end the job.
  for (int node = 0; node < turn.node_count(); ++node) {
    if (turn.node(node).has_ranks) continue;
    turn.send(node, Finish{});
    turn.node(node).phase = NodePhase::kEnding;
  }
  turn.job.asked = event.question.has_value();
  if (turn.job.deadline) *turn.job.deadline += event.patience;
  for (std::size_t k = 0; k < turn.job.used.size(); ++k) {
    if (event.question)
      turn.send(turn.job.used[k],
                *event.question);  // with a container after Listening, else before it
    turn.send(turn.job.used[k],
              Listen{event.machines.empty() ? static_cast<std::uint32_t>(k) : event.machines[k],
                     turn.job.options.ports.low, turn.job.options.ports.high});
  }
}

void network_judged(Turn& turn, const Judged& event) {
  if (turn.job.state != JobState::kPreflight || turn.job.probe_round == 0) return;
  if (event.again && turn.job.probe_round == 1) {
    probe(turn, 2);
    return;
  }
  for (const int node : turn.job.used) turn.send(node, StopListening{});
  transition(turn, Move::kProbed);  // without a network the plan fails with the reason
}

void hear_listening(Turn& turn, int node, const Listening& message) {
  if (turn.job.state != JobState::kPreflight || turn.job.probe_round > 0) return;
  NodeState& state = turn.node(node);
  if (!state.has_ranks || state.listening) return;
  state.listening = message;
  for (const std::string& address : message.addresses) {
    const auto [at, is_new] = turn.job.node_at.emplace(address, node);
    if (!is_new && at->second != node) at->second = -1;
  }
  check_listening(turn);
}

void hear_examined(Turn& turn, int node, const Examined& message) {
  if (!turn.job.asked) {
    garbage(turn, node, "an answer to no question");
    return;
  }
  turn.node(node).examined = message;
  check_listening(turn);
}

void hear_reached(Turn& turn, int node, const Reached& message) {
  if (turn.job.state != JobState::kPreflight || turn.job.probe_round == 0) return;
  if (!turn.node(node).has_ranks) return;
  turn.node(node).reached = message;
  const auto& used = turn.job.used;
  const auto answered = [&](std::size_t k) { return turn.node(used[k]).reached.has_value(); };
  // A node that never answers is given up by the deadline of the state.
  if (all_done(turn.job.progress.reached, used.size(), answered)) {
    turn.effects.push_back(JudgeNetwork{});
  }
}

// A plan is made again while other jobs are faster, and fails once they leave too few cores.
void hear_claimed(Turn& turn, int node, const CoresClaimed& message) {
  if (turn.job.state != JobState::kClaiming || !turn.node(node).has_ranks) return;
  Claiming& claiming = turn.job.claiming;
  if (!claiming.answered.insert(node).second) return;
  claiming.taken |= message.taken;
  if (!message.problem.empty() && !std::exchange(claiming.told, true)) {
    turn.notice(node, "other jobs cannot see which cores this one has: " + message.problem);
  }
  if (claiming.answered.size() < turn.job.used.size()) return;
  if (!claiming.taken) return transition(turn, Move::kClaimed);
  // Only a new look at all nodes shows what they keep for others.
  if (!turn.job.waiting.tickets.empty()) return transition(turn, Move::kMustWait);
  if (++claiming.rounds < kMostClaims) return transition(turn, Move::kTaken);
  turn.notice(-1, fmt::format("other jobs took the cores of each of {} plans first. Try: the same "
                              "command again",
                              kMostClaims));
  refused(turn, Refused{Cause::kCannotStart, static_cast<int>(Exit::kTryAgain)});
}

}  // namespace dtl::job
