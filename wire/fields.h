#pragma once
// The field table: the number of each message, and its fields in byte order, each with its bound.
// The Writer, the Reader and the tests share this one description. PROTOCOL.md says the same in
// prose; a change here changes PROTOCOL.md, its test vectors and kProtocol.

#include <cstdint>
#include <type_traits>

#include "base/random.h"
#include "wire/messages.h"
#include "wire/part_fields.h"

namespace dtl {

// Messages. The number of each is its place in this list and never changes.
template <class M>
constexpr std::uint16_t kMessageType = 0;
template <class M>
constexpr const char* kMessageName = "";

// For a message that ends with a tail (codec.h): the bytes of the body before the tail.
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
  texts(io, "accelerators", m.facts.accelerators, kMaxAccelerators, kMaxNameBytes);
  claim_list(io, m.facts.claims);
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
  // The kernel's MAX_ERRNO.
  io.number("error_number", m.error_number, 4095);
  io.text("reason", m.reason, kMaxNameBytes);
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
  enum_field(io, "stream", m.stream, 2);
  io.tail("bytes", m.bytes, kMaxOutputBytes);
}
DTL_MESSAGE(13, Exited);
template <class Io, Is<Exited> M>
void fields(Io& io, M& m) {
  io.number("rank", m.rank, kMaxRanks - 1);
  // As waitpid(2) reports them: 8 bits of a status, 7 bits of a signal number.
  io.number("code", m.code, 255);
  io.number("signal", m.signal, 127);
  io.number("max_rss_kib", m.max_rss_kib, UINT64_MAX);
  io.number("left_behind", m.left_behind, UINT32_MAX);
}
DTL_MESSAGE(14, Stop);
template <class Io, Is<Stop> M>
void fields(Io& io, M& m) {
  // 64 is the last signal of Linux, SIGRTMAX.
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
  enum_field(io, "stream", m.stream, 2);
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

DTL_MESSAGE(29, Environment);  // fields in part_fields.h, as RankSpec has one too
DTL_MESSAGE(30, Stack);
template <class Io, Is<Stack> M>
void fields(Io& io, M& m) {
  io.number("rank", m.rank, kMaxRanks - 1);
  enum_field(io, "answer", m.answer, 3);
  io.bytes("text", m.text, kMaxStackBytes);
}

DTL_MESSAGE(31, WatchRanks);
template <class Io, Is<WatchRanks> M>
void fields(Io& io, M& m) {
  io.number("period_ms", m.period_ms, UINT32_MAX);
  io.number("native_ms", m.native_ms, UINT32_MAX);
}
DTL_MESSAGE(32, RankStates);
template <class Io, Is<RankStates> M>
void fields(Io& io, M& m) {
  io.list("ranks", m.ranks, kMaxReports, kLeastReport,
          [](Io& to, auto& report) { fields(to, report); });
}
DTL_MESSAGE(33, NativeStack);
template <class Io, Is<NativeStack> M>
void fields(Io& io, M& m) {
  io.number("rank", m.rank, kMaxRanks - 1);
  io.flag("told", m.told);
  io.bytes("text", m.text, kMaxStackBytes);
}
DTL_MESSAGE(34, Reconnect);
template <class Io, Is<Reconnect> M>
void fields(Io& io, M& m) {
  io.text("link", m.link, kMaxNameBytes);
  io.bytes("token", m.token, kSecretBytes);
  io.number("patience_ms", m.patience_ms, UINT32_MAX);
}
DTL_MESSAGE(35, Resume);
template <class Io, Is<Resume> M>
void fields(Io& io, M& m) {
  io.bytes("token", m.token, kSecretBytes);
  io.number("attempt", m.attempt, UINT32_MAX);
  io.number("received", m.received, UINT64_MAX);
}
DTL_MESSAGE(36, Resumed);
template <class Io, Is<Resumed> M>
void fields(Io& io, M& m) {
  enum_field(io, "answer", m.answer, 3);
  io.number("attempt", m.attempt, UINT32_MAX);
  io.number("received", m.received, UINT64_MAX);
}
DTL_MESSAGE(37, Received);
template <class Io, Is<Received> M>
void fields(Io& io, M& m) {
  io.number("frames", m.frames, UINT64_MAX);
}
DTL_MESSAGE(38, WatchNotices);
template <class Io, Is<WatchNotices> M>
void fields(Io& io, M& m) {
  enum_field(io, "cloud", m.cloud, 4);
}
DTL_MESSAGE(39, Leaving);
template <class Io, Is<Leaving> M>
void fields(Io& io, M& m) {
  io.text("told_by", m.told_by, kMaxNameBytes);
  io.number("left_ms", m.left_ms, UINT32_MAX);
}
DTL_MESSAGE(40, StdinClosed);
template <class Io, Is<StdinClosed> M>
void fields(Io& io, M& m) {
  io.number("rank", m.rank, kMaxRanks - 1);
  io.number("read", m.read, UINT64_MAX);
}
DTL_MESSAGE(41, ServePmi);
DTL_MESSAGE(42, PmiFence);
DTL_MESSAGE(43, PmiFenced);
DTL_MESSAGE(44, MpiNews);
DTL_MESSAGE(45, ServePmix);
DTL_MESSAGE(46, PmixReady);
DTL_MESSAGE(47, PmixFence);
DTL_MESSAGE(48, PmixFenced);
DTL_MESSAGE(49, PmixWanted);
DTL_MESSAGE(50, PmixGiven);
DTL_MESSAGE(51, ClaimCores);
template <class Io, Is<ClaimCores> M>
void fields(Io& io, M& m) {
  cpu_set(io, "cpus", m.cpus);
  io.flag("shared", m.shared);
  texts(io, "around", m.around, kMaxAround, kMaxNameBytes);
  io.number("runs_s", m.runs_s, kMaxRunSeconds);
}
DTL_MESSAGE(52, CoresClaimed);
template <class Io, Is<CoresClaimed> M>
void fields(Io& io, M& m) {
  io.flag("taken", m.taken);
  claim_list(io, m.claims);
  io.text("problem", m.problem, kMaxNameBytes);
}
DTL_MESSAGE(53, TakeTicket);
template <class Io, Is<TakeTicket> M>
void fields(Io& io, M& m) {
  io.number("arrival_ms", m.arrival_ms, kMaxArrivalMs);
  io.number("cores", m.cores, kMaxCpus);
  cpu_set(io, "cpus", m.cpus);
  io.number("runs_s", m.runs_s, kMaxRunSeconds);
  texts(io, "around", m.around, kMaxAround, kMaxNameBytes);
  io.number("blocked_s", m.blocked_s, kMaxRunSeconds);
}
DTL_MESSAGE(54, CoresSeen);
template <class Io, Is<CoresSeen> M>
void fields(Io& io, M& m) {
  io.number("arrival_ms", m.arrival_ms, kMaxArrivalMs);
  claim_list(io, m.claims);
  io.text("problem", m.problem, kMaxNameBytes);
  io.number("starts_s", m.starts_s, kMaxRunSeconds);
}
DTL_MESSAGE(55, JoinTree);
template <class Io, Is<JoinTree> M>
void fields(Io& io, M& m) {
  io.number("node", m.node, kMaxRanks - 1);
  io.bytes("branch_key", m.branch_key, kTreeKeyBytes);
  io.bytes("relay_key", m.relay_key, kTreeKeyBytes);
  io.number("lowest_port", m.lowest_port, 65535);
  io.number("highest_port", m.highest_port, 65535);
  io.list("parents", m.parents, kMaxParents, kLeastParent,
          [](Io& to, auto& parent) { fields(to, parent); });
}
DTL_MESSAGE(56, TreeJoined);
template <class Io, Is<TreeJoined> M>
void fields(Io& io, M& m) {
  io.number("port", m.port, 65535);
  io.text("problem", m.problem, kMaxNameBytes);
}
DTL_MESSAGE(57, Relayed);
template <>
inline constexpr std::size_t kBytesBeforeTail<Relayed> = 4;
template <class Io, Is<Relayed> M>
void fields(Io& io, M& m) {
  io.tail("bytes", m.bytes, kMaxRelayedBytes);
}
DTL_MESSAGE(58, SharedFrame);
template <class Io, Is<SharedFrame> M>
void fields(Io& io, M& m) {
  io.list("digests", m.digests, kMaxPieces, kLeastText,
          [](Io& to, auto& digest) { to.bytes("digests", digest, kDigestBytes); });
}
DTL_MESSAGE(59, PieceWanted);
template <class Io, Is<PieceWanted> M>
void fields(Io& io, M& m) {
  io.bytes("digest", m.digest, kDigestBytes);
}
DTL_MESSAGE(60, PieceGiven);
template <class Io, Is<PieceGiven> M>
void fields(Io& io, M& m) {
  io.bytes("bytes", m.bytes, kMaxPieceBytes);
}

#undef DTL_MESSAGE

// The tail of a message; nullptr if it has none.
template <class M>
std::string* tail_of(M&) {
  return nullptr;
}
inline std::string* tail_of(Output& m) {
  return &m.bytes;
}
inline std::string* tail_of(Relayed& m) {
  return &m.bytes;
}

}  // namespace dtl
