#pragma once
// Outcome: why a job ended, as a value, and the failure card for the user. The first cause decides;
// its effect on other ranks is one line. The restart logic reads the outcome too. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/job/hang.h"
#include "plan/request/host.h"

namespace dtl {

enum class Cause {
  kCompleted,     // every rank exited 0
  kDryRun,        // the plan was printed, nothing was started
  kCannotStart,   // agents did not start, or the plan failed
  kSpawn,         // a rank's program could not be executed
  kRankExit,      // a rank exited with a status other than 0
  kRankSignal,    // a rank was killed by a signal
  kNodeLost,      // a node fell silent or its connection broke
  kAgentFailed,   // an agent died or gave up
  kTimeout,       // --timeout
  kHang,          // --hang-timeout
  kInterrupted,   // SIGINT, SIGTERM or SIGHUP to dtlaunch
  kOutputClosed,  // nobody reads dtlaunch's standard output any more
  kStoppedSelf,   // dtlaunch itself was stopped for longer than agents live without it
  kHostsChanged,  // hosts must join or leave: the ranks stop, to go on with others
  kNotice,        // a host must go (node), or the job's time is nearly over: announced
  kMpiAbort,      // a rank called MPI_Abort
  kMpiLeft,       // a rank exited with status 0, and others wait for it in MPI
  kMpiBroken,     // a rank broke the rules of PMI
  kMpiAlone,      // a rank runs Open MPI without PMIx, so it is alone in its world
  kUpEnded,       // the process of `dtlaunch up`, through which the nodes were reached, has ended
};

// Outcome::code of kMpiLeft beside those of MpiNews: the other ranks called MPI_Finalize and ended.
constexpr int kLeftAlone = 2;

struct Outcome {
  Cause cause = Cause::kCompleted;
  int exit_status = 0;   // of dtlaunch
  int rank = -1;         // whose failure it is; -1: no rank's
  int node = -1;         // index of the host; -1: no node's
  int signal = 0;        // kRankSignal: the rank's; kInterrupted: ours
  int error_number = 0;  // kSpawn
  int code = 0;          // kMpiAbort, kMpiLeft: MpiNews::code, or kLeftAlone
  std::string stage;     // kSpawn: "exec", "chdir", ...
  std::string text;      // kNodeLost, kAgentFailed, kHang, kMpi...: details; kNotice: its source
};

// One word for reports: "completed", "rank-exit", ... Scripts read these words: keep them.
const char* cause_name(Cause cause);

// dtlaunch's exit status for a rank that could not be started: like a shell, 127 if the program
// does not exist and 126 if it cannot be run; another one if the program is not the cause.
int spawn_status(const std::string& stage, int error_number);

// What the card needs beside the outcome. The caller collects it; empty members are left out.
struct CardFacts {
  std::string host;  // of the failing rank or node
  Host reached;      // how to reach that host, for hints; its name may be missing
  std::uint32_t pid = 0;
  std::string program;       // argv[0] as typed
  std::string near_program;  // kSpawn: one of nearly that name on the PATH here; empty: none
  std::string working_directory;
  std::vector<std::string> last_lines;  // of the rank's standard error, oldest first
  bool lines_shown = false;             // they are on the screen above the card
  std::vector<int> stopped;             // other ranks that were ended because of this one
  std::vector<int> failed_too;          // other ranks that failed by themselves later
  std::vector<int> disconnected;        // ... because they had lost their connection to this one
  std::vector<int> silent;              // other ranks that failed first, without a message
  bool itself_disconnected = false;     // its own last words are the same: the cause is unknown
  std::vector<std::string> traceback;   // of torch's @record; replaces last_lines
  std::uint32_t oom_kills = 0;          // by the kernel on its node
  std::uint64_t peak_bytes = 0, memory_limit = 0;  // of the rank; of its group, 0: unknown
  std::vector<int> lost;                           // ranks on lost nodes
  double seconds = 0;                              // since the job began
  std::vector<RankNow> asked;                      // kTimeout, kHang: what the ranks did
  std::optional<HangFinding> hang;                 // kHang: why
};

// Whose failure the standard error of an ended rank describes.
enum class LastWords {
  kOwn,
  kNone,
  kOfAnother,  // it lost its connection to another rank, or was told of that rank's failure
};

// Knows "Connection reset by peer" and what communication libraries make of it. last_lines: the
// oldest first.
LastWords judge_last_words(const std::vector<std::string>& last_lines);

// The text between dtlaunch's own lines, without a trailing newline. Empty if there is nothing to
// report (the job completed). Lines after the first are wrapped at `columns` (at least 40; 0: not
// wrapped). Commands are never wrapped, because users copy them.
std::string failure_card(const Outcome& outcome, const CardFacts& facts, int columns);

}  // namespace dtl
