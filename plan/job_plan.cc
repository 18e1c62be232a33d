// Proceeds node by node. Groups equal warnings of many nodes into one line.
#include "plan/job_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "plan/accelerators.h"
#include "plan/environment.h"
#include "plan/job_limits.h"
#include "plan/mpi.h"
#include "plan/pin_warnings.h"
#include "plan/pinning/pinning.h"
#include "plan/pinning/task_pins.h"
#include "plan/request/name_list.h"
#include "plan/same_machine.h"

namespace dtl {
namespace {

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1" || address == "localhost";
}

NodeHardware hardware_of(const NodeTopology& topology) {
  std::set<int> packages, numa;
  for (const Core& core : topology.cores) {
    packages.insert(core.package);
    numa.insert(core.numa);
  }
  NodeHardware hardware;
  hardware.cores = cores_of(topology, topology.allowed);
  hardware.cpus = topology.allowed.count();
  hardware.sockets = static_cast<int>(packages.size());
  hardware.numa_nodes = static_cast<int>(numa.size());
  hardware.memory_bytes = topology.memory_bytes;
  return hardware;
}

// "node1: CPUs 0-3 for rank 0, 4-7 for rank 1", as in Open MPI's --report-bindings.
std::string pins_note(const NodePlan& node) {
  std::vector<std::string> pins;
  for (const RankPlan& rank : node.ranks) {
    pins.push_back(rank.cpus.empty()
                       ? fmt::format("any for rank {}", rank.rank)
                       : fmt::format("{} for rank {}", rank.cpus.to_list(), rank.rank));
  }
  return fmt::format("{}: CPUs {}", node.host_name, join(pins, "; "));
}

// The places on each host, hosts in order of their first rank.
std::vector<std::vector<std::size_t>> group_by_host(const std::vector<RankPlace>& places) {
  std::vector<std::vector<std::size_t>> groups;
  std::map<int, std::size_t> group_of;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto [found, is_new] = group_of.try_emplace(places[i].host, groups.size());
    if (is_new) groups.emplace_back();
    groups[found->second].push_back(i);
  }
  return groups;
}

class PlanMaker {
 public:
  PlanMaker(const Request& request, const std::vector<NodeFacts>& facts,
            const std::vector<RankPlace>& places, const Network& network)
      : request_(request),
        facts_(facts),
        places_(places),
        network_(network),
        groups_(group_by_host(places)),
        program_of_(programs_of_ranks(request, places.size())),
        program_sizes_(request.programs.size()) {
    for (const int program : program_of_) ++program_sizes_[static_cast<std::size_t>(program)];
    for (std::size_t k = 0; k < groups_.size(); ++k) {
      const RankPlace& first = places_[groups_[k].front()];
      const auto node = static_cast<std::size_t>(first.node);
      if (node == node_sizes_.size()) node_sizes_.push_back(first.local_size);
      groups_of_[node].push_back(k);
      const std::vector<std::string>& devices = facts_[host_of(k)].accelerators;
      accelerators_.insert(accelerators_.end(), devices.begin(), devices.end());
    }
  }

  JobPlan make(const std::string& job_id) {
    assert(!places_.empty() && network_.nodes.size() == groups_.size());
    plan_.job_id = job_id;
    plan_.world_size = static_cast<int>(places_.size());
    plan_.master_address = network_.nodes[0].address;
    plan_.master_port = network_.master_port;
    check_master();
    pin_all();
    for (std::size_t k = 0; k < groups_.size(); ++k) plan_.nodes.push_back(make_node(k));
    for (const auto& [warning, names] : told_) {
      plan_.warnings.push_back(fmt::format("{}: {}", first_names(names), warning));
    }
    for (const std::string& name : unused_exports_) plan_.warnings.push_back(why_unused(name));
    warn_of_crowding();
    warn_of_overruled_slots();
    warn_of_idle_hosts();
    return std::move(plan_);
  }

 private:
  void check_master() const {
    if (node_sizes_.size() == 1 || !is_loopback(plan_.master_address)) return;
    throw Error(Exit::kConfig, fmt::format("{}: cannot be the job's meeting point", name_of(0)),
                fmt::format("{} is this machine alone, and the job has {}", plan_.master_address,
                            plural(node_sizes_.size(), "node")),
                "a host with an address that the others can reach, as the first of them");
  }

