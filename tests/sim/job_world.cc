#include "tests/sim/job_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

namespace dtl::sim {
namespace {

// The longest path of a job's waits: start, preflight, ranks, stopping, finishing.
constexpr JobTime kLongestRun = 30s;
constexpr JobTime kLongestJob = kSshDeadline + kHelloDeadline + 3 * JobTime(kConnectDeadline) +
                                kLongestRun + kDead + kKillGrace + 2 * JobTime(kReapDeadline) +
                                7 * JobTime(kAnswerMargin);

}  // namespace

World::World(std::uint64_t seed) : random_(seed) {
  draw_faults();
  const int nodes = draw(1, 5);
  nodes_.resize(static_cast<std::size_t>(nodes));
  JobOptions options;
  if (chance(faults_.has_timeout)) options.ending.timeout = JobTime(draw(1, 40000));
  job_ = make_job(nodes_.size(), options);
  for (int node = 0; node < nodes; ++node) bring_up(node);
  while (chance(faults_.user_signals)) {
    at(JobTime(draw(0, 40000)), [this] { feed(job::Signalled{SIGINT}, "the user interrupts"); });
  }
}

void World::draw_faults() {
  for (int* fault : {&faults_.start_fails, &faults_.agent_dies, &faults_.falls_silent,
                     &faults_.rank_fails, &faults_.words_vary, &faults_.spawn_fails,
                     &faults_.ignores_stop, &faults_.ignores_finish, &faults_.user_signals,
                     &faults_.talks_nonsense, &faults_.has_timeout, &faults_.no_network}) {
    *fault = draw(0, 2) == 0 ? draw(5, 60) : 0;
  }
}

void World::bring_up(int index) {
  Node& node = nodes_[static_cast<std::size_t>(index)];
  node.ignores_stop = chance(faults_.ignores_stop);
  node.ignores_finish = chance(faults_.ignores_finish);
  const JobTime when(draw(1, 3000));
  if (chance(faults_.start_fails)) {
    if (chance(50)) return;  // it never says anything
    at(when, [=, this] {
      feed(job::AgentFailed{index, Exit::kAuth}, fmt::format("{} bad", index));
    });
    return;
  }
  at(when, [=, this] {
    nodes_[static_cast<std::size_t>(index)].up = true;
    feed(job::AgentReady{index}, fmt::format("{} up", index));
  });
  if (chance(faults_.falls_silent)) {
    at(JobTime(draw(1, 30000)), [&node] { node.silent = true; });
  }
  if (chance(faults_.agent_dies)) {
    at(JobTime(draw(1, 30000)), [=, this, &node] {
      if (!node.up) return;
      node.up = false;
      if (!node.silent) {
        feed(job::AgentLost{index, Cause::kAgentFailed, 71, "dies"}, fmt::format("{} dies", index));
      }
    });
  }
}

bool World::run() {
  while (job_.state != JobState::kDone && now_ <= kLongestJob) {
    const JobTime tick = std::max(next_wakeup(job_), now_);
    if (!queue_.empty() && queue_.top().when <= tick) {
      const Entry entry = queue_.top();
      queue_.pop();
      now_ = std::max(now_, entry.when);
      entry.what();
    } else {
      now_ = tick;
      for (int node = 0; node < static_cast<int>(nodes_.size()); ++node) {
        if (nodes_[static_cast<std::size_t>(node)].up) from_agent(node, Heartbeat{});
      }
      feed(job::Tick{}, "");
      now_ += 1ms;
    }
  }
  if (job_.state == JobState::kDone) check_promises_at_end();
  return job_.state == JobState::kDone;
}

void World::feed(const job::Event& event, const std::string& story) {
  const bool was_ending = job_.state >= JobState::kStopping;
  const auto first = job_.outcome;
  if (!story.empty()) {
    story_ += fmt::format("{:>6} ms {}: {}\n", now_.count(), state_name(job_.state), story);
  }
  note_failure(event);
  const auto effects = step(job_, event, now_);
  if (first && job_.outcome->cause != first->cause) {
    check(first->cause == Cause::kRankExit &&
              job_.ranks[static_cast<std::size_t>(first->rank)].consequence &&
              job_.outcome->rank < 0,
          "the first cause stays, unless it is what the loss of a node has done");
  }
  check(!was_ending || job_.state >= JobState::kStopping, "a job that is ending does not go back");
  for (const job::Effect& effect : effects) perform(effect);
}

void World::note_failure(const job::Event& event) {
  const auto* from = std::get_if<job::FromAgent>(&event);
  const auto* exited = from != nullptr ? std::get_if<Exited>(&from->message) : nullptr;
  if (exited == nullptr || job_.state != JobState::kRunning) return;
  const bool own = exited->signal != 0 || from->words == LastWords::kOwn;
  const bool known = job_.nodes[static_cast<std::size_t>(from->node)].phase == NodePhase::kReady;
  if (known && own && exited->code + exited->signal != 0) cause_seen_ = true;
}

void World::perform(const job::Effect& effect) {
  if (const auto* send = std::get_if<job::Send>(&effect)) {
    const Node& node = nodes_[static_cast<std::size_t>(send->node)];
    check(node.up || job_.nodes[static_cast<std::size_t>(send->node)].phase != NodePhase::kStarting,
          "nothing is sent to an agent that is not up");
    stop_sent_ = stop_sent_ || std::holds_alternative<Stop>(send->message);
    if (node.up && !node.silent) hear(send->node, send->message);
  } else if (const auto* many = std::get_if<job::SendToMany>(&effect)) {
    for (const int node : many->nodes) perform(job::Send{node, many->message});
  } else if (std::holds_alternative<job::PlaceRanks>(effect)) {
    at(now_, [this] { place(); });
  } else if (const auto* probe = std::get_if<job::Probe>(&effect)) {
    check(probe->round == 1 || probe->round == 2, "nodes are probed twice at most");
    for (const int index : job_.used) {
      const Node& node = nodes_[static_cast<std::size_t>(index)];
      if (node.up && !node.silent) from_agent(index, Reached{});
    }
  } else if (std::holds_alternative<job::JudgeNetwork>(effect)) {
    const bool again = chance(faults_.no_network);
    at(now_, [=, this] { feed(job::Judged{again}, again ? "no network" : "a network"); });
  } else if (std::holds_alternative<job::MakePlan>(effect)) {
    at(now_, [this] { feed(job::Planned{}, "planned"); });
  } else if (std::holds_alternative<job::ClaimNodes>(effect)) {
    for (const int index : job_.used) {
      const Node& node = nodes_[static_cast<std::size_t>(index)];
      // Now and then another job is faster.
      if (node.up && !node.silent) from_agent(index, CoresClaimed{chance(10), {}, ""});
    }
  } else if (std::holds_alternative<job::StartRanks>(effect)) {
    check(!started_ && !stop_sent_, "ranks are started once, and not after Stop");
    started_ = true;
    start_ranks();
  } else if (const auto* closed = std::get_if<job::CloseNode>(&effect)) {
    nodes_[static_cast<std::size_t>(closed->node)].up = false;
  }
}

void World::place() {
  job::Placed placed;
  int rank = 0;
  const int used = draw(1, static_cast<int>(nodes_.size()));
  for (int node = 0; node < used; ++node) {
    placed.nodes.push_back(node);
    placed.ranks.emplace_back();
    for (int local = draw(1, 3); local > 0; --local) placed.ranks.back().push_back(rank++);
    nodes_[static_cast<std::size_t>(node)].ranks = placed.ranks.back();
  }
  if (chance(50)) placed.question = Examine{};
  feed(placed, fmt::format("{} ranks on {} nodes", rank, used));
}

void World::start_ranks() {
  for (int index = 0; index < static_cast<int>(nodes_.size()); ++index) {
    Node& node = nodes_[static_cast<std::size_t>(index)];
    if (!node.up || node.silent) continue;
    for (const int rank : node.ranks) {
      const auto number = static_cast<std::uint32_t>(rank);
      if (chance(faults_.spawn_fails)) {
        rank_ended_[rank] = true;
        from_agent(index, SpawnFailed{number, "exec", ENOENT, ""});
        continue;
      }
      from_agent(index, Started{number, 1000 + number});
      const bool fails = chance(faults_.rank_fails);
      const int code = fails && chance(50) ? draw(1, 255) : 0;
      const int signal = fails && code == 0 ? SIGSEGV : 0;
      at(now_ + JobTime(draw(1, static_cast<int>(kLongestRun.count()))),
         [=, this] { end_rank(index, rank, code, signal); });
    }
    if (chance(faults_.talks_nonsense)) {
      at(now_ + JobTime(draw(1, 20000)), [=, this] { from_agent(index, Started{4711, 1}); });
    }
  }
}

void World::end_rank(int node, int rank, int code, int signal) {
  if (rank_ended_[rank] || !nodes_[static_cast<std::size_t>(node)].up) return;
  rank_ended_[rank] = true;
  Exited exited;
  exited.rank = static_cast<std::uint32_t>(rank);
  exited.code = static_cast<std::uint32_t>(code);
  exited.signal = static_cast<std::uint32_t>(signal);
  LastWords words = LastWords::kOwn;
  if (code != 0 && chance(faults_.words_vary)) {
    words = chance(50) ? LastWords::kNone : LastWords::kOfAnother;
  }
  from_agent(node, exited, words);
}

// Sends a message to the launcher: late, but in order.
void World::from_agent(int index, Message message, LastWords words) {
  Node& node = nodes_[static_cast<std::size_t>(index)];
  node.last_arrival = std::max(node.last_arrival, now_ + JobTime(draw(0, 50)));
  at(node.last_arrival, [this, &node, index, words, message = std::move(message)] {
    if (!node.up || node.silent) return;
    const bool loud = !std::holds_alternative<Heartbeat>(message);
    feed(job::FromAgent{index, message, words},
         loud ? fmt::format("{} sends message {}", index, message.index()) : "");
  });
}

// An agent's response to a launcher message.
void World::hear(int index, const Message& message) {
  Node& node = nodes_[static_cast<std::size_t>(index)];
  if (std::holds_alternative<Listen>(message)) {
    from_agent(index, Listening{});
  } else if (std::holds_alternative<Examine>(message)) {
    from_agent(index, Examined{});
  } else if (std::holds_alternative<Stop>(message) || std::holds_alternative<Kill>(message)) {
    if (node.ignores_stop) return;
    const JobTime latest = std::holds_alternative<Kill>(message) ? 10ms : JobTime(kKillGrace);
    for (const int rank : node.ranks) {
      at(now_ + JobTime(draw(1, static_cast<int>(latest.count()))),
         [=, this] { end_rank(index, rank, 0, SIGTERM); });
    }
  } else if (std::holds_alternative<Finish>(message) && !node.ignores_finish) {
    from_agent(index, Finished{});
  }
}

void World::check(bool holds, const std::string& promise) {
  if (!holds) complaints_ += fmt::format("at {} ms broken: {}\n", now_.count(), promise);
}

void World::check_promises_at_end() {
  check(job_.outcome.has_value(), "a job that is done has an outcome");
  if (!job_.outcome) return;
  const auto good = [](const RankState& rank) {
    return rank.phase == RankPhase::kExited && rank.code == 0 && rank.signal == 0;
  };
  const bool all_good = started_ && std::all_of(job_.ranks.begin(), job_.ranks.end(), good);
  const bool completed = job_.outcome->exit_status == 0;
  check(!completed || all_good, "exit status 0 means that every rank exited 0");
  const bool outside = job_.outcome->cause != Cause::kRankExit &&
                       job_.outcome->cause != Cause::kRankSignal &&
                       job_.outcome->cause != Cause::kSpawn;
  check(outside || job_.outcome->rank >= 0, "a rank's failure names the rank");
  const auto innocent = [&](const Outcome& outcome) {
    if (outcome.rank < 0) return false;
    const RankState& rank = job_.ranks[static_cast<std::size_t>(outcome.rank)];
    return rank.consequence || rank.silent;
  };
  check(!cause_seen_ || !innocent(*job_.outcome),
        "a rank's own failure comes before a consequence");
  check(step(job_, job::Signalled{SIGINT}, now_).empty(), "nothing happens after the end");
}

}  // namespace dtl::sim
