#pragma once
// The messages of the launcher-agent conversation, as plain structs. PROTOCOL.md says when each is
// sent and describes its bytes. A changed message changes PROTOCOL.md, a test vector and kProtocol.
//
// Order of a job, launcher (L) and agent (A):
//   A: marker line (greeting.h)      L: Welcome            A: Hello
//   L: Listen                        A: Listening
//   L: Reach                         A: Reached, perhaps twice
//   L: StopListening
//   L: TakeTicket                    A: CoresSeen, again whenever what is free changes
//   L: ClaimCores                    A: CoresClaimed, perhaps several times
//   L: OutputRules, Environment*, Start
//   A: Started or SpawnFailed for each rank, Output*, Exited for each rank
//   L: Credit after output is shown  A: Skipped where there was no credit
//   L: Stop (grace) or Kill, any time
//   L: Signal, any time              A: Notice, any time
//   A: Evidence before the Exited it explains
//   A: Stack of each rank after a Stop with ask_ms, before the ranks are signalled
//   A: NativeStack after that
//   A: RankStates periodically after WatchRanks
//   A: Leaving after WatchNotices, once the node will be taken away
//   L: ServePmi before Start         A: PmiFence at each barrier of PMI; L: PmiFenced
//   L: ServePmix before Start        A: PmixFence, L: PmixFenced; both: PmixWanted, PmixGiven
//   A: MpiNews about a rank, before the Exited it explains
//   L: JoinTree                      A: TreeJoined; both: Relayed, for nodes below this one
//   L: SharedFrame                   A: PieceWanted for each piece that it lacks, L: PieceGiven
//   L: Finish                        A: Finished (nothing is left); the agent exits 0
//   both: Heartbeat each second; any frame counts as life
// With --reconnect: L: Reconnect after Hello; both: Received; on a new stream L: Resume -> A:
// Resumed, and the conversation continues (link_end.h). A Stop before Start is legal. After Stop or
// Kill the agent refuses Start.

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/overloaded.h"
#include "base/pages/progress_page.h"
#include "plan/pinning/topology.h"
#include "plan/request/cloud.h"
#include "wire/mpi_messages.h"

