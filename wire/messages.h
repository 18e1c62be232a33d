#pragma once
// The messages of the launcher-agent conversation, as plain structs. PROTOCOL.md says when each is
// sent and what its bytes are. A changed message changes PROTOCOL.md, a test vector and kProtocol.
//
// Order of a job, launcher (L) and agent (A):
//   A: marker line (greeting.h)      L: Welcome            A: Hello
//   L: Listen                        A: Listening
//   L: Reach                         A: Reached, perhaps twice
//   L: StopListening
//   L: OutputRules, Environment*, Start
//   A: Started or SpawnFailed of each rank, Output*, Exited of each rank
//   L: Credit as output is shown     A: Skipped where it was not
//   L: Stop (grace) or Kill, any time
//   L: Signal, any time              A: Notice, any time
//   A: Evidence before the Exited it explains
//   A: Stack of each rank after a Stop that asks for it, before its signal is sent
//   A: NativeStack after that
//   A: RankStates from time to time after WatchRanks
//   A: Leaving after WatchNotices, once the node must go
//   L: Finish                        A: Finished (nothing is left); the agent exits 0
//   both: Heartbeat each second; any frame counts as life
// With --reconnect: L: Reconnect after Hello; both: Received; on another stream L: Resume -> A:
// Resumed, and the conversation goes on (link_end.h). A Stop before Start is legal. After Stop or
// Kill the agent refuses Start.

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/overloaded.h"
#include "plan/pinning/topology.h"
#include "plan/request/cloud.h"