  std::size_t host_of(std::size_t node) const {
    return static_cast<std::size_t>(places_[groups_[node].front()].host);
  }

  std::string name_of(std::size_t node) const {
    return request_.hosts.empty() ? "localhost" : request_.hosts[host_of(node)].name;
  }

  const NodeTopology& topology_of(std::size_t k) const { return facts_[host_of(k)].topology; }

  void pin_all() {
    for (const auto& [node, groups] : groups_of_) {
      std::vector<PinnedTask> tasks;
      for (const std::size_t k : groups) {
        tasks.push_back({pin_settings(k), &topology_of(k), name_of(k)});
      }
      const int ranks = static_cast<int>(groups_[groups[0]].size());
      std::vector<NodePins> pins =
          request_.hosts_are_tasks
              ? pin_tasks(tasks)
              : std::vector{pin_node(tasks[0].settings, *tasks[0].topology, ranks, tasks[0].host)};
      for (std::size_t i = 0; i < groups.size(); ++i) pins_[groups[i]] = std::move(pins[i]);
    }
  }

  NodePlan make_node(std::size_t k) {
    const NodeTopology& topology = topology_of(k);
    const std::vector<std::size_t>& group = groups_[k];
    check_descriptors(name_of(k), request_.hosts.empty() ? nullptr : &request_.hosts[host_of(k)],
                      group.size(), facts_[host_of(k)].descriptors);
    const NodePins& pins = pins_.at(k);
    NodePlan node;
    node.host = static_cast<int>(host_of(k));
    node.host_name = name_of(k);
    node.address = network_.nodes[k].address;
    node.interface = network_.nodes[k].interface;
    node.interface_numa = numa_of_interface(facts_[host_of(k)], node.interface);
    node.hardware = hardware_of(topology);
    const CommCpus comm = comm_cpus(places_[group.front()].node);
    for (std::size_t i = 0; i < group.size(); ++i) {
      node.ranks.push_back(make_rank(places_[group[i]], pins.domains[i], comm, node));
    }
    const PinKind kind = pin_settings(k).request.kind;
    const bool asked = kind != PinKind::kDefault && kind != PinKind::kNone;
    for (const auto& warnings : {pins.warnings, pin_warnings(node, facts_[host_of(k)], asked)}) {
      for (const std::string& warning : warnings) told_[warning].push_back(node.host_name);
    }
    note_crowding(node, topology);
    plan_.notes.push_back(pins_note(node));
    for (const std::string& note : pins.notes) {
      plan_.notes.push_back(fmt::format("{}: {}", node.host_name, note));
    }
    return node;
  }

  PinSettings pin_settings(std::size_t k) const {
    const Program& first = request_.programs[0];
    const Variables set = set_for(first);
    PinSettings settings;
    settings.request =
        pin_request_of(request_, request_.hosts.empty() ? nullptr : &request_.hosts[host_of(k)]);
    settings.comm_cores = request_.pinning.comm_cores;
    settings.threads =
        threads_asked_for(request_.pinning.threads, set, inherited_of(first)).value_or(0);
    settings.worker_cores = worker_cores(first);
    return settings;
  }

  // Cores for communication if oneCCL's variables give a number; 0 if they name the cores.
  std::optional<int> worker_cores(const Program& program) const {
    if (!said(program, "CCL_WORKER_AFFINITY").empty()) return 0;
    const auto count = parse_integer(said(program, "CCL_WORKER_COUNT"), 0, kMaxCommCores);
    if (!count) return std::nullopt;
    return static_cast<int>(*count);
  }

  const Variables& inherited_of(const Program& program) const {
    return program.inherited ? *program.inherited : request_.environment.inherited;
  }

  std::string said(const Program& program, std::string_view name) const {
    return given_variable(request_, program, name);
  }

  // oneCCL needs the same number from each rank: CCL_WORKER_COUNT, else the smallest of any rank.
  CommCpus comm_cpus(int node) const {
    const Program& first = request_.programs[0];
    if (!said(first, "CCL_WORKER_AFFINITY").empty()) return {};
    std::vector<Domain> domains;
    for (const std::size_t k : groups_of_.at(static_cast<std::size_t>(node))) {
      const auto& own = pins_.at(k).domains;
      domains.insert(domains.end(), own.begin(), own.end());
    }
    std::size_t each = domains.front().comm.size();
    for (const Domain& domain : domains) each = std::min(each, domain.comm.size());
    const auto count = parse_integer(said(first, "CCL_WORKER_COUNT"), 0, kMaxCommCores);
    if (count && static_cast<std::size_t>(*count) > each) return {};
    if (count) each = static_cast<std::size_t>(*count);
    CommCpus comm{static_cast<int>(each), {}};
    for (const Domain& domain : domains) {
      comm.cpus.insert(comm.cpus.end(), domain.comm.begin(),
                       domain.comm.begin() + static_cast<std::ptrdiff_t>(each));
    }
    return comm;
  }

