#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/limits.h"
#include "base/log.h"
#include "base/random.h"
#include "base/text.h"
#include "launcher/network/network.h"
#include "launcher/session/card_facts.h"
#include "launcher/session/session_shell.h"
#include "launcher/session/start_messages.h"
#include "plan/pinning/pinning.h"
#include "plan/preload.h"
#include "plan/same_machine.h"

namespace dtl {
namespace {

// Nothing when there is nothing to ask.
std::optional<Examine> to_message(const LibraryQuestion& question) {
  if (question.empty()) return std::nullopt;
  Examine message;
  message.parameters.push_back({"what", "libraries"});
  for (const auto& each : question.folders) message.parameters.push_back({"folder", each});
  for (const auto& each : question.files) message.parameters.push_back({"file", each});
  for (const auto& each : question.libraries) message.parameters.push_back({"library", each});
  return message;
}

// The facts come in the order of the question, files and libraries alike.
LibraryPlaces to_places(const Examined& answer, const Examine& question) {
  LibraryPlaces places;
  std::size_t next = 0;
  for (const Fact& asked : question.parameters) {
    if (asked.name != "file" && asked.name != "library") continue;
    if (next < answer.facts.size()) places[asked.value] = answer.facts[next++].value;
  }
  return places;
}

}  // namespace

void SessionShell::perform(job::Effect& effect) {
  const Overloaded act{[&](const job::Send& order) {
                         if (node(order.node).connection)
                           node(order.node).connection->send(order.message);
                       },
                       [&](const job::PlaceRanks&) { place_ranks_now(); },
                       [&](const job::Probe& order) { probe(order.round); },
                       [&](const job::JudgeNetwork&) { judge_network(); },
                       [&](const job::MakePlan&) { make_plan(); },
                       [&](const job::StartRanks&) { start_ranks(); },
                       [&](const job::CloseNode& order) { close_node(order.node); },
                       [&](const job::DetachNode& order) { node(order.node).connection->detach(); },
                       [&](const job::LookAtAgent& order) { look_at_agent(order.node); },
                       [&](const job::KillAgent& order) { ::kill(order.process, SIGKILL); },
                       [&](const job::Rejoin& order) { tasks_.spawn(rejoin(order)); },
                       [&](const job::StopSelf&) { tasks_.spawn(stop_self()); },
                       [&](const job::Notice& notice) {
                         if (notice.node >= 0) {
                           say_about(notice.node, notice.text);
                         } else {
                           console_.say(notice.text);
                         }
                       }};
  std::visit(act, effect);
}

void SessionShell::say_about(int index, const std::string& text) {
  console_.say(fmt::format("{}: {}", host_name(index), text));
}

void SessionShell::close_node(int index) {
  if (node(index).connection) node(index).connection->close();
}

// Every host that did not come up, in the order in which the user named them.
void SessionShell::tell_start_errors() {
  for (const Node& each : nodes_) {
    if (each.start_error) console_.say(each.start_error->what());
  }
}

void SessionShell::refuse(const Error& error) {
  console_.say(error.what());
  feed(job::Refused{Cause::kCannotStart, static_cast<int>(error.status())});
}

void SessionShell::place_ranks_now() {
  try {
    std::vector<NodeFacts> facts;
    for (const Node& each : nodes_) facts.push_back(*each.facts);
    if (!request_.hosts_are_tasks) {
      for (const std::string& line : describe_aliases(request_.hosts, nodes_of_hosts(facts))) {
        console_.say(line);
      }
    }
    places_ = place_ranks_on(request_, facts);
  } catch (const Error& error) {
    refuse(error);
    return;
  }
  job::Placed placed;
  std::map<int, std::size_t> position;
  for (const RankPlace& place : places_) {
    const auto [found, is_new] = position.try_emplace(place.host, placed.nodes.size());
    if (is_new) {
      placed.nodes.push_back(place.host);
      placed.machines.push_back(static_cast<std::uint32_t>(place.node));
      placed.ranks.emplace_back();
    }
    placed.ranks[found->second].push_back(place.rank);
  }
  placed.question = to_message(libraries_to_find(request_));
  console_.set_ranks(places_.size());
  if (options_.hooks.placed) options_.hooks.placed(places_.size());
  feed(std::move(placed));
}

// One host of each machine; of tasks, several are on one.
std::vector<int> SessionShell::probed_hosts() const {
  std::vector<int> hosts;
  for (const RankPlace& place : places_) {
    if (static_cast<std::size_t>(place.node) == hosts.size()) hosts.push_back(place.host);
  }
  return hosts;
}

std::vector<ProbedNode> SessionShell::probed_nodes() {
  std::vector<ProbedNode> probed;
  for (const int index : probed_hosts()) {
    const NodeState& state = job_.nodes[static_cast<std::size_t>(index)];
    ProbedNode each;
    each.name = host_name(index);
    each.nics = node(index).facts->nics;
    each.own = InterfaceFilter(node(index).host.interface);
    each.reached_at = node(index).facts->reached_at;
    if (state.listening) each.listening = *state.listening;
    if (state.reached) each.attempts = state.reached->attempts;
    probed.push_back(std::move(each));
  }
  return probed;
}

void SessionShell::probe(int round) {
  try {
    const std::vector<int> hosts = probed_hosts();
    std::map<int, Reach> probes;
    if (hosts.size() > 1) {
      std::vector<Reach> planned = plan_probes(probed_nodes(), interfaces_, round);
      for (std::size_t k = 0; k < planned.size(); ++k) probes[hosts[k]] = std::move(planned[k]);
    }
    for (const int index : job_.used) {  // the other tasks of a machine have nobody to try
      const auto& connection = node(index).connection;
      if (connection) connection->send(probes[index]);
    }
  } catch (const Error& error) {
    refuse(error);
  }
}

void SessionShell::judge_network() {
  const std::vector<ProbedNode> nodes = probed_nodes();
  network_ = choose_network(nodes, interfaces_);
  feed(job::Judged{!network_ && may_prove_more(nodes, interfaces_)});
}

// What the probes proved.
Network SessionShell::proved_network() {
  if (probed_hosts().size() == 1) network_ = choose_network(probed_nodes(), interfaces_);
  if (!network_) throw no_network(probed_nodes(), interfaces_);
  if (log_level() >= LogLevel::kVerbose) {
    for (const std::string& reason : network_->reasons) console_.say(reason);
  }
  Network network = network_->network;
  std::vector<NodeNetwork> of_hosts;
  std::set<int> known;
  for (const RankPlace& place : places_) {  // each task has what its machine has
    const auto node = static_cast<std::size_t>(place.node);
    if (known.insert(place.host).second) of_hosts.push_back(network.nodes[node]);
  }
  network.nodes = std::move(of_hosts);
  return network;
}

namespace {

// Options that name ranks by number.
void check_rank_numbers(const SessionOptions& options, int ranks) {
  const std::string reason = fmt::format("the job has {}", plural(ranks, "rank"));
  const InputChoice& input = options.stdin_for;
  if (input.mode == InputMode::kOne && input.rank >= ranks) {
    throw Error(Exit::kUsage, fmt::format("--stdin {}", input.rank), reason, "--stdin 0");
  }
  const auto& only = options.console.only;
  if (!only.empty() && *only.rbegin() >= ranks) {
    throw Error(Exit::kUsage, fmt::format("--only {}", *only.rbegin()), reason,
                fmt::format("--only {}", ranks - 1));
  }
}

}  // namespace

void SessionShell::make_plan() {
  try {
    std::vector<NodeFacts> facts;
    for (const Node& each : nodes_) facts.push_back(*each.facts);
    plan_ = make_job_plan(request_, facts, places_, proved_network(), options_.job_id);
    check_rank_numbers(options_, plan_->world_size);
    if (const auto question = to_message(libraries_to_find(request_))) {
      std::map<int, LibraryPlaces> places;
      for (const int index : job_.used) {
        const auto& answer = job_.nodes[static_cast<std::size_t>(index)].examined;
        if (answer) places[index] = to_places(*answer, *question);
      }
      add_preloads(*plan_, request_, places);
    }
  } catch (const Error& error) {
    refuse(error);
    return;
  }
  if (options_.dry_run) {
    console_.print(to_table(*plan_, terminal_columns(options_.output)));
    feed(job::Refused{Cause::kDryRun, 0});
    return;
  }
  for (const std::string& warning : plan_->warnings) console_.say(warning);
  if (log_level() >= LogLevel::kVerbose) {
    console_.say(fmt::format("{} on {}, MASTER_ADDR {} port {}", plural(plan_->world_size, "rank"),
                             plural(plan_->nodes.size(), "node"), plan_->master_address,
                             plan_->master_port));
    for (const std::string& note : plan_->notes) console_.say(note);
  }
  feed(job::Planned{});
}

void SessionShell::start_ranks() {
  const std::string secret = random_bytes(kSecretBytes, "draw the job's secret");
  try {
    for (const NodePlan& planned : plan_->nodes) {
      Connection& agent = *node(planned.host).connection;
      agent.send(console_.rules(places_.size()));
      const auto wants_stdin = [&](int rank) { return gets_input(rank); };
      for (Message& message : start_messages(planned, secret, wants_stdin)) {
        agent.send(std::move(message));
      }
    }
  } catch (const Error& error) {  // an argument or an environment that is too long
    refuse(error);
    return;
  }
  if (options_.stdin_for.mode == InputMode::kNone || input_is_handed_over()) return;
  input_of_.resize(places_.size());
  tasks_.spawn(forward_input());
}

SessionResult SessionShell::result() {
  SessionResult result;
  result.ended = now();
  for (const Node& each : nodes_) {
    result.hosts.push_back(each.host);
    result.facts.push_back(each.facts);
  }
  if (job_.outcome) result.last_lines = console_.last_lines(job_.outcome->rank);
  if (network_) result.network = network_->reasons;
  result.messages = console_.messages();
  result.dropped_bytes = console_.dropped_bytes();
  result.lost_input_bytes = input_.give_back(input_used());
  result.input_bytes = input_.bytes_read();
  if (const off_t place = ::lseek(options_.input, 0, SEEK_CUR); place > input_began_) {
    result.input_bytes = static_cast<std::size_t>(place - input_began_);  // a rank may have read it
  }
  result.phases = phases_;
  result.plan = std::move(plan_);
  result.job = std::move(job_);
  return result;
}

void SessionShell::tell_the_end(const SessionResult& known) {
  console_.finish();
  for (int index = 0; index < static_cast<int>(nodes_.size()); ++index) {
    const auto left_out = static_cast<std::int64_t>(node(index).notices.left_out());
    if (left_out > 0) say_about(index, plural(left_out, "notice") + " of its agent left out");
  }
  if (known.dropped_bytes > 0) {
    console_.say(fmt::format("{} of output were not shown: nobody read them in time",
                             size_text(known.dropped_bytes)));
  }
  if (known.lost_input_bytes > 0) {
    console_.say(
        fmt::format("{} of standard input were read but not used by any rank, and are lost; "
                    "--stdin none avoids this",
                    size_text(known.lost_input_bytes)));
  }
  const std::string card = failure_card(*known.job.outcome, card_facts(known), console_.columns());
  if (!card.empty()) console_.say(card);
}

}  // namespace dtl