namespace dtl {

constexpr std::uint32_t kProtocol = 17;
constexpr int kInputDescriptor = 3;           // of dtagent --input: the launcher's standard input
constexpr std::size_t kFirstStdin = 4 << 10;  // of the first Stdin frame of a rank
constexpr std::size_t kStdinWindow = 256 << 10;  // Stdin bytes sent and not yet StdinTaken

// ---- launcher to agent
struct Welcome {
  std::string launcher_version;
  std::string job_id;         // 16 hex digits
  std::string host_name;      // this node's name in the hostfile, for messages
  std::string launcher_host;  // the launching machine's own name, for the record of the job
};
struct Listen {  // accept probes on every address of this node; also choose a free MASTER_PORT
  std::uint32_t node = 0;  // this node's number in the job; it answers probes with it
  std::uint32_t lowest_port = 0, highest_port = 0;  // both within these; 0: any
};
struct Endpoint {
  std::string address;
  std::uint32_t port = 0;
  std::uint32_t node = 0;  // the node that must answer there
};
struct Reach {  // try to connect to all of these at once, each within kConnectDeadline
  std::vector<Endpoint> endpoints;
  std::uint32_t settle_ms = 0;      // give up on the rest this long after every node has answered
                                    // at one of its addresses; 0: never
  std::uint32_t payload_bytes = 0;  // also send this much over each connection, to be confirmed
};
struct StopListening {};
struct Fact {
  std::string name;
  std::string value;
};
struct Examine {  // ask for facts: "what"="clock" (answered at once), "all" or "libraries"
  std::vector<Fact> parameters;
};
struct TakeTicket {  // wait in the node's line for the job, instead of with an earlier ticket
  std::uint64_t arrival_ms = 0;  // since 1970, as the job's first host said; 0: this is that host
  std::uint32_t cores = 0;       // that the job wants here
  CpuSet cpus;                   // these instead; empty: any
  std::uint64_t runs_s = 0;      // it runs for this long at most; 0: without limit
  std::vector<std::string> around;  // as in ClaimCores
  std::uint64_t blocked_s = 0;      // other nodes let it start only after that, at the earliest
};
struct ClaimCores {  // claim these for the job, instead of what an earlier ClaimCores has claimed
  CpuSet cpus;       // empty: none
  bool shared = false;  // CoreClaim::shared: also if others have them
  std::vector<std::string>
      around;                // ids of jobs inside of which this one runs: it uses their cores
  std::uint64_t runs_s = 0;  // as in TakeTicket
};
struct AddedVariable {
  std::uint32_t after = 0;  // insert it after this many variables of the base
  std::string variable;     // "NAME=value"
};
struct Environment {       // numbered from 1 in the order of sending
  std::uint32_t base = 0;  // number of the Environment that these are added to; 0: an empty one
  std::vector<AddedVariable> added;
};
struct RankSpec {
  std::uint32_t rank = 0;
  std::uint32_t local_rank = 0;
  std::vector<std::string> arguments;
  Environment environment;  // see environments.h
  std::string working_directory;
  std::uint32_t umask = 022;
  std::vector<std::uint32_t> cpus;  // empty: not pinned
  bool wants_stdin = false;         // rank 0: Stdin frames follow; others read /dev/null
  MemoryPolicy memory_policy = MemoryPolicy::kDefault;
  std::vector<std::uint32_t> memory_nodes;  // the kernel's numbers; empty with kDefault
};
struct Start {         // sent several times if it exceeds a frame: split_start() in frame.h
  std::string secret;  // 32 bytes, handed to ranks on descriptor kSecretFd, never logged
  std::vector<RankSpec> ranks;
};
struct Stdin {
  std::uint32_t rank = 0;
  std::string bytes;
  bool end = false;
};
struct Stop {  // signal (unless 0) and SIGCONT to every rank's group; SIGKILL after the grace
  std::uint32_t signal = 15;
  std::uint32_t grace_ms = 5000;
  std::uint32_t ask_ms = 0;  // first ask the ranks for their stacks, for at most this long
};
struct Kill {};  // SIGKILL now
struct Signal {  // only signal every rank's group; SIGSTOP also suspends the lease
  std::uint32_t signal = 10;
};
constexpr std::uint32_t kHoldForever = UINT32_MAX;
struct OutputRules {          // for all ranks of the node; without it output is not limited
  std::uint32_t window = 0;   // Output bytes of one rank sent and not yet credited
  std::uint32_t hold_ms = 0;  // without credit, do not read a rank's pipes for this long; then skip
                              // its output until half the window is free
  std::string log_directory;  // absolute: keep all output in DIR/JOB/rank.N.out and .err; or empty
};
struct Credit {  // this much of the rank's Output has been shown
  std::uint32_t rank = 0;
  std::uint32_t bytes = 0;
};
struct WatchRanks {             // report what the ranks do
  std::uint32_t period_ms = 0;  // send RankStates this often; 0: never
  std::uint32_t native_ms = 0;  // how long a later Stop with ask_ms may take for NativeStack
};
struct WatchNotices {  // ask this cloud's metadata service whether the node will be taken away
  Cloud cloud = Cloud::kAuto;
};
struct Finish {};  // end all remaining processes, answer Finished, exit
constexpr std::size_t kLinkDigits = 16;
struct Reconnect {                // from here on the agent survives a lost stream
  std::string link;               // 16 random hex digits: the name of this agent's socket
  std::string token;              // 32 random bytes: prove that the peer is this agent's launcher
  std::uint32_t patience_ms = 0;  // in addition to the lease
};
struct Resume {  // first on a new stream: an offer to continue
  std::string token;
  std::uint32_t attempt = 0;   // the launcher's count, from 1
  std::uint64_t received = 0;  // how many of the agent's frames have arrived
};

constexpr std::size_t kDigestBytes = 32;  // of SHA-256
struct SharedFrame {  // the next frame is one that many nodes get; its pieces have come as parcels
  std::vector<std::string> digests;  // of the pieces, in order
};
struct PieceGiven {
  std::string bytes;
};

constexpr std::size_t kTreeKeyBytes = 32;  // of each key below: random, or an HMAC
struct TreeParent {
  std::uint32_t node = 0;
  std::vector<std::string> addresses;
  std::uint32_t port = 0;
  std::string key;  // of the edge between that node and this one
};
struct JoinTree {          // talk to dtlaunch through another agent, and let others do so
  std::uint32_t node = 0;  // this one's number in the job
  std::string branch_key;  // between dtlaunch and this node, through the parents
  // Not empty: listen for other nodes. The key of the edge to node N: HMAC-SHA256 of this key and
  // N in decimal.
  std::string relay_key;
  std::uint32_t lowest_port = 0, highest_port = 0;  // of the listener; 0: any
  // To connect to, in this order, again and again until one answers. Empty: dtlaunch itself, over
  // the stream of this message.
  std::vector<TreeParent> parents;
};

// ---- agent to launcher
struct Hello {
  NodeFacts facts;
};
struct Listening {
  std::uint32_t probe_port = 0;
  std::uint32_t master_port = 0;       // free on every address, outside ip_local_port_range
  std::vector<std::string> addresses;  // non-loopback addresses of NICs that are up
};
struct Attempt {
  Endpoint endpoint;
  bool reached = false;
  std::string local_address;  // of this node, as the connection used it
  std::string local_interface;
  std::string problem;  // errno text when not reached
};
struct Reached {
  std::vector<Attempt> attempts;
};
struct Examined {
  std::vector<Fact> facts;
};
struct CoresSeen {                // to a job that waits: what it must leave to others now
  std::uint64_t arrival_ms = 0;   // of the job, as in TakeTicket, or by this node's clock
  std::vector<CoreClaim> claims;  // as in NodeFacts; of those that wait only the ones before it
  std::string problem;            // why this node cannot keep tickets; empty: it can
  std::uint64_t starts_s = 0;     // the job could start here then at the earliest; 0: any moment
};
struct CoresClaimed {
  bool taken = false;             // another job has some of them, so nothing is claimed now
  std::vector<CoreClaim> claims;  // if taken: of other jobs now, as in NodeFacts
  std::string problem;            // why this node cannot keep claims, in words; empty: it can
};
struct Started {
  std::uint32_t rank = 0;
  std::uint32_t pid = 0;
};
struct SpawnFailed {
  std::uint32_t rank = 0;
  std::string stage;  // "chdir", "setaffinity", "exec", ...
  std::uint32_t error_number = 0;
  std::string reason;  // the fault of the program's file; empty: only error_number is known
};
struct PieceWanted {  // of a SharedFrame: it has not come
  std::string digest;
};
enum class Stream : std::uint8_t { kStdout = 1, kStderr = 2 };
struct Output {
  std::uint32_t rank = 0;
  Stream stream = Stream::kStdout;
  std::string bytes;  // at most kMaxOutputBytes; not cut at line ends
};
struct Exited {
  std::uint32_t rank = 0;
  std::uint32_t code = 0;  // when signal is 0
  std::uint32_t signal = 0;
  std::uint64_t max_rss_kib = 0;
  std::uint32_t left_behind = 0;  // processes of this rank that were still alive
};
struct Skipped {  // replaces Output that had no credit
  std::uint32_t rank = 0;
  Stream stream = Stream::kStdout;
  std::uint64_t bytes = 0;
  std::string file;  // the log that has these bytes; empty: none
};
struct Evidence {  // why a rank may have failed; sent before its Exited
  std::uint32_t rank = 0;
  std::uint32_t oom_kills = 0;     // by the kernel since the ranks started, out of memory
  std::uint64_t memory_limit = 0;  // of the control group, in bytes; 0: the node's memory
  std::string error_file;          // what the rank wrote to $TORCHELASTIC_ERROR_FILE
};
enum class StackAnswer : std::uint8_t {
  kTold = 1,    // text: what the rank wrote about itself
  kSilent = 2,  // it reports stacks but did not answer; text: "stopped", or empty
  kCannot = 3,  // it does not report stacks; text: the name of its program
};
struct Stack {  // a rank's answer to the question for its stack
  std::uint32_t rank = 0;
  StackAnswer answer = StackAnswer::kCannot;
  std::string text;  // the last kMaxStackBytes at most
};
struct NativeStack {  // the rank's machine code stack, after its Stack
  std::uint32_t rank = 0;
  bool told = false;
  std::string text;  // the debugger's output, or why there is none; at most kMaxStackBytes
};
enum class Activity : std::uint8_t {
  kComputes = 1,
  kSleeps = 2,
  kStopped = 3,  // by a signal or a debugger
  kWaitsForDisk = 4,
  kSwaps = 5,
};
struct CommState {  // of one of a rank's libdtring communicators: base/pages/state_page.h
  std::uint64_t id = 0;
  std::uint32_t rank = 0, world = 0;   // in it
  std::uint64_t begun = 0;             // number of the last collective entered, from 1; 0: none
  std::uint32_t opcode = 0;            // of that collective
  std::uint64_t completed = 0;         // all collectives up to this number are complete
  std::uint64_t bytes = 0;             // sent and received
  std::uint32_t looks = 0, waits = 0;  // since the last report: samples; samples with one running
};
struct WireState {  // a rank's TCP traffic to one address since the last report
  std::string peer;
  std::uint64_t bytes = 0, busy_us = 0;  // busy: data was in flight and the peer had room
};
struct RankUsage {           // sums over a rank's processes
  std::uint64_t cpu_ms = 0;  // of those that have not ended
  std::uint64_t memory_kib = 0, threads = 0;
};
struct RankReport {
  std::uint32_t rank = 0;
  std::uint32_t pid = 0;  // the observed process of the rank
  Activity activity = Activity::kSleeps;
  std::vector<CommState> comms;       // in the order of creation
  std::vector<WireState> wires = {};  // loopback left out
  RankUsage usage = {};
  TrainingProgress progress = {};  // step 0 of 0: it tells none
};
struct RankStates {  // of running ranks
  std::vector<RankReport> ranks;
};
struct Notice {  // a line for the user
  std::string text;
};
struct Finished {
  std::uint32_t killed = 0;      // processes that had to be killed at the end
  std::uint32_t unkillable = 0;  // still there after kReapDeadline
};
struct StdinTaken {  // the rank's pipe accepted this much of Stdin; the first kFirstStdin bytes
                     // count once the rank has read them. At most kStdinWindow bytes may be in
                     // flight.
  std::uint32_t rank = 0;
  std::uint32_t bytes = 0;
};
struct StdinClosed {  // the rank has ended or closed its standard input; later Stdin is dropped
  std::uint32_t rank = 0;
  std::uint64_t read = 0;  // bytes of all Stdin that it has read
};
enum class ResumeAnswer : std::uint8_t {
  kResumed = 1,  // the frames that the launcher lacks follow
  kGone = 2,     // no such agent runs on this node
  kRefused = 3,  // wrong token, or an outdated attempt
};
struct Resumed {  // the answer to Resume
  ResumeAnswer answer = ResumeAnswer::kGone;
  std::uint32_t attempt = 0;
  std::uint64_t received = 0;  // kResumed: how many of the launcher's frames have arrived
};
struct Leaving {              // the node will be taken away
  std::string told_by;        // the source: "aws: terminate"
  std::uint32_t left_ms = 0;  // time until then
};
struct TreeJoined {
  std::uint32_t port = 0;  // where it listens; 0: it does not
  std::string problem;     // why it cannot listen; empty: it can, or was not told to
};
struct Trouble {  // the agent failed and ends its ranks: guard lost, no descriptors left, ...
  std::string text;
};

// ---- both
struct Heartbeat {
  std::uint64_t monotonic_ms = 0;
};
struct Relayed {      // between dtlaunch and an agent without parents
  std::string bytes;  // whole parcels (wire/tree/parcel.h), at most kMaxRelayedBytes
};
struct Received {  // after Reconnect: this many frames have arrived and need not be kept
  std::uint64_t frames = 0;
};

using Message =
    std::variant<Welcome, Hello, Listen, Listening, Reach, Reached, StopListening, Start, Started,
                 SpawnFailed, Stdin, Output, Exited, Stop, Kill, Finish, Finished, Trouble,
                 Heartbeat, StdinTaken, Examine, Examined, OutputRules, Credit, Skipped, Signal,
                 Notice, Evidence, Environment, Stack, WatchRanks, RankStates, NativeStack,
                 Reconnect, Resume, Resumed, Received, WatchNotices, Leaving, StdinClosed, ServePmi,
                 PmiFence, PmiFenced, MpiNews, ServePmix, PmixReady, PmixFence, PmixFenced,
                 PmixWanted, PmixGiven, ClaimCores, CoresClaimed, TakeTicket, CoresSeen, JoinTree,
                 TreeJoined, Relayed, SharedFrame, PieceWanted, PieceGiven>;

// Who sends which. Each side visits all messages, so a forgotten message does not compile.
template <class M>
concept LaunchersMessage =
    OneOf<M, Welcome, Listen, Reach, StopListening, Start, Stdin, Stop, Kill, Finish, Examine,
          OutputRules, Credit, Signal, Environment, WatchRanks, Reconnect, Resume, WatchNotices,
          ServePmi, PmiFenced, ServePmix, PmixFenced, ClaimCores, TakeTicket, JoinTree, SharedFrame,
          PieceGiven>;
template <class M>
concept AgentsMessage =
    OneOf<M, Hello, Listening, Reached, Started, SpawnFailed, Output, Exited, Finished, Trouble,
          StdinTaken, Examined, Skipped, Notice, Evidence, Stack, RankStates, NativeStack, Resumed,
          Leaving, StdinClosed, PmiFence, MpiNews, PmixReady, PmixFence, CoresClaimed, CoresSeen,
          TreeJoined, PieceWanted>;

}  // namespace dtl
