// hwloc is linked into dtagent, without plug-ins and without its x86 component, and reads /sys. The
// facts are those of this process: its affinity and its control group limit what ranks can get.
#include "agent/node/detect.h"

#include <hwloc.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include "agent/node/accelerators.h"
#include "agent/node/nics.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/host_name.h"
#include "base/machine/cgroup.h"
#include "base/machine/descriptor_limit.h"
#include "base/text.h"

namespace dtl {
namespace {

using Topology = std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)>;

// description: a synthetic machine or the path of an XML file; empty: this machine.
Topology load_topology(const std::string& description) {
  // hwloc's plug-ins need its shared library, which dtagent does not have.
  ::setenv("HWLOC_PLUGINS_PATH", "/nonexistent", 1);
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) throw system_error("cannot read the machine's topology");
  Topology topology(raw, &hwloc_topology_destroy);
  // The x86 component would visit every CPU in turn, which takes long on a busy node; Linux's
  // description has everything needed here.
  hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
  hwloc_topology_set_all_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  for (const auto type : {HWLOC_OBJ_PACKAGE, HWLOC_OBJ_CORE, HWLOC_OBJ_PU, HWLOC_OBJ_NUMANODE,
                          HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE}) {
    hwloc_topology_set_type_filter(raw, type, HWLOC_TYPE_FILTER_KEEP_ALL);
  }
  // Keeps the groups of NUMA nodes that cover part of a socket. Without them such a node would seem
  // to cover the whole socket.
  hwloc_topology_set_type_filter(raw, HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
  const bool is_file = description.find('/') != std::string::npos;
  if (!description.empty() && (is_file ? hwloc_topology_set_xml(raw, description.c_str())
                                       : hwloc_topology_set_synthetic(raw, description.c_str()))) {
    throw system_error(description + ": cannot read the topology");
  }
  if (hwloc_topology_load(raw) != 0) throw system_error("cannot read the machine's topology");
  return topology;
}

std::vector<int> cpus_of(hwloc_const_bitmap_t set) {
  std::vector<int> cpus;
  for (int cpu = hwloc_bitmap_first(set); cpu >= 0; cpu = hwloc_bitmap_next(set, cpu)) {
    cpus.push_back(cpu);
  }
  return cpus;
}

// Logical index of the NUMA node whose CPUs contain the object; 0 if the machine has none. The plan
// counts nodes by this index; os_index is for system calls.
int numa_of(hwloc_topology_t topology, hwloc_obj_t object) {
  hwloc_obj_t node = nullptr;
  while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr) {
    if (hwloc_bitmap_isincluded(object->cpuset, node->cpuset)) {
      return static_cast<int>(node->logical_index);
    }
  }
  return 0;
}

// The index of the object of this type around `object`, such as a shared cache; else `otherwise`.
int shared_index(hwloc_topology_t topology, hwloc_obj_t object, hwloc_obj_type_t type,
                 int otherwise) {
  const hwloc_obj_t around = hwloc_get_ancestor_obj_by_type(topology, type, object);
  return around == nullptr ? otherwise : static_cast<int>(around->logical_index);
}

// 0 for the machine's fastest kind of core, 1 for the next; 0 for all if the kernel cannot
// distinguish them.
int kind_of(hwloc_topology_t topology, hwloc_obj_t object) {
  const int kinds = hwloc_cpukinds_get_nr(topology, 0);
  const int kind = hwloc_cpukinds_get_by_cpuset(topology, object->cpuset, 0);
  int efficiency = -1;
  if (kinds < 2 || kind < 0) return 0;
  hwloc_cpukinds_get_info(topology, static_cast<unsigned>(kind), nullptr, &efficiency, nullptr,
                          nullptr, 0);
  // hwloc counts from the slowest kind.
  return efficiency < 0 ? 0 : kinds - 1 - efficiency;
}

std::vector<NumaNode> list_numa_nodes(hwloc_topology_t topology) {
  std::vector<NumaNode> nodes;
  hwloc_obj_t object = nullptr;
  while ((object = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, object)) != nullptr) {
    nodes.push_back({static_cast<int>(object->os_index), object->attr->numanode.local_memory});
  }
  return nodes;
}

