#pragma once
// The fields of the parts of messages: ranks, endpoints, the facts of a node. fields.h has the
// messages themselves.

#include <bit>
#include <cstdint>
#include <type_traits>

#include "wire/field_kinds.h"
#include "wire/messages.h"

namespace dtl {

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
  // One for each address; IPv6 addresses have 128 bits.
  io.list("prefix_bits", m.prefix_bits, kMaxAddresses, 4,
          [](Io& to, auto& bits) { to.number("prefix_bits", bits, 128); });
  auto numa = static_cast<std::uint32_t>(m.numa + 1);  // 0: unknown
  io.number("numa", numa, kMaxNumaNodes);
  if constexpr (!std::is_const_v<M>) m.numa = static_cast<int>(numa) - 1;
}
template <class Io, Is<CoreClaim> M>
void fields(Io& io, M& m) {
  io.text("job_id", m.job_id, kMaxNameBytes);
  io.number("user_id", m.user_id, UINT32_MAX);
  io.text("user", m.user, kMaxNameBytes);
  io.number("age_s", m.age_s, UINT64_MAX);
  cpu_set(io, "cpus", m.cpus);
  io.flag("shared", m.shared);
  io.flag("waits", m.waits);
  io.number("left_s", m.left_s, UINT64_MAX);
}
template <class Io, class M>
void claim_list(Io& io, M& claims) {
  io.list("claims", claims, kMaxClaims, kLeastClaim,
          [](Io& to, auto& claim) { fields(to, claim); });
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
  // Environments::checked() checks that it lies within the base.
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
  io.number("umask", m.umask, 0777);
  cpu_list(io, "cpus", m.cpus);
  io.flag("wants_stdin", m.wants_stdin);
  // Encoded as the enumeration's number, with a bound: untrusted input may hold any number.
  auto policy = static_cast<std::uint8_t>(m.memory_policy);
  io.number("memory_policy", policy, 3);
  if constexpr (!std::is_const_v<M>) m.memory_policy = static_cast<MemoryPolicy>(policy);
  io.list("memory_nodes", m.memory_nodes, kMaxNumaNodes, 4,
          [](Io& to, auto& node) { to.number("memory_nodes", node, kMaxNumaNodes - 1); });
}
template <class Io, Is<CommState> M>
void fields(Io& io, M& m) {
  io.number("id", m.id, UINT64_MAX);
  io.number("rank", m.rank, kMaxRanks - 1);
  io.number("world", m.world, kMaxRanks);
  io.number("begun", m.begun, UINT64_MAX);
  io.number("opcode", m.opcode, 255);
  io.number("completed", m.completed, UINT64_MAX);
  io.number("bytes", m.bytes, UINT64_MAX);
  io.number("looks", m.looks, UINT32_MAX);
  io.number("waits", m.waits, UINT32_MAX);
}
template <class Io, Is<WireState> M>
void fields(Io& io, M& m) {
  io.text("peer", m.peer, kMaxNameBytes);
  io.number("bytes", m.bytes, UINT64_MAX);
  io.number("busy_us", m.busy_us, UINT64_MAX);
}
template <class Io, Is<RankReport> M>
void fields(Io& io, M& m) {
  io.number("rank", m.rank, kMaxRanks - 1);
  io.number("pid", m.pid, INT32_MAX);
  enum_field(io, "activity", m.activity, 5);
  io.list("comms", m.comms, kMaxComms, kLeastComm, [](Io& to, auto& comm) { fields(to, comm); });
  io.list("wires", m.wires, kMaxWires, kLeastWire, [](Io& to, auto& wire) { fields(to, wire); });
  io.number("cpu_ms", m.usage.cpu_ms, UINT64_MAX);
  io.number("memory_kib", m.usage.memory_kib, UINT64_MAX);
  io.number("threads", m.usage.threads, UINT64_MAX);
  io.number("step", m.progress.step, UINT64_MAX);
  io.number("total_steps", m.progress.total_steps, UINT64_MAX);
  io.number("tokens", m.progress.tokens, UINT64_MAX);
  auto loss = std::bit_cast<std::uint64_t>(m.progress.loss);  // as it may be no number
  io.number("loss", loss, UINT64_MAX);
  if constexpr (!std::is_const_v<M>) m.progress.loss = std::bit_cast<double>(loss);
}

