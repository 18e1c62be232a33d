#pragma once
// The field table: for each message its number, and its fields in the order of their bytes, each
// with its bound. One description, read by the Writer, the Reader and the tests. PROTOCOL.md says
// the same in prose; a change here changes PROTOCOL.md, its test vectors and kProtocol.

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "base/limits.h"
#include "base/random.h"
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

// Messages. The number of each is its place in this list and never changes.
template <class M>
constexpr std::uint16_t kMessageType = 0;
template <class M>
constexpr const char* kMessageName = "";

// Of a message that ends with a tail (codec.h): the bytes of its body in front of that.
template <class M>
constexpr std::size_t kBytesBeforeTail = SIZE_MAX;

#define DTL_MESSAGE(number, name)                             \
  template <>                                                 \
  inline constexpr std::uint16_t kMessageType<name> = number; \
  template <>                                                 \
  inline constexpr const char* kMessageName<name> = #name

DTL_MESSAGE(1, Welcome);
template <class Io, Is<Welcome> M>
void fields(Io& io, M& m) {
  io.text("launcher_version", m.launcher_version, kMaxNameBytes);
  io.text("job_id", m.job_id, kMaxNameBytes);
  io.text("host_name", m.host_name, kMaxNameBytes);
  io.text("launcher_host", m.launcher_host, kMaxNameBytes);
}
DTL_MESSAGE(2, Hello);
template <class Io, Is<Hello> M>
void fields(Io& io, M& m) {
  io.text("hostname", m.facts.hostname, kMaxNameBytes);
  io.text("machine_id", m.facts.machine_id, kMaxNameBytes);
  io.text("boot_id", m.facts.boot_id, kMaxNameBytes);
  io.text("agent_version", m.facts.agent_version, kMaxNameBytes);
  io.text("reached_at", m.facts.reached_at, kMaxNameBytes);
  io.number("descriptors", m.facts.descriptors, UINT32_MAX);
  fields(io, m.facts.topology);
  io.list("nics", m.facts.nics, kMaxNics, kLeastNic, [](Io& to, auto& nic) { fields(to, nic); });
}
DTL_MESSAGE(3, Listen);
template <class Io, Is<Listen> M>
void fields(Io& io, M& m) {
  io.number("node", m.node, kMaxRanks - 1);
  io.number("lowest_port", m.lowest_port, 65535);
  io.number("highest_port", m.highest_port, 65535);
}
DTL_MESSAGE(4, Listening);
template <class Io, Is<Listening> M>
void fields(Io& io, M& m) {
  io.number("probe_port", m.probe_port, 65535);
  io.number("master_port", m.master_port, 65535);
  texts(io, "addresses", m.addresses, kMaxAddresses, kMaxNameBytes);
}
DTL_MESSAGE(5, Reach);
template <class Io, Is<Reach> M>
void fields(Io& io, M& m) {
  io.list("endpoints", m.endpoints, kMaxAddresses, kLeastEndpoint,
          [](Io& to, auto& endpoint) { fields(to, endpoint); });
  io.number("settle_ms", m.settle_ms, UINT32_MAX);
  io.number("payload_bytes", m.payload_bytes, kMaxProbeBytes);
}
DTL_MESSAGE(6, Reached);
template <class Io, Is<Reached> M>
void fields(Io& io, M& m) {
  io.list("attempts", m.attempts, kMaxAddresses, kLeastAttempt,
          [](Io& to, auto& attempt) { fields(to, attempt); });
}
DTL_MESSAGE(7, StopListening);
template <class Io, Is<StopListening> M>
void fields(Io&, M&) {}
DTL_MESSAGE(8, Start);
template <class Io, Is<Start> M>
void fields(Io& io, M& m) {
  io.bytes("secret", m.secret, kSecretBytes);
  io.list("ranks", m.ranks, kMaxRanks, kLeastRankSpec,
          [](Io& to, auto& rank) { fields(to, rank); });
}
DTL_MESSAGE(9, Started);
template <class Io, Is<Started> M>
void fields(Io& io, M& m) {
  io.number("rank", m.rank, kMaxRanks - 1);
  io.number("pid", m.pid, INT32_MAX);
}
DTL_MESSAGE(10, SpawnFailed);
template <class Io, Is<SpawnFailed> M>
void fields(Io& io, M& m) {
  io.number("rank", m.rank, kMaxRanks - 1);
  io.text("stage", m.stage, kMaxNameBytes);
  io.number("error_number", m.error_number, 4095);
}
DTL_MESSAGE(11, Stdin);
template <class Io, Is<Stdin> M>
void fields(Io& io, M& m) {
  io.number("rank", m.rank, kMaxRanks - 1);
  io.bytes("bytes", m.bytes, kMaxOutputBytes);
  io.flag("end", m.end);
}
DTL_MESSAGE(12, Output);
template <>
inline constexpr std::size_t kBytesBeforeTail<Output> = 4 + 1 + 4;
template <class Io, Is<Output> M>
void fields(Io& io, M& m) {
  io.number("rank", m.rank, kMaxRanks - 1);
  stream_field(io, m.stream);
  io.tail("bytes", m.bytes, kMaxOutputBytes);
}
DTL_MESSAGE(13, Exited);
template <class Io, Is<Exited> M>
void fields(Io& io, M& m) {
  io.number("rank", m.rank, kMaxRanks - 1);
  io.number("code", m.code, 255);
  io.number("signal", m.signal, 127);
  io.number("max_rss_kib", m.max_rss_kib, UINT64_MAX);
  io.number("left_behind", m.left_behind, UINT32_MAX);
}
DTL_MESSAGE(14, Stop);
template <class Io, Is<Stop> M>
void fields(Io& io, M& m) {
  io.number("signal", m.signal, 64);
  io.number("grace_ms", m.grace_ms, UINT32_MAX);
  io.number("ask_ms", m.ask_ms, UINT32_MAX);
}
DTL_MESSAGE(15, Kill);
template <class Io, Is<Kill> M>
void fields(Io&, M&) {}
DTL_MESSAGE(16, Finish);
template <class Io, Is<Finish> M>
void fields(Io&, M&) {}
DTL_MESSAGE(17, Finished);
template <class Io, Is<Finished> M>
void fields(Io& io, M& m) {
  io.number("killed", m.killed, UINT32_MAX);
  io.number("unkillable", m.unkillable, UINT32_MAX);
}
DTL_MESSAGE(18, Trouble);
template <class Io, Is<Trouble> M>
void fields(Io& io, M& m) {
  io.text("text", m.text, kMaxTextBytes);
}
DTL_MESSAGE(19, Heartbeat);
template <class Io, Is<Heartbeat> M>
void fields(Io& io, M& m) {
  io.number("monotonic_ms", m.monotonic_ms, UINT64_MAX);
}
DTL_MESSAGE(20, StdinTaken);
template <class Io, Is<StdinTaken> M>
void fields(Io& io, M& m) {
  io.number("rank", m.rank, kMaxRanks - 1);
  io.number("bytes", m.bytes, kMaxOutputBytes);
}
DTL_MESSAGE(21, Examine);
template <class Io, Is<Examine> M>
void fields(Io& io, M& m) {
  io.list("parameters", m.parameters, kMaxFacts, kLeastFact,
          [](Io& to, auto& fact) { fields(to, fact); });
}
DTL_MESSAGE(22, Examined);
template <class Io, Is<Examined> M>
void fields(Io& io, M& m) {
  io.list("facts", m.facts, kMaxFacts, kLeastFact, [](Io& to, auto& fact) { fields(to, fact); });
}
DTL_MESSAGE(23, OutputRules);
template <class Io, Is<OutputRules> M>
void fields(Io& io, M& m) {
  io.number("window", m.window, UINT32_MAX);
  io.number("hold_ms", m.hold_ms, UINT32_MAX);
  io.c_text("log_directory", m.log_directory, kMaxPathBytes);
}
DTL_MESSAGE(24, Credit);
template <class Io, Is<Credit> M>
void fields(Io& io, M& m) {
  io.number("rank", m.rank, kMaxRanks - 1);
  io.number("bytes", m.bytes, UINT32_MAX);
}
DTL_MESSAGE(25, Skipped);
template <class Io, Is<Skipped> M>
void fields(Io& io, M& m) {
  io.number("rank", m.rank, kMaxRanks - 1);
  stream_field(io, m.stream);
  io.number("bytes", m.bytes, UINT64_MAX);
  io.text("file", m.file, kMaxPathBytes);
}
DTL_MESSAGE(26, Signal);
template <class Io, Is<Signal> M>
void fields(Io& io, M& m) {
  io.number("signal", m.signal, 64);
}
DTL_MESSAGE(27, Notice);
template <class Io, Is<Notice> M>
void fields(Io& io, M& m) {
  io.text("text", m.text, kMaxTextBytes);
}
DTL_MESSAGE(28, Evidence);
template <class Io, Is<Evidence> M>
void fields(Io& io, M& m) {
  io.number("rank", m.rank, kMaxRanks - 1);
  io.number("oom_kills", m.oom_kills, UINT32_MAX);
  io.number("memory_limit", m.memory_limit, UINT64_MAX);
  io.bytes("error_file", m.error_file, kMaxOutputBytes);
}

DTL_MESSAGE(29, Environment);  // its fields stand above: a rank has one, too
DTL_MESSAGE(30, Stack);
template <class Io, Is<Stack> M>
void fields(Io& io, M& m) {
  io.number("rank", m.rank, kMaxRanks - 1);
  auto answer = static_cast<std::uint8_t>(m.answer);
  io.number("answer", answer, 3);
  if constexpr (!std::is_const_v<M>) {
    if (answer == 0) io.refuse("answer", "is 0, the values are 1 to 3");
    m.answer = static_cast<StackAnswer>(answer);
  }
  io.bytes("text", m.text, kMaxStackBytes);
}

#undef DTL_MESSAGE

// The tail of a message; nullptr when it has none.
template <class M>
std::string* tail_of(M&) {
  return nullptr;
}
inline std::string* tail_of(Output& m) {
  return &m.bytes;
}

}  // namespace dtl
