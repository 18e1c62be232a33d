#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "launcher/job/job_stepper.h"

namespace dtl::job {

void Stepper::operator()(const FromAgent& event) {
  NodeState& node = node_state(event.node);
  if (!reachable(node)) return;
  node.looked_at = false;
  node.suspected = false;  // without a word: the notice says what an answer means
  node.last_heard = now_;
  const Overloaded handle{
      [&](const Listening& message) { listening(event.node, message); },
      [&](const Examined& message) { examined(event.node, message); },
      [&](const Reached& message) { reached(event.node, message); },
      [&](const Started& message) { started(event.node, message); },
      [&](const SpawnFailed& message) { spawn_failed(event.node, message); },
      [&](const Exited& message) { exited(event.node, message, event.words); },
      [&](const Evidence& message) {
        if (RankState* rank = rank_of(event.node, message.rank)) rank->evidence = message;
      },
      [&](const Stack& message) {
        if (RankState* rank = rank_of(event.node, message.rank)) rank->stack = message;
      },
      [&](const NativeStack& message) {
        if (RankState* rank = rank_of(event.node, message.rank)) rank->native = message;
      },
      [&](const RankStates& message) { hear_states(event.node, message); },
      [&](const Finished& message) { finished(event.node, message); },
      [&](const Leaving& message) {
        (*this)(ToldToGo{event.node, message.told_by, JobTime(message.left_ms)});
      },
      [&](const Trouble& message) {
        lose(event.node, Cause::kAgentFailed, static_cast<int>(Exit::kOs), message.text);
        close(event.node);
      },
      // Shown, not decided upon; and signs of life.
      [](const OneOf<Output, Skipped, StdinTaken, StdinClosed, dtl::Notice, Heartbeat,
                     Received> auto&) {},
      [&](const Hello&) { garbage(event.node, "a second greeting"); },
      [&](const Resumed&) { garbage(event.node, "an answer to no offer"); },
      [&](const LaunchersMessage auto&) {
        garbage(event.node, "a message that only a launcher sends");
      }};
  std::visit(handle, event.message);
}

void Stepper::listening(int node, const Listening& message) {
  const auto& used = job_.used;
  if (job_.state != JobState::kPreflight || job_.probe_round > 0) return;
  if (std::find(used.begin(), used.end(), node) == used.end()) return;
  node_state(node).listening = message;
  check_listening();
}

void Stepper::examined(int node, const Examined& message) {
  if (!job_.asked) {
    garbage(node, "an answer to no question");
    return;
  }
  node_state(node).examined = message;
  check_listening();
}

void Stepper::check_listening() {
  const auto& used = job_.used;
  if (job_.state != JobState::kPreflight || job_.probe_round > 0) return;
  const auto ready = [&](int other) {
    const NodeState& state = node_state(other);
    return state.listening && (state.examined || !job_.asked);
  };
  if (!std::all_of(used.begin(), used.end(), ready)) return;
  if (used.size() > 1) {
    probe(1);
    return;
  }
  send(used[0], StopListening{});
  move(Move::kProbed);
}

void Stepper::probe(int round) {
  job_.probe_round = round;
  job_.deadline = now_ + kConnectDeadline + kAnswerMargin;
  for (const int node : job_.used) node_state(node).reached.reset();
  effects.push_back(Probe{round});
}

void Stepper::reached(int node, const Reached& message) {
  const auto& used = job_.used;
  if (job_.state != JobState::kPreflight || job_.probe_round == 0) return;
  if (std::find(used.begin(), used.end(), node) == used.end()) return;
  node_state(node).reached = message;
  const auto answered = [&](int other) { return node_state(other).reached.has_value(); };
  if (std::all_of(used.begin(), used.end(), answered)) effects.push_back(JudgeNetwork{});
}

RankState* Stepper::rank_of(int node, std::uint32_t rank) {
  if (rank < job_.ranks.size() && job_.ranks[rank].node == node) return &job_.ranks[rank];
  garbage(node, fmt::format("news of rank {}, which is not its own", rank));
  return nullptr;
}

void Stepper::started(int node, const Started& message) {
  RankState* rank = rank_of(node, message.rank);
  if (rank == nullptr || rank->phase != RankPhase::kWaiting) return;
  rank->phase = RankPhase::kStarted;
  rank->pid = message.pid;
  rank->started = now_;
}

void Stepper::spawn_failed(int node, const SpawnFailed& message) {
  RankState* rank = rank_of(node, message.rank);
  if (rank == nullptr || gone(*rank)) return;
  Outcome outcome;
  outcome.cause = Cause::kSpawn;
  outcome.rank = static_cast<int>(message.rank);
  outcome.node = node;
  outcome.stage = message.stage;
  outcome.error_number = static_cast<int>(message.error_number);
  outcome.text = message.reason;
  outcome.exit_status = spawn_status(message.stage, outcome.error_number);
  rank->code = outcome.exit_status;
  rank_ended(*rank, RankPhase::kSpawnFailed, outcome, true);
}

void Stepper::exited(int node, const Exited& message, LastWords words) {
  RankState* rank = rank_of(node, message.rank);
  if (rank == nullptr || gone(*rank)) return;
  rank->code = static_cast<int>(message.code);
  rank->signal = static_cast<int>(message.signal);
  rank->max_rss_kib = message.max_rss_kib;
  if (message.signal == 0 && message.code != 0) {
    const bool told = message.code == static_cast<std::uint32_t>(Exit::kPeerFailed);
    const bool wordless = words == LastWords::kNone && rank->evidence.error_file.empty();
    rank->consequence = words == LastWords::kOfAnother || (wordless && told);
    rank->silent = wordless && !told;
  }
  if (message.left_behind > 0 && !ending()) {
    job_.leavers.push_back(static_cast<int>(message.rank));
    job_.left_processes += message.left_behind;
  }
  Outcome outcome;
  outcome.rank = static_cast<int>(message.rank);
  outcome.node = node;
  outcome.signal = rank->signal;
  outcome.cause = rank->signal != 0 ? Cause::kRankSignal : Cause::kRankExit;
  outcome.exit_status = rank->signal != 0 ? 128 + rank->signal : rank->code;
  const bool failed = outcome.exit_status != 0;
  if (!failed && job_.state == JobState::kRunning) job_.early_end = now_ + kEarlyEnd;
  rank_ended(*rank, RankPhase::kExited, outcome, failed);
}

// The news of a failure may come after the news of what it did to another rank: a connection that
// breaks is seen at once, the rank that broke it is reported by another node, perhaps later. And if
// the ranks were told to end now, the one that failed first might be ended before it has said why.
void Stepper::note_failure(const RankState& rank, const Outcome& failure) {
  if (!rank.consequence && !rank.silent) return abandon(failure);
  const auto& suspect = job_.suspect;
  const bool better = suspect && !rank.consequence &&
                      job_.ranks[static_cast<std::size_t>(suspect->rank)].consequence;
  if (suspect && !better) return;
  job_.suspect = failure;
  job_.blame_until = now_ + (rank.consequence ? JobTime(kBlameWindow) : JobTime(kSilentWindow));
}

// The loss of an agent or a node may take longer to be known than a rank's failure (kDead, or what
// a guard is waited for). Then it replaces an outcome that looks like its consequence. True when it
// did.
bool Stepper::blame(const Outcome& loss) {
  if (job_.state != JobState::kStopping) return false;
  if (!job_.outcome || job_.outcome->cause != Cause::kRankExit) return false;
  if (!job_.ranks[static_cast<std::size_t>(job_.outcome->rank)].consequence) return false;
  job_.outcome = loss;
  return true;
}

void Stepper::rank_ended(RankState& rank, RankPhase phase, const Outcome& failure, bool failed) {
  rank.phase = phase;
  rank.ended = now_;
  rank.after_stop = ending();
  job_.watch.forget(failure.rank);
  job_.slow_hosts.forget(failure.rank);
  if (failed && job_.state == JobState::kRunning) note_failure(rank, failure);
  check_ranks();
}

void Stepper::finished(int node, const Finished& message) {
  NodeState& state = node_state(node);
  if (state.phase != NodePhase::kEnding) {
    lose(node, Cause::kAgentFailed, static_cast<int>(Exit::kOs), "it ended without being told to");
    close(node);
    return;
  }
  if (message.unkillable > 0) {
    notice(node, fmt::format("{} process{} could not be killed within {}; look there with: ps -ef",
                             message.unkillable, message.unkillable == 1 ? "" : "es",
                             seconds_text(kReapDeadline)));
  }
  state.phase = NodePhase::kFinished;
  state.finished = now_;
  check_agents();
}

}  // namespace dtl::job
