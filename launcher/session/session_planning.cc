// A host is an entry of the request. A machine may have several hosts; only the first takes part in
// the probes.
#include "launcher/session/session_planning.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/random.h"
#include "base/text.h"
#include "launcher/session/start_messages.h"
#include "plan/container.h"
#include "plan/core_owners.h"
#include "plan/mpi.h"
#include "plan/pinning/pinning.h"
#include "plan/preload.h"
#include "plan/same_machine.h"
#include "plan/wanted_cores.h"
#include "wire/field_kinds.h"

namespace dtl {
namespace {

constexpr std::uint32_t kHighestProcess = 1 << 22;  // Linux's PID_MAX_LIMIT

std::vector<NodeFacts> facts_of(const SessionNodes& nodes) {
  std::vector<NodeFacts> facts;
  // Every agent is up, so every node has facts.
  for (const SessionNode& each : nodes) facts.push_back(*each.facts);
  return facts;
}

// Options that name ranks by number.
void check_rank_numbers(const SessionOptions& options, int ranks) {
  const std::string reason = fmt::format("the job has {}", plural(ranks, "rank"));
  const InputChoice& input = options.streams.stdin_for;
  if (input.mode == InputMode::kOne && input.rank >= ranks) {
    throw option_error(fmt::format("--stdin {}", input.rank), reason, "--stdin 0");
  }
  const auto& only = options.streams.console.only;
  if (!only.empty() && *only.rbegin() >= ranks) {
    throw option_error(fmt::format("--only {}", *only.rbegin()), reason,
                       fmt::format("--only {}", ranks - 1));
  }
}

}  // namespace

SessionPlanning::SessionPlanning(const Request& request, const SessionOptions& options,
                                 const Job& job, SessionNodes& nodes, Console& console)
    : request_(request),
      options_(options),
      job_(job),
      nodes_(nodes),
      console_(console),
      interfaces_(request.network.interface) {}

job::Placed SessionPlanning::place() {
  const std::vector<NodeFacts> all = facts_of(nodes_);
  // Several tasks on one machine are normal; several names of one machine may be a mistake in the
  // hostfile.
  if (!request_.hosts_are_tasks && !std::exchange(told_aliases_, true)) {
    for (const std::string& line : describe_aliases(request_.hosts, nodes_of_hosts(all))) {
      console_.say(line);
    }
  }
  places_ = place_ranks_on(request_, all);
  job::Placed placed;
  std::map<int, std::size_t> position;
  for (const RankPlace& place : places_) {
    // Nodes are numbered in the order of their first rank.
    const auto [found, is_new] = position.try_emplace(place.host, placed.nodes.size());
    if (is_new) {
      placed.nodes.push_back(place.host);
      placed.machines.push_back(static_cast<std::uint32_t>(place.node));
      placed.ranks.emplace_back();
    }
    placed.ranks[found->second].push_back(place.rank);
  }
  // Sent together with the connection test, so it needs no extra round trip.
  const bool contained = !options_.container.empty();
  if (request_.restart_count == 0 && !contained) python_check_.emplace(request_);
  std::vector<Fact> more = python_check_ ? python_check_->parameters() : std::vector<Fact>{};
  const std::vector<Fact> of_programs =
      contained ? container_question(request_, options_.container, !options_.dry_run)
                : mpi_question(request_);
  more.insert(more.end(), of_programs.begin(), of_programs.end());
  if (contained) placed.patience = kContainerPatience + kAnswerMargin;
  placed.question = question_message(libraries_to_find(request_), more);
  return placed;
}

// The first host of each machine, in the order of the machines' first ranks.
std::vector<int> SessionPlanning::probed_hosts() const {
  std::vector<int> hosts;
  for (const RankPlace& place : places_) {
    if (static_cast<std::size_t>(place.node) == hosts.size()) hosts.push_back(place.host);
  }
  return hosts;
}

std::vector<ProbedNode> SessionPlanning::probed_nodes() const {
  std::vector<ProbedNode> probed;
  for (const int index : probed_hosts()) {
    const NodeState& state = job_.nodes[static_cast<std::size_t>(index)];
    const SessionNode& node = nodes_[static_cast<std::size_t>(index)];
    ProbedNode each;
    each.name = node.host.name;
    each.nics = node.facts->nics;
    each.own = InterfaceFilter(node.host.interface);
    each.reached_at = node.facts->reached_at;
    if (state.listening) each.listening = *state.listening;
    if (state.reached) each.attempts = state.reached->attempts;
    probed.push_back(std::move(each));
  }
  return probed;
}

void SessionPlanning::probe(int round) {
  const std::vector<int> hosts = probed_hosts();
  std::map<int, Reach> probes;
  // A single machine has nothing to probe; its agents still get a Reach, because the state machine
  // waits for the answer.
  if (hosts.size() > 1) {
    std::vector<Reach> planned = plan_probes(probed_nodes(), interfaces_, round);
    for (std::size_t k = 0; k < planned.size(); ++k) probes[hosts[k]] = std::move(planned[k]);
  }
  // The other tasks of a machine have nothing to probe.
  for (const int index : job_.used) send_to(nodes_, index, probes[index]);
}

job::Judged SessionPlanning::judge() {
  const std::vector<ProbedNode> nodes = probed_nodes();
  network_ = choose_network(nodes, interfaces_);
  // Another round takes its full timeout, so it must be able to prove something.
  return {!network_ && may_prove_more(nodes, interfaces_)};
}

// The network that the probes proved.
Network SessionPlanning::proved_network() {
  // judge() never ran for a single machine.
  if (probed_hosts().size() == 1) network_ = choose_network(probed_nodes(), interfaces_);
  // Thrown here and not in judge(), because this error refuses the job.
  if (!network_) throw no_network(probed_nodes(), interfaces_);
  if (log_level() >= LogLevel::kVerbose) {
    for (const std::string& reason : network_->reasons) console_.say(reason);
  }
  Network network = network_->network;
  std::vector<NodeNetwork> of_hosts;
  std::set<int> known;
  for (const RankPlace& place : places_) {  // each task uses its machine's network
    const auto node = static_cast<std::size_t>(place.node);
    if (known.insert(place.host).second) of_hosts.push_back(network.nodes[node]);
  }
  network.nodes = std::move(of_hosts);
  return network;
}

void SessionPlanning::add_found_preloads() {
  // Built again, because answers carry no names: they come in its order.
  const auto question = question_message(libraries_to_find(request_), {});
  if (!question) return;
  std::map<int, LibraryPlaces> places;
  for (const int index : job_.used) {
    const auto& answer = job_.nodes[static_cast<std::size_t>(index)].examined;
    if (answer) places[index] = to_places(*answer, *question);
  }
  add_preloads(*plan_, request_, places);
}

void SessionPlanning::compare_pythons() {
  if (!python_check_) return;
  for (const int index : job_.used) {
    const auto& answer = job_.nodes[static_cast<std::size_t>(index)].examined;
    if (answer) python_check_->hear(nodes_[static_cast<std::size_t>(index)].host.name, *answer);
  }
  if (const auto line = python_check_->notice()) console_.say(*line);
}

void SessionPlanning::check_container() {
  std::vector<ContainerAnswer> answers;
  for (const int index : job_.used) {
    const auto at = static_cast<std::size_t>(index);
    answers.push_back(container_answer(nodes_[at].host, job_.nodes[at].examined));
  }
  judge_container(options_.container, answers);
  if (!options_.dry_run && log_level() < LogLevel::kVerbose) return;
  console_.say(fmt::format("ranks run in a container of {} on each host", options_.container));
}

// The libraries of programs in an image are not those of the hosts.
void SessionPlanning::check_mpi() {
  if (!options_.container.empty()) return check_container();
  std::vector<MpiAnswers> answers;
  for (const int index : job_.used) {
    const auto& answer = job_.nodes[static_cast<std::size_t>(index)].examined;
    if (!answer) continue;
    answers.push_back({nodes_[static_cast<std::size_t>(index)].host.name, {}});
    for (const Fact& fact : answer->facts) {
      if (fact.name == "mpi") answers.back().programs.push_back(printable(fact.value));
      if (fact.name == "pmix") answers.back().pmix = printable(fact.value);
    }
  }
  const MpiVerdict verdict = judge_mpi(request_.environment.pmi, mpi_questions(request_), answers);
  serves_pmix_ = verdict.pmix;
  if (serves_pmix_) check_pmix_variables(request_);
  if (request_.restart_count > 0) return;  // what follows was said in the first epoch
  const bool is_verbose = log_level() >= LogLevel::kVerbose;
  if (!verdict.line.empty() && (options_.dry_run || is_verbose)) console_.say(verdict.line);
  if (!verdict.detail.empty() && is_verbose) console_.say(verdict.detail);
  if (!verdict.warning.empty()) console_.say(verdict.warning);
}

// Uses the widest label, so all ranks have the same environment.
void SessionPlanning::tell_columns() {
  const std::string name = "DTLAUNCH_COLUMNS=";
  std::optional<int> columns;
  for (const NodePlan& node : plan_->nodes) {
    for (const RankPlan& rank : node.ranks) {
      const auto of_rank = console_.rank_columns(
          {std::to_string(rank.rank), rank.program, kHighestProcess, node.host_name});
      if (!of_rank) return;
      columns = std::min(columns.value_or(*of_rank), *of_rank);
    }
  }
  for (NodePlan& node : plan_->nodes) {
    for (RankPlan& rank : node.ranks) {
      auto& lines = rank.environment;  // sorted
      const auto at = std::lower_bound(lines.begin(), lines.end(), name);
      const bool set = at != lines.end() && at->starts_with(name);
      if (!set) lines.insert(at, name + std::to_string(*columns));
    }
  }
}

job::Event SessionPlanning::make_plan() {
  // Assigned before the checks below, so the report has the plan even if they throw.
  const std::vector<NodeFacts> facts = facts_of(nodes_);
  plan_ = plan_beside_others(request_, facts, places_, proved_network(), options_.job_id);
  // The number of ranks may depend on slots that only the hosts know.
  check_rank_numbers(options_, plan_->world_size);
  add_found_preloads();
  check_mpi();
  tell_columns();
  if (options_.dry_run) {
    console_.print(options_.plan_text(*plan_, terminal_columns(options_.output)));
    return job::Refused{Cause::kDryRun, 0};
  }
  compare_pythons();
  show_plan();
  return job::Planned{};
}

// Always shows warnings, since they concern this plan; shows the rest with -v.
void SessionPlanning::show_plan() const {
  for (const std::string& warning : plan_->warnings) console_.say(warning);
  if (log_level() < LogLevel::kVerbose) return;
  console_.say(fmt::format("{} on {}, MASTER_ADDR {} port {}", plural(plan_->world_size, "rank"),
                           plural(plan_->nodes.size(), "node"), plan_->master_address,
                           plan_->master_port));
  for (const std::string& note : plan_->notes) console_.say(note);
}

// For every node, without the ranks.
ServePmi SessionPlanning::pmi_of_job() const {
  ServePmi serve;
  serve.world = static_cast<std::uint32_t>(ranks());
  serve.nodes = static_cast<std::uint32_t>(plan_->nodes.size());
  // Each epoch has its own key space.
  serve.space = fmt::format("{}.{}", options_.job_id, request_.restart_count);
  serve.mapping = process_mapping(places_);
  return serve;
}

// For every node, without its own number.
ServePmix SessionPlanning::pmix_of_job() const {
  ServePmix serve;
  // Random: libpmix takes everybody who connects on its node and knows the namespace for a rank,
  // even another user.
  serve.space = fmt::format("{}.{}", pmi_of_job().space,
                            to_hex(random_bytes(kSecretBytes, "draw the job's namespace")));
  serve.places.resize(ranks());
  std::vector<std::string> names;
  for (std::uint32_t node = 0; node < plan_->nodes.size(); ++node) {
    const NodePlan& planned = plan_->nodes[node];
    names.push_back(planned.host_name);
    for (const RankPlan& rank : planned.ranks) {
      serve.places[static_cast<std::size_t>(rank.rank)] = {
          node, static_cast<std::uint32_t>(rank.program)};
    }
  }
  serve.hosts = distinct_names(std::move(names));
  return serve;
}

void SessionPlanning::claim() {
  Ending left = job_.options.ending;
  if (left.timeout) *left.timeout = std::max(*left.timeout - job_.last_step, JobTime{0});
  std::size_t cores = 0;
  for (const NodePlan& planned : plan_->nodes) {
    const NodeFacts& facts = *nodes_[static_cast<std::size_t>(planned.host)].facts;
    CoreWish wish = cores_to_claim(request_, planned, facts);
    cores += wish.cores;
    send_to(nodes_, planned.host,
            ClaimCores{std::move(wish.cpus), wish.shared, request_.around, longest_run(left)});
  }
  if (options_.hooks.claiming) options_.hooks.claiming(cores);
}

void SessionPlanning::start(const std::function<bool(int rank)>& wants_stdin) {
  programs_.resize(ranks());
  for (const NodePlan& planned : plan_->nodes) {
    for (const RankPlan& rank : planned.ranks) {
      programs_[static_cast<std::size_t>(rank.rank)] = rank.program;
    }
  }
  // By it libdtring's ranks know each other; each epoch has another.
  const std::string secret = random_bytes(kSecretBytes, "draw the job's secret");
  const bool serves_pmi = offers_pmi1(request_.environment.pmi);
  ServePmi pmi = pmi_of_job();
  ServePmix pmix = serves_pmix_ ? pmix_of_job() : ServePmix{};
  for (const NodePlan& planned : plan_->nodes) {
    Connection& agent = *nodes_[static_cast<std::size_t>(planned.host)].connection;
    // Before Start: output may arrive at once.
    agent.send(console_.rules(ranks()));
    if (serves_pmi) {
      pmi.ranks = pmi_ranks(planned);
      agent.send(pmi);
    }
    if (serves_pmix_) {
      agent.send(pmix);
      ++pmix.node;  // the state machine numbers the nodes in the same order
    }
    const std::string& host = nodes_[static_cast<std::size_t>(planned.host)].host.name;
    const auto folder_there = [&](const std::string& path) {
      return options_.place_on ? options_.place_on(host, path) : path;
    };
    for (Message& message : start_messages(planned, secret, wants_stdin, folder_there)) {
      agent.send(std::move(message));
    }
  }
}

job::Event SessionPlanning::refusal(const Error& error) {
  const std::string refused = as_typed(error, options_.typed).what();
  std::string text = refused;
  if (error.status() == Exit::kTryAgain) {  // other jobs have the cores
    if (options_.more_hosts > 0) {
      const auto more = static_cast<std::int64_t>(options_.more_hosts);
      text = fmt::format("{}: {}: asking {}", error.attempted(), error.reason(),
                         plural(more, "more host"));
    } else if (options_.dry_run) {
      text = message_text(error.attempted(), error.reason(), "--share-cores for a plan");
    } else if (request_.placement.waits) {
      const std::vector<NodeFacts> facts = facts_of(nodes_);
      return job::MustWait{tickets_for(request_, facts), error.reason(), refused,
                           !places_.empty() || needs_every_host(request_, facts)};
    }
  }
  console_.say(text);
  return job::Refused{Cause::kCannotStart, static_cast<int>(error.status())};
}

// Without the rank's number, which the console knows.
std::optional<LabelFacts> SessionPlanning::describe(const Started& started,
                                                    const std::string& host) const {
  if (!plan_) return std::nullopt;
  LabelFacts facts;
  facts.pid = started.pid;
  facts.host = host;
  if (started.rank < programs_.size()) facts.program = programs_[started.rank];
  return facts;
}

std::vector<std::string> SessionPlanning::network_reasons() const {
  return network_ ? network_->reasons : std::vector<std::string>{};
}

}  // namespace dtl