  RankPlan make_rank(const RankPlace& place, const Domain& domain, const CommCpus& comm,
                     const NodePlan& node) {
    RankPlan rank;
    rank.rank = place.rank;
    rank.local_rank = place.local_rank;
    rank.cpus = domain.cpus;
    rank.comm = domain.comm;
    rank.numa = domain.numa;
    rank.memory = domain.memory;
    rank.memory_nodes = domain.memory_nodes;
    rank.program = program_of_[static_cast<std::size_t>(place.rank)];
    const Program& program = request_.programs[static_cast<std::size_t>(rank.program)];
    rank.arguments = program.command;
    rank.working_directory = program.working_directory;
    rank.umask = request_.environment.umask.value_or(rank.umask);
    const Variables set = set_for(program);
    const Variables& inherited = inherited_of(program);
    rank.threads =
        threads_asked_for(request_.pinning.threads, set, inherited).value_or(domain.threads);
    RankEnvironment environment = rank_environment(identity_of(place, rank, domain, comm, node),
                                                   inherited, set, request_.environment.compat);
    rank.environment = std::move(environment.lines);
    rank.origins = std::move(environment.origins);
    unused_exports_.insert(environment.unused.begin(), environment.unused.end());
    check_sizes(rank);
    return rank;
  }

  RankIdentity identity_of(const RankPlace& place, const RankPlan& rank, const Domain& domain,
                           const CommCpus& comm, const NodePlan& node) const {
    const Program& program = request_.programs[static_cast<std::size_t>(rank.program)];
    RankIdentity identity;
    identity.job_id = plan_.job_id;
    // Here each task of one host has a separate name.
    identity.host_name = request_.hosts_are_tasks
                             ? facts_[static_cast<std::size_t>(place.host)].hostname
                             : node.host_name;
    identity.master_address = plan_.master_address;
    identity.master_port = plan_.master_port;
    identity.interface = node.interface;
    identity.address = node.address;
    identity.rank = place.rank;
    identity.world_size = plan_.world_size;
    identity.local_rank = place.local_rank;
    identity.local_size = place.local_size;
    identity.node_rank = place.node;
    identity.nodes = static_cast<int>(node_sizes_.size());
    identity.threads = rank.threads;
    identity.threads_asked = request_.pinning.threads.has_value();
    identity.interface_asked = !request_.network.interface.empty();
    identity.on_cpu =
        computes_on_cpu(accelerators_, program.command, inherited_of(program), set_for(program));
    identity.grace = request_.ending.grace.value_or(kInterruptGrace);
    identity.around = request_.around;
    identity.restarts = request_.restart_count;
    identity.max_restarts = request_.max_restarts();
    const auto first = static_cast<int>(request_.first_ranks);
    if (request_.elastic) identity.first_size = first > 0 ? first : plan_.world_size;
    identity.pmi = offers_pmi1(request_.environment.pmi);
    identity.cpus = rank.cpus.to_vector();
    identity.comm_cpus = domain.comm;
    identity.comm = comm;
    std::tie(identity.cross_rank, identity.cross_size) = among_nodes(place);
    identity.program_size = program_sizes_[static_cast<std::size_t>(rank.program)];
    return identity;
  }

  // Horovod's cross rank and size: the index of the node among those with this local rank.
  std::pair<int, int> among_nodes(const RankPlace& place) const {
    int before = 0, all = 0;
    for (std::size_t node = 0; node < node_sizes_.size(); ++node) {
      if (node_sizes_[node] <= place.local_rank) continue;
      ++all;
      if (node < static_cast<std::size_t>(place.node)) ++before;
    }
    return {before, all};
  }

  Variables set_for(const Program& program) const {
    Variables set = request_.environment.set;
    set.insert(set.end(), program.set.begin(), program.set.end());
    return set;
  }

