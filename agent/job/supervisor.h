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

// Of CLOCK_BOOTTIME, which goes on while the machine is suspended: a lease runs out there, too.
using BootTime = std::chrono::milliseconds;

enum class AgentState {
  kServing,   // starts ranks when told to
  kAsking,    // ranks say what they do, before they are signalled
  kStopping,  // ranks have been signalled; the grace runs
  kKilling,   // the guard kills whatever is left
  kClean,     // nothing is left; waits for Finish
  kGone,      // exits
};

// ---- Events: the launcher's Start, Stop, Kill, Signal, Finish, Reconnect and WatchRanks, the
// guard's reports, and those that follow here.
struct LauncherHeard {};  // any frame
struct LauncherGone {};   // end of input, or garbage; it will not come back
struct Terminated {       // a signal to the agent itself
  int signal = 0;
};
struct GuardGone {};
struct KeeperGone {
  pid_t process = 0;
};
struct GuardSilent {  // it is there and does not answer
  pid_t process = 0;
  bool stopped = false;  // by a signal or a debugger
};
struct OutputEnded {  // both pipes of a rank are closed
  std::uint32_t rank = 0;
};
struct RanksAnswered {};  // after AskRanks; or the time for that is over
struct TimePassed {};     // due() has come
using Event = std::variant<Start, Stop, Kill, Signal, Finish, Reconnect, WatchRanks, LauncherHeard,
                           LauncherGone, Terminated, GuardReport, GuardGone, GuardSilent,
                           KeeperGone, OutputEnded, RanksAnswered, TimePassed>;

// ---- Effects, to be performed in order, before the next event.
struct SpawnRank {
  std::string secret;
  RankSpec spec;
};
struct AskRanks {  // Stack of each that runs, NativeStack in native_ms, then RanksAnswered
  // For the ranks to answer, and for debuggers after that; 0: no debuggers.
  std::uint32_t patience_ms = 0, native_ms = 0;
};
struct ReportRanks {            // RankStates from now on
  std::uint32_t period_ms = 0;  // 0: no more
};
struct SignalRanks {
  int signal = 0;    // 0: none
  BootTime grace{};  // after which they are killed
};
struct PassSignal {  // and nothing more; SignalRanks also lets stopped ranks go on
  int signal = 0;
};
struct KillByGuard {};
struct KillByOwnHand {};  // the guard is dead; its ranks are ours now
struct SendMessage {
  Message message;
};
struct ExitAgent {
  Exit status = Exit::kOk;
};
using Effect = std::variant<SpawnRank, AskRanks, ReportRanks, SignalRanks, PassSignal, KillByGuard,
                            KillByOwnHand, SendMessage, ExitAgent>;

// A rank is watched from its Start until its exit has been told.
struct WatchedRank {
  bool started = false;  // by the guard
  bool output_ended = false;
  std::optional<Exited> exited;  // known, but not told before its output
  BootTime tell_by{};            // told then even if a pipe is still open
};

// All that decides about the ranks. Plain values: a test sets them and looks at them.
struct Supervisor {
  AgentState state = AgentState::kServing;
  BootTime heard{};                            // the launcher's last frame
  BootTime patience{};                         // that it may be away for, beyond the lease
  bool paused = false;                         // the launcher is stopped, and so are the ranks
  std::map<std::uint32_t, WatchedRank> ranks;  // that have not been told as ended
  bool stopped = false;                        // a Stop, Kill or the like has come: no more ranks
  std::uint32_t native_ms = 0;                 // WatchRanks' latest
  Stop after_asking;                           // in kAsking
  BootTime asking_ends{};                      // ... and stops then, answered or not
  BootTime grace_ends{};                       // in kStopping
  bool finish_wanted = false;                  // answer Finished
  std::optional<Exit> leave;                   // exit with this once clean
  Finished finished;
  BootTime finish_by{};  // in kClean: answer Finished then even when a pipe stays open
};

// Takes one event. Changes the supervisor alone and never throws; nothing happens any more in
// kGone.
std::vector<Effect> step(Supervisor& supervisor, const Event& event, BootTime now);

// The launcher has been silent for longer than its lease. False once the agent leaves: nobody is
// waited for then.
bool is_launcher_silent(const Supervisor& supervisor, BootTime now);

// How long a guard may be silent. Starting ranks and seeing them end keeps it busy.
BootTime guard_patience(const Supervisor& supervisor);

// When TimePassed is due at the latest. max(): there is nothing to wait for.
BootTime due(const Supervisor& supervisor);

}  // namespace dtl