namespace dtl {

constexpr std::uint32_t kProtocol = 10;
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
  std::uint32_t node = 0;  // this node's number in the job: who answers a probe says it
  std::uint32_t lowest_port = 0, highest_port = 0;  // both within these; 0: any
};
struct Endpoint {
  std::string address;
  std::uint32_t port = 0;
  std::uint32_t node = 0;  // who must answer there
};
struct Reach {  // try to connect to each of these, all at once, each within kConnectDeadline
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
struct Examine {  // tell me about yourself: "what"="clock" (at once) or "all", and how to look
  std::vector<Fact> parameters;
};
struct AddedVariable {
  std::uint32_t after = 0;  // behind this many variables of the environment that it is added to
  std::string variable;     // "NAME=value"
};
struct Environment {       // numbered from 1 in the order in which they are sent
  std::uint32_t base = 0;  // number of the one that these are added to; 0: of an empty one
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
  std::vector<std::uint32_t> memory_nodes;  // what the kernel calls them; empty with kDefault
};
struct Start {         // may come several times: split_start() in frame.h keeps each within a frame
  std::string secret;  // 32 bytes, handed to ranks on descriptor kSecretFd, never logged
  std::vector<RankSpec> ranks;
};
struct Stdin {
  std::uint32_t rank = 0;
  std::string bytes;
  bool end = false;
};
struct Stop {  // SIGNAL, if not 0 (and SIGCONT) to every rank's group, SIGKILL to all that is left
               // after the grace
  std::uint32_t signal = 15;
  std::uint32_t grace_ms = 5000;
  std::uint32_t ask_ms = 0;  // before that, ask the ranks what they do, for at most this long
};
struct Kill {};  // SIGKILL now
struct Signal {  // to every rank's group, and nothing more; SIGSTOP also suspends the lease
  std::uint32_t signal = 10;
};
constexpr std::uint32_t kHoldForever = UINT32_MAX;
struct OutputRules {          // for all ranks of the node; without it nothing is held back
  std::uint32_t window = 0;   // Output bytes of one rank on their way and not yet credited
  std::uint32_t hold_ms = 0;  // out of credit, a rank's pipes are not read for this long; then what
                              // it writes is skipped until half the window is back
  std::string log_directory;  // absolute: keep everything in DIR/JOB/rank.N.out and .err; or empty
};
struct Credit {  // this much of the rank's Output has been shown
  std::uint32_t rank = 0;
  std::uint32_t bytes = 0;
};
struct WatchRanks {             // say what the ranks do
  std::uint32_t period_ms = 0;  // how often, in RankStates; 0: no more
  std::uint32_t native_ms = 0;  // when they are asked, also for NativeStack, for at most this long
};
struct WatchNotices {  // ask the metadata service of this cloud whether the node is to go
  Cloud cloud = Cloud::kAuto;
};
struct Finish {};  // end whatever is left, answer Finished, exit
constexpr std::size_t kLinkDigits = 16;
struct Reconnect {                // from here on the stream may be lost for a while
  std::string link;               // 16 random hex digits: under which this agent is found again
  std::string token;              // 32 random bytes: who knows it is this agent's launcher
  std::uint32_t patience_ms = 0;  // on top of the lease
};
struct Resume {  // first on another stream: an offer to go on
  std::string token;
  std::uint32_t attempt = 0;   // of this launcher, from 1 up
  std::uint64_t received = 0;  // how many of the agent's frames have come
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
  std::string local_address;  // of this node, as the connection had it
  std::string local_interface;
  std::string problem;  // errno text when not reached
};
struct Reached {
  std::vector<Attempt> attempts;
};
struct Examined {
  std::vector<Fact> facts;
};
struct Started {
  std::uint32_t rank = 0;
  std::uint32_t pid = 0;
};
struct SpawnFailed {
  std::uint32_t rank = 0;
  std::string stage;  // "chdir", "setaffinity", "exec", ...
  std::uint32_t error_number = 0;
  std::string reason;  // what is wrong with the program's file; empty: only error_number is known
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
struct Skipped {  // in the place of Output that there was no credit for
  std::uint32_t rank = 0;
  Stream stream = Stream::kStdout;
  std::uint64_t bytes = 0;
  std::string file;  // which has them; empty: none
};
struct Evidence {  // what the node knows about why a rank failed; before its Exited
  std::uint32_t rank = 0;
  std::uint32_t oom_kills = 0;     // by the kernel since the ranks started, for want of memory
  std::uint64_t memory_limit = 0;  // of the control group, in bytes; 0: the node's memory
  std::string error_file;          // what the rank wrote to $TORCHELASTIC_ERROR_FILE
};
enum class StackAnswer : std::uint8_t {
  kTold = 1,    // text: what the rank wrote about itself
  kSilent = 2,  // it can tell and has not; text: "stopped", or nothing
  kCannot = 3,  // it has never said that it can; text: the name of its program
};
struct Stack {  // what a rank was doing when it was asked
  std::uint32_t rank = 0;
  StackAnswer answer = StackAnswer::kCannot;
  std::string text;  // at most kMaxStackBytes, its end when there was more
};
struct NativeStack {  // what its machine code was doing, after a Stack
  std::uint32_t rank = 0;
  bool told = false;
  std::string text;  // a debugger's words, or why there are none; at most kMaxStackBytes
};
enum class Activity : std::uint8_t {
  kComputes = 1,
  kSleeps = 2,
  kStopped = 3,  // by a signal or a debugger
  kWaitsForDisk = 4,
  kSwaps = 5,
};
struct CommState {  // of a communicator of libdtring that a rank has: base/state_page.h
  std::uint64_t id = 0;
  std::uint32_t rank = 0, world = 0;   // in it
  std::uint64_t begun = 0;             // the latest collective that it entered, from 1 up; 0: none
  std::uint32_t opcode = 0;            // which that is
  std::uint64_t completed = 0;         // all up to this one are
  std::uint64_t bytes = 0;             // sent and received
  std::uint32_t looks = 0, waits = 0;  // since the last report; when one was under way
};
struct WireState {  // what a rank has sent to one address over TCP since the last report
  std::string peer;
  std::uint64_t bytes = 0, busy_us = 0;  // busy: they were on their way, and the peer had room
};
struct RankReport {
  std::uint32_t rank = 0;
  std::uint32_t pid = 0;  // the process of the rank that this is about
  Activity activity = Activity::kSleeps;
  std::vector<CommState> comms;       // in the order of their making
  std::vector<WireState> wires = {};  // loopback left out
};
struct RankStates {  // of ranks that run
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
                     // count once the rank has read them. At most kStdinWindow bytes may be on
                     // their way.
  std::uint32_t rank = 0;
  std::uint32_t bytes = 0;
};
struct StdinClosed {  // the rank has ended, or closed its standard input; what still comes is
                      // dropped
  std::uint32_t rank = 0;
  std::uint64_t read = 0;  // bytes of all Stdin that it has read
};
enum class ResumeAnswer : std::uint8_t {
  kResumed = 1,  // what the launcher has not received follows
  kGone = 2,     // no such agent runs on this node
  kRefused = 3,  // another token, or not the latest attempt
};
struct Resumed {  // the answer to Resume
  ResumeAnswer answer = ResumeAnswer::kGone;
  std::uint32_t attempt = 0;
  std::uint64_t received = 0;  // kResumed: how many of the launcher's frames have come
};
struct Leaving {              // the node is to go
  std::string told_by;        // who says so: "aws: terminate"
  std::uint32_t left_ms = 0;  // until then
};
struct Trouble {  // the agent failed and ends its ranks: guard lost, no descriptors left, ...
  std::string text;
};

// ---- both
struct Heartbeat {
  std::uint64_t monotonic_ms = 0;
};
struct Received {  // after Reconnect: these frames have come and need not be kept any more
  std::uint64_t frames = 0;
};

using Message =
    std::variant<Welcome, Hello, Listen, Listening, Reach, Reached, StopListening, Start, Started,
                 SpawnFailed, Stdin, Output, Exited, Stop, Kill, Finish, Finished, Trouble,
                 Heartbeat, StdinTaken, Examine, Examined, OutputRules, Credit, Skipped, Signal,
                 Notice, Evidence, Environment, Stack, WatchRanks, RankStates, NativeStack,
                 Reconnect, Resume, Resumed, Received, WatchNotices, Leaving, StdinClosed>;

// Who sends which. Each side visits all of them, so a message that it forgets does not compile.
template <class M>
concept LaunchersMessage =
    OneOf<M, Welcome, Listen, Reach, StopListening, Start, Stdin, Stop, Kill, Finish, Examine,
          OutputRules, Credit, Signal, Environment, WatchRanks, Reconnect, Resume, WatchNotices>;
template <class M>
concept AgentsMessage = OneOf<M, Hello, Listening, Reached, Started, SpawnFailed, Output, Exited,
                              Finished, Trouble, StdinTaken, Examined, Skipped, Notice, Evidence,
                              Stack, RankStates, NativeStack, Resumed, Leaving, StdinClosed>;

}  // namespace dtl
