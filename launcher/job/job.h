#pragma once
// Job: the life of one job as a pure state machine. It has no clock, no socket and no process:
// events and the time go in, effects come out. session.cc is the shell that makes them real, and
// tests/sim is another.
//
// The first failure decides the outcome; everything after it is stopping. If another failure may
// have caused it, the job waits for that one a moment while the ranks still run. Every state that
// waits for somebody else has a deadline, so that a job ends in bounded time whatever the nodes do.

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/job_time.h"
#include "base/limits.h"
#include "launcher/job/job_outcome.h"
#include "launcher/job/link_search.h"
#include "launcher/job/rank_watch.h"
#include "launcher/job/slow_hosts.h"
#include "launcher/job/slow_links.h"
#include "plan/request/request.h"
#include "wire/messages.h"

namespace dtl {

// The order matters: from kStopping on the job is ending.
enum class JobState {
  kStarting,   // agents are coming up
  kWaiting,    // in line for cores that other jobs have
  kPreflight,  // the connect matrix: which node reaches which, at which address
  kPlanning,   // the plan is being made (and, in a dry run, printed)
  kClaiming,   // the nodes claim the plan's cores for the job
  kRunning,
  kStopping,   // ranks were told to end
  kFinishing,  // agents were told to end
  kDone,
};

const char* state_name(JobState state);

// ---- events
namespace job {

struct AgentReady {  // its Hello has arrived
  int node = 0;
  bool can_be_found_again = false;  // once its connection is lost
  bool here = false;                // on this machine, so dtlaunch can check whether it runs
  // In a tree of agents: how long a new branch may take to come by itself, once a connection is
  // lost. Absent: not in a tree.
  std::optional<JobTime> branch_delay = {};
};
struct AgentFailed {  // it did not come up
  int node = 0;
  Exit status = Exit::kUnreachable;
};
struct AgentLost {  // it was ready, and its stream ended or broke
  int node = 0;
  Cause cause = Cause::kAgentFailed;  // or kNodeLost
  int exit_status = 71;
  std::string text;
  bool may_live = false;  // only its stream is known to be lost
};
struct AgentSeen {  // after LookAtAgent
  int node = 0;
  pid_t process = 0;  // 0: there is none, or it is not known
  bool stopped = false;
};
struct LinkTried {  // after Rejoin: its answer, or none and why
  int node = 0;
  std::uint32_t attempt = 0;
  std::optional<ResumeAnswer> answer;
  std::string text;
};
struct BranchTaken {  // the conversation goes on over a branch of the tree
  int node = 0;
};
struct Alive {  // these nodes were heard of by other agents of the tree
  std::vector<int> nodes;
};
struct FromAgent {  // any message after Hello
  int node = 0;
  Message message;
  LastWords words = LastWords::kOwn;  // Exited: what that rank has said
};
struct Placed {  // which nodes have ranks, in order of rank, and how many ranks each
  std::vector<int> nodes;
  std::vector<std::vector<int>> ranks;   // ranks of nodes[k]
  std::optional<Examine> question = {};  // to each of the nodes, before the plan
  // For each node, the number under which its machine answers probes. Tasks on one machine are
  // nodes with the same number. Empty: k.
  std::vector<std::uint32_t> machines = {};
  JobTime patience{0};  // for the answer, in addition to the usual time
};
struct Judged {        // the answers to a round of probes
  bool again = false;  // they prove no network, and another round might
};
struct Planned {};
struct MustWait {                   // no placement or no plan, since too few cores are free
  std::vector<TakeTicket> tickets;  // of each node, without the arrival
  std::string why;                  // who has the cores
  std::string refusal;              // once the job has waited for too long
  bool needs_all = false;           // it cannot start without any of the nodes in whose line it is
};
struct Refused {  // no placement, no network or no plan; or a dry run is over
  Cause cause = Cause::kCannotStart;
  int exit_status = 78;
};
struct Signalled {  // to dtlaunch: SIGINT, SIGTERM and SIGHUP end the job, SIGTSTP stops it for a
                    // while, SIGUSR1 and SIGUSR2 go to the ranks, or are a notice (Ending)
  int signal = 2;
};
struct Continued {};  // after StopSelf, by SIGCONT
struct ToldToGo {     // a host, while the others stay; or the whole job
  int node = -1;
  std::string told_by;
  std::optional<JobTime> left = {};  // until then; absent: unknown
};
struct HostsChanged {};  // hosts must join or leave: the ranks end now, and start again
struct OutputClosed {};
struct Tick {};  // time has passed; see next_wakeup

using Event = std::variant<AgentReady, AgentFailed, AgentLost, AgentSeen, LinkTried, BranchTaken,
                           Alive, FromAgent, Placed, Judged, Planned, MustWait, Refused, Signalled,
                           Continued, ToldToGo, HostsChanged, OutputClosed, Tick>;

// ---- effects, to be performed in order
struct Send {
  int node = 0;
  Message message;
};
struct SendToMany {  // the same message: in a tree of agents its bytes leave once for many nodes
  std::vector<int> nodes;
  Message message;
};
struct PlaceRanks {};  // answer with Placed, MustWait or Refused
struct Probe {         // one Reach to each used node
  int round = 1;       // 2: whatever may lead anywhere, with all patience
};
struct JudgeNetwork {};  // all used nodes have said Reached: answer with Judged
struct MakePlan {};      // answer with Planned, MustWait or Refused
struct ClaimNodes {};    // one ClaimCores to each node of the plan
struct StartRanks {};    // one Start to each of them
struct StopSelf {};  // SIGSTOP to dtlaunch, once everything sent has left; answer with Continued
struct CloseNode {   // its stream is no longer needed
  int node = 0;
};
struct DetachNode {  // the same, but another stream may follow, and messages wait for it
  int node = 0;
};
struct LookAtAgent {  // that is on this machine; answer with AgentSeen
  int node = 0;
};
struct KillAgent {  // a stopped one
  pid_t process = 0;
};
struct Rejoin {  // look for its agent; answer with LinkTried
  int node = 0;
  std::uint32_t attempt = 0;
  JobTime until{0};  // no later
};
struct Notice {  // one line for the user
  int node = -1;
  std::string text;
};

using Effect = std::variant<Send, SendToMany, PlaceRanks, Probe, JudgeNetwork, MakePlan, ClaimNodes,
                            StartRanks, StopSelf, CloseNode, DetachNode, LookAtAgent, KillAgent,
                            Rejoin, Notice>;

}  // namespace job

// In order, but kGone may follow each of the others.
enum class NodePhase {
  kStarting,
  kReady,
  kEnding,    // Finish was sent
  kFinished,  // it said that nothing is left
  kGone,      // did not come up, lost, or closed by us
};

// One host of the request, and what is known about its agent.
struct NodeState {
  NodePhase phase = NodePhase::kStarting;
  JobTime last_heard{0};
  std::optional<JobTime> up, finished;  // its Hello came; it said that nothing is left
  std::optional<JobTime> given_up;      // no messages are sent to it since then
  LinkSearch link;                      // when its connection is lost
  bool in_tree = false;                 // other agents may pass on what it says
  JobTime suspect_after{kSuspect};      // of silence
  bool here = false;                    // on this machine
  bool suspected = false;               // the "slow" notice was given
  bool looked_at = false;               // the one about its process was
  std::optional<Exit> start_failure;    // why it is not there
  bool agent_failed = false;            // its agent died, or had to be given up
  bool told_to_go = false;              // it will soon be gone
  std::optional<JobTime> goes;          // then
  bool has_ranks = false;
  std::optional<Listening> listening;
  std::optional<Reached> reached;
  std::optional<Examined> examined;
};

// kSpawnFailed: its program could not be started. kLost: its fate is unknown.
enum class RankPhase { kWaiting, kStarted, kExited, kSpawnFailed, kLost };

// The last three are final.
struct RankState {
  RankPhase phase = RankPhase::kWaiting;
  int node = 0;
  std::uint32_t pid = 0;
  int code = 0;
  int signal = 0;
  std::uint64_t max_rss_kib = 0;
  JobTime started{0}, ended{0};
  bool after_stop = false;   // it ended after the ranks had been told to end
  bool consequence = false;  // it failed because another rank had
  bool silent = false;       // it failed, and nothing says why
  // Arrives before the rank's Exited.
  Evidence evidence;
  std::optional<Stack> stack;  // what it did when it was asked
  std::optional<NativeStack> native;
};

// What the user and the scheduler have decided about the end of the job.
struct JobOptions {
  Ending ending = {};        // the request's
  PortRange ports = {};      // the request's
  bool one_sigterm = false;  // a scheduler sends it to each node: any further one is the same
  std::optional<JobTime> wait_limit = {};  // the request's
  std::uint64_t arrival_ms = 0;            // in the line, of an earlier epoch; 0: it has not waited
  JobTime start_deadline =
      kSshDeadline + kHelloDeadline + kAnswerMargin;  // all agents are up, or fail
};

// A barrier of PMI that some nodes are in: what their ranks have put, cut into messages.
struct PmiBarrier {
  std::set<int> arrived;  // nodes
  std::vector<PmiFenced> parts;
  std::size_t last_bytes = 0, bytes = 0;  // of the last part; of all
};

// A fence of PMIx that some nodes are in.
struct PmixJoin {
  std::size_t nodes = 0;            // that have one of its ranks
  std::map<int, std::string> data;  // of each node that has sent some; never mixed
  std::set<int> arrived;            // nodes that have sent all of theirs
};

struct Mpi {
  PmiBarrier barrier;
  std::map<std::vector<std::uint32_t>, PmixJoin> fences;  // by their ranks; empty: all of the job
  std::size_t fence_bytes = 0;                            // of all fences
  std::optional<Outcome> left;  // the first rank that exited without MPI_Finalize
  JobTime left_by{0};           // then the job ends, unless all ranks have ended
  std::size_t leavers = 0;      // ranks that exited between MPI_Init and MPI_Finalize
};

// The job's place in the lines of its nodes. It has tickets only in kWaiting.
struct Waiting {
  std::vector<TakeTicket> tickets;  // of each node; empty: it has never waited
  std::uint64_t arrival_ms = 0;     // as the first of them said; 0: not known yet
  std::set<int> asked, answered;    // nodes that were told to take a ticket, and have said so
  bool needs_all = false;           // as MustWait says
  std::map<int, JobTime> starts;    // when each node could serve it at the earliest
  std::map<int, JobTime> blocked;   // until when others block it, as its tickets say; 0: never
  std::string refusal;
  JobTime began{0}, total{0};  // of this time in line; of earlier ones
  bool told = false;           // the user knows of a node that cannot keep tickets
};

// Cores that are being claimed. If another job was faster on any node, there is another plan.
struct Claiming {
  std::set<int> answered;  // nodes, in this round
  bool taken = false;      // by another job, on one of these
  int rounds = 0;
  bool told = false;  // the user knows of a node that cannot keep claims
};

// How many nodes, or ranks, from the first one on are known to have got that far. They stay so, and
// a question about all of them looks only at the rest (all_done() in turn.h).
struct Progress {
  std::size_t started = 0, listening = 0, reached = 0, away = 0;  // nodes
  std::size_t ended = 0;                                          // ranks
};

// The whole state of a job, as a plain value. It becomes part of the session's result.
struct Job {
  JobState state = JobState::kStarting;
  JobOptions options;
  std::vector<NodeState> nodes;
  std::vector<int> used;  // nodes with ranks, in order of rank
  // By an address of theirs; -1: several have it, as every host has that of its container bridge.
  std::unordered_map<std::string, int> node_at;
  Progress progress;
  bool asked = false;  // the used nodes have been asked a question
  int probe_round = 0;
  Waiting waiting;
  Claiming claiming;
  std::vector<RankState> ranks;
  std::optional<Outcome> outcome;
  // The job's outcome unless its real cause becomes known until `blame_until`: a rank's failure
  // that another rank's failure has caused, or may have.
  std::optional<Outcome> suspect;
  JobTime blame_until{0};
  std::optional<JobTime> deadline;  // of the current state
  JobTime next_heartbeat{0};
  JobTime next_silence{0};           // no node can have been silent for too long before this
  std::optional<JobTime> next_link;  // when a search for a lost agent goes on
  JobTime last_step{0};
  JobTime stop_began{0};
  std::optional<JobTime> goes;       // when the first host must go
  std::optional<JobTime> early_end;  // when to report ranks that ended while others run
  std::optional<JobTime> patience;   // when to report ranks that a stop waits for
  bool kill_sent = false;
  bool outlived_leases = false;  // dtlaunch was stopped for longer than agents wait for it
  // dtlaunch was absent for this long, up to `absence_ended`. Agents on its own machine can see
  // whether it runs, and may have waited for it.
  std::optional<JobTime> long_absence;
  JobTime absence_ended{0};
  Mpi mpi;
  RankWatch watch;
  SlowHosts slow_hosts;
  SlowLinks slow_links;
  std::optional<HangFinding> hang;  // that ended the job
  std::vector<int> leavers;         // left processes behind, not reported yet
  std::uint32_t left_processes = 0;
};

// nodes: how many hosts; they are numbered from 0 in the order of the request. Times begin at 0.
Job make_job(std::size_t nodes, JobOptions options);

// Takes one event. `now` never goes back. The effects must be performed in order; answers to them
// come as further events. After kDone it does nothing.
std::vector<job::Effect> step(Job& job, const job::Event& event, JobTime now);

// Call step() with Tick at this time at the latest. Earlier calls do no harm.
JobTime next_wakeup(const Job& job);

}  // namespace dtl