  // oneCCL's workers are threads too, and compete for cores as the ranks' threads do.
  void note_crowding(const NodePlan& node, const NodeTopology& topology) {
    int threads = 0;
    CpuSet pinned, comm;
    bool all_pinned = true;
    for (const RankPlan& rank : node.ranks) {
      threads += rank.threads;
      pinned = pinned | rank.cpus | CpuSet(rank.comm);
      comm = comm | CpuSet(rank.comm);
      all_pinned = all_pinned && !rank.cpus.empty();
    }
    const auto workers =
        parse_integer(said(request_.programs[0], "CCL_WORKER_COUNT"), 0, kMaxCommCores);
    const auto ranks = static_cast<int>(node.ranks.size());
    threads += workers ? static_cast<int>(*workers) * ranks : cores_of(topology, comm);
    int cores = all_pinned ? cores_of(topology, pinned) : budget_cores(topology);
    if (topology.quota_cpus > 0) cores = std::min(cores, budget_cores(topology));
    if (threads > cores) crowded_[{threads, cores}].push_back(node.host_name);
  }

  // One line for all nodes with the same numbers, usually most of them.
  void warn_of_crowding() {
    for (const auto& [load, names] : crowded_) {
      const auto [threads, cores] = load;
      plan_.warnings.push_back(fmt::format("{}: {} on {}, {:.1f} on each", first_names(names),
                                           plural(threads, "thread"), plural(cores, "core"),
                                           static_cast<double>(threads) / cores));
    }
  }

  void warn_of_overruled_slots() {
    if (!request_.placement.ranks_per_node) return;
    std::size_t overruled = 0;
    const Host* first = nullptr;
    for (std::size_t k = 0; k < groups_.size() && !request_.hosts.empty(); ++k) {
      const Host& host = request_.hosts[host_of(k)];
      if (!host.slots || *host.slots == *request_.placement.ranks_per_node) continue;
      if (first == nullptr) first = &host;
      ++overruled;
    }
    if (first == nullptr) return;
    const std::string others =
        overruled == 1 ? "" : fmt::format(" and of {} more", plural(overruled - 1, "host"));
    plan_.warnings.push_back(fmt::format(
        "{}{}-ppn {} overrules slots={} of {}{}", first->where, first->where.empty() ? "" : ": ",
        *request_.placement.ranks_per_node, *first->slots, first->name, others));
  }

  void warn_of_idle_hosts() {
    if (request_.hosts.size() <= groups_.size()) return;  // all have ranks, as tasks always do
    std::vector<std::string> names;
    const std::vector<int> first = nodes_of_hosts(facts_);
    for (std::size_t i = 0; i < request_.hosts.size(); ++i) {
      const auto has_ranks = [&](const RankPlace& place) { return place.host == first[i]; };
      if (std::any_of(places_.begin(), places_.end(), has_ranks)) continue;
      names.push_back(request_.hosts[i].name);
    }
    if (names.empty()) return;
    plan_.warnings.push_back(fmt::format("{} of {} get{} no rank: {}", names.size(),
                                         plural(request_.hosts.size(), "host"),
                                         names.size() == 1 ? "s" : "", first_names(names)));
  }

  const Request& request_;
  const std::vector<NodeFacts>& facts_;
  const std::vector<RankPlace>& places_;
  const Network& network_;
  std::vector<std::vector<std::size_t>> groups_;                     // indices into places_
  std::map<std::size_t, std::vector<std::size_t>> groups_of_;        // of each node; several: tasks
  std::vector<std::string> accelerators_;                            // of all nodes
  std::vector<int> node_sizes_;                                      // ranks of each node
  std::map<std::size_t, NodePins> pins_;                             // of each group
  std::vector<int> program_of_;                                      // of each rank
  std::vector<int> program_sizes_;                                   // ranks of each program
  std::set<std::string> unused_exports_;                             // names
  std::map<std::pair<int, int>, std::vector<std::string>> crowded_;  // {threads, cores} -> nodes
  std::map<std::string, std::vector<std::string>> told_;             // warning -> nodes
  JobPlan plan_;
};

}  // namespace

JobPlan make_job_plan(const Request& request, const std::vector<NodeFacts>& facts,
                      const std::vector<RankPlace>& places, const Network& network,
                      const std::string& job_id) {
  return PlanMaker(request, facts, places, network).make(job_id);
}

}  // namespace dtl