// About MPI programs.
template <class Io, Is<PmiRank> M>
void fields(Io& io, M& m) {
  io.number("rank", m.rank, kMaxRanks - 1);
  io.number("program", m.program, kMaxRanks - 1);
}
// As bytes: they belong to the ranks, which get them back unchanged.
template <class Io, Is<PmiEntry> M>
void fields(Io& io, M& m) {
  io.bytes("key", m.key, kMaxPmiKeyBytes);
  io.bytes("value", m.value, kMaxPmiValueBytes);
}
template <class Io, class M>
void pmi_entries(Io& io, M& entries) {
  io.list("entries", entries, kMaxPmiEntries, kLeastPmiEntry,
          [](Io& to, auto& entry) { fields(to, entry); });
}

template <class Io, Is<PmixPlace> M>
void fields(Io& io, M& m) {
  io.number("node", m.node, kMaxRanks - 1);
  io.number("program", m.program, kMaxRanks - 1);
}
template <class Io, class M>
void rank_list(Io& io, M& ranks) {
  io.list("ranks", ranks, kMaxRanks, 4,
          [](Io& to, auto& rank) { to.number("ranks", rank, kMaxRanks - 1); });
}

template <class Io, Is<ServePmi> M>
void fields(Io& io, M& m) {
  io.number("world", m.world, kMaxRanks);
  io.number("nodes", m.nodes, kMaxRanks);
  io.text("space", m.space, kMaxNameBytes);
  io.text("mapping", m.mapping, kMaxPmiValueBytes);
  io.list("ranks", m.ranks, kMaxRanks, kLeastPmiRank, [](Io& to, auto& rank) { fields(to, rank); });
}
template <class Io, Is<PmiFence> M>
void fields(Io& io, M& m) {
  pmi_entries(io, m.entries);
  io.flag("more", m.more);
}
template <class Io, Is<PmiFenced> M>
void fields(Io& io, M& m) {
  pmi_entries(io, m.entries);
  io.flag("more", m.more);
}
template <class Io, Is<MpiNews> M>
void fields(Io& io, M& m) {
  io.number("rank", m.rank, kMaxRanks - 1);
  enum_field(io, "event", m.event, 4);
  io.number("code", m.code, UINT32_MAX);
  io.text("text", m.text, kMaxTextBytes);
}
template <class Io, Is<ServePmix> M>
void fields(Io& io, M& m) {
  io.text("space", m.space, kMaxNameBytes);
  io.number("node", m.node, kMaxRanks - 1);
  texts(io, "hosts", m.hosts, kMaxRanks, kMaxNameBytes);
  io.list("places", m.places, kMaxRanks, kLeastPmixPlace,
          [](Io& to, auto& place) { fields(to, place); });
}
template <class Io, Is<PmixReady> M>
void fields(Io& io, M& m) {
  io.number("rank", m.rank, kMaxRanks - 1);
  texts(io, "variables", m.variables, kMaxPmixVariables, kMaxPathBytes);
}
template <class Io, Is<PmixFence> M>
void fields(Io& io, M& m) {
  rank_list(io, m.ranks);
  io.bytes("data", m.data, kMaxPmixBytes);
  io.flag("more", m.more);
}
template <class Io, Is<PmixFenced> M>
void fields(Io& io, M& m) {
  rank_list(io, m.ranks);
  io.bytes("data", m.data, kMaxPmixBytes);
  io.flag("more", m.more);
}
template <class Io, Is<PmixWanted> M>
void fields(Io& io, M& m) {
  io.number("rank", m.rank, kMaxRanks - 1);
  io.number("node", m.node, kMaxRanks - 1);
  io.number("number", m.number, UINT32_MAX);
}
template <class Io, Is<PmixGiven> M>
void fields(Io& io, M& m) {
  io.number("node", m.node, kMaxRanks - 1);
  io.number("number", m.number, UINT32_MAX);
  io.number("failure", m.failure, UINT32_MAX);
  io.bytes("data", m.data, kMaxPmixBytes);
  io.flag("more", m.more);
}
template <class Io, Is<TreeParent> M>
void fields(Io& io, M& m) {
  io.number("node", m.node, kMaxRanks - 1);
  texts(io, "addresses", m.addresses, kMaxAddresses, kMaxNameBytes);
  io.number("port", m.port, 65535);
  io.bytes("key", m.key, kTreeKeyBytes);
}

}  // namespace dtl
