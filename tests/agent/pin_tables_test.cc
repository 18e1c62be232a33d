// Golden tables: the result of each way of pinning on machines that hwloc simulates from synthetic
// and XML descriptions, through detection and plan. They are in tests/data/pin_tables.txt; a change
// there is a change for users.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "agent/node/detect.h"
#include "base/error.h"
#include "base/text.h"
#include "plan/pinning/pinning.h"
#include "tests/support/folders.h"

namespace dtl::pin_tables_test {
namespace {

struct Machine {
  std::string name;
  std::string description;   // for hwloc; FILE.xml: in tests/data
  std::string allowed = {};  // empty: all CPUs
  double quota = 0;
};

// "0,16,1,17,...": CPU numbers of siblings differ by `cores`, as on most servers.
std::string apart(int cores, int threads = 2) {
  std::string list;
  for (int core = 0; core < cores; ++core) {
    for (int thread = 0; thread < threads; ++thread) {
      list += fmt::format("{}{}", list.empty() ? "" : ",", core + thread * cores);
    }
  }
  return list;
}

// Even CPUs on the first socket, odd ones on the second.
std::string even_odd(int cores_per_socket) {
  std::string list;
  for (int socket = 0; socket < 2; ++socket) {
    for (int core = 0; core < cores_per_socket; ++core) {
      list += fmt::format("{}{}", list.empty() ? "" : ",", 2 * core + socket);
    }
  }
  return list;
}

std::string with_indexes(const std::string& machine, const std::string& indexes) {
  return machine + "(indexes=" + indexes + ")";
}

std::vector<Machine> machines() {
  return {
      {"one socket, 4 cores", "package:1 [numa] l3:1 core:4 pu:1"},
      {"one socket, 4 cores, siblings adjacent", "package:1 [numa] l3:1 core:4 pu:2"},
      {"one socket, 4 cores, siblings apart",
       with_indexes("package:1 [numa] l3:1 core:4 pu:2", apart(4))},
      {"64 CPUs, 32 cores (c6i.16xlarge)",
       with_indexes("package:1 [numa] l3:1 core:32 pu:2", apart(32))},
      {"two sockets, 8 cores", "package:2 [numa] l3:1 core:8 pu:1"},
      {"two sockets, 8 cores, even and odd",
       with_indexes("package:2 [numa] l3:1 core:8 pu:1", even_odd(8))},
      {"two sockets, 28 cores, siblings apart (8280)",
       with_indexes("package:2 [numa] l3:1 core:28 pu:2", apart(56))},
      {"two sockets, 12 cores, siblings adjacent", "package:2 [numa] l3:1 core:12 pu:2"},
      {"four sockets, 6 cores", "package:4 [numa] l3:1 core:6 pu:1"},
      {"four sockets, 8 cores, siblings apart",
       with_indexes("package:4 [numa] l3:1 core:8 pu:2", apart(32))},
      {"one socket, 4 sub-NUMA clusters of 8", "package:1 l3:1 group:4 [numa] core:8 pu:1"},
      {"two sockets, 2 sub-NUMA clusters of 6 each",
       with_indexes("package:2 l3:1 group:2 [numa] core:6 pu:2", apart(24))},
      {"two sockets of 8 caches of 8 cores, siblings apart: 256 CPUs (EPYC)",
       with_indexes("package:2 [numa] l3:8 core:8 pu:2", apart(128))},
      {"four sockets of 64 cores, siblings adjacent: 512 CPUs",
       "package:4 [numa] l3:1 core:64 pu:2"},
      {"pairs of cores that share an L2", "package:1 [numa] l3:1 l2:4 core:2 pu:1"},
      {"fast and slow cores", "hybrid.xml"},
      {"eight threads for each core", "package:1 [numa] l3:1 core:4 pu:8"},
      {"hardware threads alone", "pu:6"},
      {"three sockets of 5 cores", "package:3 [numa] l3:1 core:5 pu:1"},
      {"container: CPUs 6-17 of two sockets of 8 cores, siblings apart",
       with_indexes("package:2 [numa] l3:1 core:8 pu:2", apart(16)), "6-17"},
      {"container: one thread of each core", "package:1 [numa] l3:1 core:4 pu:2", "1,3,5,7"},
      {"container: a quota of 6.5 CPUs on 16 cores", "package:2 [numa] l3:1 core:8 pu:1", "", 6.5},
      {"container: CPUs 256-263 of 512", "package:4 [numa] l3:1 core:64 pu:2", "256-263"},
  };
}

// "6-17", "1,3": numbers and ranges.
CpuSet cpus_of(const std::string& list) {
  CpuSet cpus;
  for (const std::string& piece : split(list, ',')) {
    const std::size_t dash = std::min(piece.find('-'), piece.size());
    const int last = std::stoi(dash < piece.size() ? piece.substr(dash + 1) : piece);
    for (int cpu = std::stoi(piece.substr(0, dash)); cpu <= last; ++cpu) cpus.add(cpu);
  }
  return cpus;
}

NodeTopology topology_of(const Machine& machine) {
  const bool xml = machine.description.ends_with(".xml");
  NodeTopology topology = topology_from(xml ? test::source_path("tests/data/" + machine.description)
                                            : machine.description);
  if (!machine.allowed.empty()) topology.allowed = cpus_of(machine.allowed);
  topology.quota_cpus = machine.quota;
  return topology;
}

struct Way {
  std::string name;  // "-genv I_MPI_PIN_DOMAIN socket"
  int ranks;
  Variables set = {};
  std::string bind_to = {}, map_by = {};
  std::optional<int> comm_cores = {};
};

Way variable(int ranks, const std::string& value, const std::string& name = "DOMAIN") {
  return {name + "=" + value, ranks, {{"I_MPI_PIN_" + name, value}}};
}

Way ordered(int ranks, const std::string& domain, const std::string& order) {
  Way way = variable(ranks, domain);
  way.name += " ORDER=" + order;
  way.set.emplace_back("I_MPI_PIN_ORDER", order);
  return way;
}

Way bound(int ranks, const std::string& bind_to, const std::string& map_by = "") {
  Way way{"-bind-to " + bind_to, ranks};
  if (bind_to.empty()) way.name.clear();
  if (!map_by.empty()) way.name += (way.name.empty() ? "-map-by " : " -map-by ") + map_by;
  way.bind_to = bind_to;
  way.map_by = map_by;
  return way;
}

Way by_default(int ranks, std::optional<int> comm_cores = {}) {
  Way way{comm_cores ? fmt::format("--comm-cores {}", *comm_cores) : "unasked", ranks};
  way.comm_cores = comm_cores;
  return way;
}

std::vector<Way> ways() {
  return {by_default(1),
          by_default(2),
          by_default(3),
          by_default(4),
          by_default(1, 2),
          by_default(2, 1),
          by_default(1, 4),
          variable(2, "core"),
          variable(2, "socket"),
          variable(4, "numa"),
          variable(3, "cache2"),
          variable(3, "cache3"),
          variable(1, "node"),
          variable(2, "auto"),
          variable(2, "auto:scatter"),
          variable(2, "3:platform"),
          variable(2, "[3,c]"),
          variable(1, "[0xfffffff0]"),
          variable(3, "0-2", "PROCESSOR_LIST"),
          variable(3, "allcores", "PROCESSOR_LIST"),
          variable(4, "allcores:map=scatter", "PROCESSOR_LIST"),
          ordered(4, "core", "compact"),
          ordered(4, "core", "scatter"),
          ordered(4, "core", "spread"),
          bound(3, "core:2"),
          bound(3, "hwthread"),
          bound(3, "rr"),
          bound(2, "numa"),
          bound(4, "core", "socket"),
          bound(4, "", "ppr:2:socket"),
          bound(2, "", "slot:PE=2")};
}

std::string row(const NodeTopology& topology, const Way& way) {
  PinOptions options;
  options.bind_to = way.bind_to;
  options.map_by = way.map_by;
  std::string text = fmt::format("  {:<34} {} |", way.name, way.ranks);
  try {
    PinSettings settings;
    settings.request = parse_pin_request(options, way.set);
    settings.comm_cores = way.comm_cores;
    const NodePins pins = pin_node(settings, topology, way.ranks, "node");
    for (const Domain& domain : pins.domains) {
      text += fmt::format(" {}", domain.cpus.empty() ? "any" : domain.cpus.to_list());
      if (domain.threads != domain.cpus.count()) text += fmt::format(" t{}", domain.threads);
      if (!domain.comm.empty()) text += " c" + CpuSet(domain.comm).to_list();
      if (!domain.memory_nodes.empty())
        text += fmt::format(" m{}", fmt::join(domain.memory_nodes, ","));
      text += " |";
    }
    for (const std::string& warning : pins.warnings) text += " ! " + warning;
  } catch (const Error& error) {
    text += " refused: " + error.reason();
  }
  return text + "\n";
}

std::string tables() {
  std::string text =
      "# way, ranks | CPUs of each rank, tN threads where they are not as many, cLIST CPUs for\n"
      "# communication, mN NUMA nodes that memory comes from | ... ! warning\n";
  for (const Machine& machine : machines()) {
    const NodeTopology topology = topology_of(machine);
    text += "\n" + machine.name + "\n";
    for (const Way& way : ways()) text += row(topology, way);
  }
  return text;
}

TEST(PinTables, AreAsTheyWere) {
  const std::string path = test::source_path("tests/data/pin_tables.txt");
  const std::string seen = tables();
  if (std::getenv("DTL_WRITE_TABLES") != nullptr) std::ofstream(path) << seen;
  std::ifstream file(path);
  std::stringstream expected;
  expected << file.rdbuf();
  const std::vector<std::string> want = split(expected.str(), '\n'), have = split(seen, '\n');
  ASSERT_GT(want.size(), machines().size() * ways().size());
  std::string machine;
  for (std::size_t i = 0; i < std::max(want.size(), have.size()); ++i) {
    if (i < have.size() && !have[i].starts_with(" ")) machine = have[i];
    ASSERT_EQ(i < have.size() ? have[i] : "", i < want.size() ? want[i] : "")
        << path << ":" << i + 1 << ", " << machine;
  }
}

}  // namespace
}  // namespace dtl::pin_tables_test
