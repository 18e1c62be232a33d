#pragma once
// The fields of what messages are made of: ranks, endpoints, what a node has; and the bounds of all
// fields. The messages themselves are in fields.h.

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "base/limits.h"
#include "wire/messages.h"

namespace dtl {

constexpr std::size_t kMaxNameBytes = 255;    // host, interface and version names
constexpr std::size_t kMaxPathBytes = 4096;   // PATH_MAX
constexpr std::size_t kMaxTextBytes = 16384;  // text for people
constexpr std::size_t kMaxCpus = 65536;       // of a node; a CPU number is below this
constexpr std::size_t kMaxNics = 1024;
constexpr std::size_t kMaxNumaNodes = 1024;  // the kernel's own limit
constexpr std::size_t kMaxAddresses = 4096;
constexpr std::size_t kMaxStrings = 65536;      // arguments, or variables, of one rank
constexpr std::size_t kMaxEnvironments = 4096;  // a node has no more ranks, hence no more programs
constexpr std::size_t kMaxFacts = 4096;
constexpr std::uint32_t kMaxProbeBytes = 1 << 20;

template <class M, class T>
concept Is = std::same_as<std::remove_const_t<M>, T>;

// What an element of a list takes at least, in bytes; the Reader checks a count against it.
constexpr std::size_t kLeastText = 4, kLeastCore = 28, kLeastNumaNode = 12, kLeastNic = 27,
                      kLeastEndpoint = 12, kLeastAttempt = 25, kLeastRankSpec = 34, kLeastFact = 8,
                      kLeastVariable = 8;

template <class Io, class M>
void texts(Io& io, const char* field, M& values, std::size_t most, std::size_t most_bytes) {
  io.list(field, values, most, kLeastText,
          [=](Io& to, auto& value) { to.c_text(field, value, most_bytes); });
}

// A signed number that is never negative, as a u32.
template <class Io, class T>
void index_field(Io& io, const char* field, T& value, std::uint32_t most) {
  auto number = static_cast<std::uint32_t>(value);
  io.number(field, number, most);
  if constexpr (!std::is_const_v<T>) value = static_cast<T>(number);
}

template <class Io, class M>
void cpu_list(Io& io, const char* field, M& cpus) {
  io.list(field, cpus, kMaxCpus, 4,
          [=](Io& to, auto& cpu) { index_field(to, field, cpu, kMaxCpus - 1); });
}

template <class Io, class M>
void cpu_set(Io& io, const char* field, M& set) {
  std::vector<int> cpus;
  if constexpr (std::is_const_v<M>) cpus = set.to_vector();
  cpu_list(io, field, cpus);
  if constexpr (!std::is_const_v<M>) set = CpuSet(cpus);
}

template <class Io, class M>
void stream_field(Io& io, M& value) {
  auto stream = static_cast<std::uint8_t>(value);
  io.number("stream", stream, 2);
  if constexpr (!std::is_const_v<M>) {
    if (stream == 0) io.refuse("stream", "is 0, the values are 1 and 2");
    value = static_cast<Stream>(stream);
  }
}

template <class Io, Is<Core> M>
void fields(Io& io, M& m) {
  index_field(io, "package", m.package, kMaxCpus);
  index_field(io, "numa", m.numa, kMaxCpus);
  cpu_list(io, "cpus", m.cpus);
  index_field(io, "cache1", m.cache1, kMaxCpus);
  index_field(io, "cache2", m.cache2, kMaxCpus);
  index_field(io, "cache3", m.cache3, kMaxCpus);
  index_field(io, "kind", m.kind, kMaxCpus);
}
template <class Io, Is<NumaNode> M>
void fields(Io& io, M& m) {
  index_field(io, "os_index", m.os_index, kMaxCpus);
  io.number("memory_bytes", m.memory_bytes, UINT64_MAX);
}
template <class Io, Is<NodeTopology> M>
void fields(Io& io, M& m) {
  io.list("cores", m.cores, kMaxCpus, kLeastCore, [](Io& to, auto& core) { fields(to, core); });
  cpu_set(io, "allowed", m.allowed);
  io.real("quota_cpus", m.quota_cpus);
  io.number("memory_bytes", m.memory_bytes, UINT64_MAX);
  io.list("numa_nodes", m.numa_nodes, kMaxNumaNodes, kLeastNumaNode,
          [](Io& to, auto& node) { fields(to, node); });
}
template <class Io, Is<Nic> M>
void fields(Io& io, M& m) {
  io.text("name", m.name, kMaxNameBytes);
  io.flag("up", m.up);
  io.flag("loopback", m.loopback);
  io.flag("inside", m.inside);
  io.number("speed_mbps", m.speed_mbps, UINT32_MAX);
  io.number("mtu", m.mtu, UINT32_MAX);
  texts(io, "addresses", m.addresses, kMaxAddresses, kMaxNameBytes);
  io.list("prefix_bits", m.prefix_bits, kMaxAddresses, 4,
          [](Io& to, auto& bits) { to.number("prefix_bits", bits, 128); });
  auto numa = static_cast<std::uint32_t>(m.numa + 1);  // 0: unknown
  io.number("numa", numa, kMaxNumaNodes);
  if constexpr (!std::is_const_v<M>) m.numa = static_cast<int>(numa) - 1;
}
template <class Io, Is<Endpoint> M>
void fields(Io& io, M& m) {
  io.text("address", m.address, kMaxNameBytes);
  io.number("port", m.port, 65535);
  io.number("node", m.node, kMaxRanks - 1);
}
template <class Io, Is<Attempt> M>
void fields(Io& io, M& m) {
  fields(io, m.endpoint);
  io.flag("reached", m.reached);
  io.text("local_address", m.local_address, kMaxNameBytes);
  io.text("local_interface", m.local_interface, kMaxNameBytes);
  io.text("problem", m.problem, kMaxTextBytes);
}
template <class Io, Is<Fact> M>
void fields(Io& io, M& m) {
  io.text("name", m.name, kMaxNameBytes);
  io.text("value", m.value, kMaxTextBytes);
}
template <class Io, Is<AddedVariable> M>
void fields(Io& io, M& m) {
  io.number("after", m.after, kMaxStrings);
  io.c_text("variable", m.variable, kMaxArgumentBytes);
}
template <class Io, Is<Environment> M>
void fields(Io& io, M& m) {
  io.number("base", m.base, kMaxEnvironments);
  io.list("added", m.added, kMaxStrings, kLeastVariable,
          [](Io& to, auto& variable) { fields(to, variable); });
}
template <class Io, Is<RankSpec> M>
void fields(Io& io, M& m) {
  io.number("rank", m.rank, kMaxRanks - 1);
  io.number("local_rank", m.local_rank, kMaxRanks - 1);
  texts(io, "arguments", m.arguments, kMaxStrings, kMaxArgumentBytes);
  fields(io, m.environment);
  io.c_text("working_directory", m.working_directory, kMaxPathBytes);
  cpu_list(io, "cpus", m.cpus);
  io.flag("wants_stdin", m.wants_stdin);
  auto policy = static_cast<std::uint8_t>(m.memory_policy);
  io.number("memory_policy", policy, 3);
  if constexpr (!std::is_const_v<M>) m.memory_policy = static_cast<MemoryPolicy>(policy);
  io.list("memory_nodes", m.memory_nodes, kMaxNumaNodes, 4,
          [](Io& to, auto& node) { to.number("memory_nodes", node, kMaxNumaNodes - 1); });
}

}  // namespace dtl