std::vector<Core> list_cores(hwloc_topology_t topology) {
  // Some virtual machines report only hardware threads: each then counts as a core.
  const bool has_cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0;
  const hwloc_obj_type_t type = has_cores ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
  std::vector<Core> cores;
  hwloc_obj_t object = nullptr;
  while ((object = hwloc_get_next_obj_by_type(topology, type, object)) != nullptr) {
    // Without a cache of this level, a core counts as sharing it with no other.
    const int own = static_cast<int>(cores.size());
    Core core;
    core.package = shared_index(topology, object, HWLOC_OBJ_PACKAGE, 0);
    core.numa = numa_of(topology, object);
    core.cpus = cpus_of(object->cpuset);
    core.cache1 = shared_index(topology, object, HWLOC_OBJ_L1CACHE, own);
    core.cache2 = shared_index(topology, object, HWLOC_OBJ_L2CACHE, own);
    // Without a known L3, the cores of a NUMA node count as sharing one.
    core.cache3 = shared_index(topology, object, HWLOC_OBJ_L3CACHE, core.numa);
    core.kind = kind_of(topology, object);
    cores.push_back(core);
  }
  return cores;
}

CpuSet affinity() {
  std::vector<int> cpus;
  // The kernel refuses a mask shorter than its own, and does not say how long that is.
  for (int size = 1024; size <= 65536; size *= 2) {
    const std::unique_ptr<cpu_set_t, decltype(&std::free)> set(CPU_ALLOC(size), &std::free);
    const std::size_t bytes = CPU_ALLOC_SIZE(size);
    if (::sched_getaffinity(0, bytes, set.get()) != 0) continue;
    for (int cpu = 0; cpu < size; ++cpu) {
      if (CPU_ISSET_S(static_cast<unsigned>(cpu), bytes, set.get())) cpus.push_back(cpu);
    }
    return CpuSet(cpus);
  }
  throw system_error("cannot read the CPU affinity");
}

NodeTopology describe(hwloc_topology_t topology) {
  NodeTopology result;
  result.cores = list_cores(topology);
  result.numa_nodes = list_numa_nodes(topology);
  result.allowed = CpuSet(cpus_of(hwloc_topology_get_allowed_cpuset(topology)));
  return result;
}

NodeTopology detect_topology() {
  const Topology topology = load_topology("");
  const CgroupLimits limits = read_cgroup_limits("");
  NodeTopology result = describe(topology.get());
  // Whoever started us may have limited the affinity, and a control group the allowed CPUs.
  result.allowed = affinity() & result.allowed;
  result.quota_cpus = limits.quota_cpus;
  result.memory_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                        static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  if (limits.memory_bytes > 0) {
    result.memory_bytes = std::min(result.memory_bytes, limits.memory_bytes);
  }
  return result;
}

// Converts the kernel's numbers of NUMA nodes to their index in the topology; -1 if there is no
// such node, as in a virtual machine.
void place_nics(std::vector<Nic>& nics, const std::vector<NumaNode>& nodes) {
  for (Nic& nic : nics) {
    const auto at = std::find_if(nodes.begin(), nodes.end(),
                                 [&](const NumaNode& node) { return node.os_index == nic.numa; });
    nic.numa = at == nodes.end() ? -1 : static_cast<int>(at - nodes.begin());
  }
}

std::string identity_file(const char* path) {
  try {
    return std::string(trim(read_file(path, 4096)));
  } catch (const Error&) {
    return {};  // containers may lack it
  }
}

// Identifies where this agent runs. Two names of one node give the same text; containers on one
// machine do not. Agents of two users count as two nodes: neither could start the other's ranks.
std::string own_machine() {
  std::string id = identity_file("/etc/machine-id");
  for (const char* space : {"/proc/self/ns/net", "/proc/self/ns/pid"}) {
    char link[64];
    const ssize_t size = ::readlink(space, link, sizeof link);
    // Unknown: then this node counts as different from all others.
    if (size <= 0) return {};
    id += " " + std::string(link, static_cast<std::size_t>(size));
  }
  return id + " user " + std::to_string(::geteuid());
}

}  // namespace

NodeTopology topology_from(const std::string& description) {
  return describe(load_topology(description).get());
}

NodeFacts detect_node() {
  NodeFacts facts;
  facts.hostname = own_host_name();
  facts.machine_id = own_machine();
  facts.boot_id = identity_file("/proc/sys/kernel/random/boot_id");
  facts.agent_version = DTL_VERSION;
  facts.reached_at = reached_at(std::getenv("SSH_CONNECTION"));
  facts.descriptors = descriptor_limit();
  facts.topology = detect_topology();
  facts.accelerators = list_accelerators();
  facts.nics = list_nics();
  place_nics(facts.nics, facts.topology.numa_nodes);
  return facts;
}

// hwloc only reports the version of its interface, so this is the version of its headers.
Library hwloc_library() {
  return {"hwloc", HWLOC_VERSION, address_of(&::hwloc_get_api_version)};
}

}  // namespace dtl
