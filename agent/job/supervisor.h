#pragma once
// The agent's logic: what happens to the ranks of this node, from Start to Finished. Pure: events
// and the time go in, effects come out; no clock, socket or process in here. session.cc is the
// shell that feeds it and performs its effects.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "agent/guard/guard_protocol.h"
#include "base/error.h"
#include "wire/messages.h"

namespace dtl {

// Of CLOCK_BOOTTIME, which includes suspended time: leases expire then too.
using BootTime = std::chrono::milliseconds;

enum class AgentState {
  kServing,   // starts ranks when told to
  kAsking,    // asks ranks for their stacks, before signalling them
  kStopping,  // ranks have been signalled; the grace runs
  kKilling,   // the guard kills whatever is left
  kClean,     // nothing is left; waits for Finish
  kGone,      // exits
};

// ---- Events: the launcher's Start, Stop, Kill, Signal, Finish, Reconnect and WatchRanks, the
// guard's reports, and these.
struct LauncherHeard {};  // any frame
struct LauncherGone {};   // end of input, or garbage; it cannot come back
struct Terminated {       // a signal to the agent itself
  int signal = 0;
};
struct GuardGone {};
struct KeeperGone {
  pid_t process = 0;
};
struct GuardSilent {  // it exists and does not answer
  pid_t process = 0;
  bool stopped = false;  // by a signal or a debugger
};
struct PmixGone {  // dtpmix failed, without which MPI programs cannot go on
  std::string why;
};
struct OutputEnded {  // both pipes of a rank are closed
  std::uint32_t rank = 0;
};
struct RanksAnswered {};  // AskRanks is done, or timed out
struct TimePassed {};     // due() has passed
using Event = std::variant<Start, Stop, Kill, Signal, Finish, Reconnect, WatchRanks, LauncherHeard,
                           LauncherGone, Terminated, GuardReport, GuardGone, GuardSilent,
                           KeeperGone, PmixGone, OutputEnded, RanksAnswered, TimePassed>;

// ---- Effects, performed in order before the next event.
struct SpawnRank {
  std::string secret;
  RankSpec spec;
};
struct AskRanks {  // Stack of each running rank, NativeStack within native_ms, then RanksAnswered
  // Timeouts for the ranks, and for debuggers after that; 0: no debuggers.
  std::uint32_t patience_ms = 0, native_ms = 0;
};
struct ReportRanks {            // RankStates from now on
  std::uint32_t period_ms = 0;  // 0: no more
};
struct SignalRanks {
  int signal = 0;    // 0: none
  BootTime grace{};  // then they are killed
};
struct PassSignal {  // without SIGCONT, unlike SignalRanks
  int signal = 0;
};
struct KillByGuard {};
struct KillByOwnHand {};  // the guard is dead; its ranks' processes are ours now
struct SendMessage {
  Message message;
};
struct ExitAgent {
  Exit status = Exit::kOk;
};
using Effect = std::variant<SpawnRank, AskRanks, ReportRanks, SignalRanks, PassSignal, KillByGuard,
                            KillByOwnHand, SendMessage, ExitAgent>;

// A rank, from its Start until Exited is sent.
struct WatchedRank {
  bool started = false;  // as the guard reports
  bool output_ended = false;
  std::optional<Exited> exited;  // known, but not sent before its output
  BootTime tell_by{};            // sent then even if a pipe is still open
};

// All state that decides about the ranks. Plain values: tests set and read them.
struct Supervisor {
  AgentState state = AgentState::kServing;
  BootTime heard{};                            // time of the launcher's last frame
  BootTime patience{};                         // allowed silence of the launcher, beyond the lease
  bool paused = false;                         // the launcher is stopped, and so are the ranks
  std::map<std::uint32_t, WatchedRank> ranks;  // whose end has not been reported
  bool stopped = false;                        // a Stop, Kill or similar came: start no more ranks
  std::uint32_t native_ms = 0;                 // from the latest WatchRanks
  Stop after_asking;                           // in kAsking
  BootTime asking_ends{};                      // ... then stop, answered or not
  BootTime grace_ends{};                       // in kStopping
  bool finish_wanted = false;                  // Finish came: answer Finished
  std::optional<Exit> leave;                   // exit with this status once clean
  Finished finished;
  BootTime finish_by{};  // in kClean: answer Finished then, even if a pipe is still open
};

// Handles one event. Changes only the supervisor and never throws; does nothing in kGone.
std::vector<Effect> step(Supervisor& supervisor, const Event& event, BootTime now);

// Whether the launcher was silent for longer than its lease. False once the agent leaves: it then
// waits for nobody.
bool is_launcher_silent(const Supervisor& supervisor, BootTime now);

// How long the guard may be silent. Starting and ending many ranks keeps it busy.
BootTime guard_patience(const Supervisor& supervisor);

// The latest time for TimePassed. max(): nothing to wait for.
BootTime due(const Supervisor& supervisor);

}  // namespace dtl
