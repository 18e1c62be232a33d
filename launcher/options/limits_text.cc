// Each line explains a limit to users: the comments of base/limits.h are for developers, and a
// program cannot list constants.
#include "launcher/options/limits_text.h"

#include <fmt/format.h>

#include <string_view>

#include "base/limits.h"
#include "plan/request/tree_width.h"

namespace dtl {
namespace {

LimitFact wait(std::string_view name, std::chrono::milliseconds value, std::string_view meaning) {
  return {name, static_cast<double>(value.count()) / 1000, 0, meaning};
}

LimitFact bound(std::string_view name, std::size_t value, std::string_view meaning) {
  return {name, std::nullopt, value, meaning};
}

std::vector<LimitFact> start_waits() {
  return {
      wait("resolve", kResolveDeadline, "to find the addresses of a host name"),
      wait("connect", kConnectDeadline, "to open a TCP connection to a host; all hosts at once"),
      wait("settle", kProbeSettle, "to wait for a better address once one of a host has answered"),
      wait("examine", kExamineDeadline, "for an agent to answer dtlaunch doctor"),
      wait("ssh", kSshDeadline, "from the TCP connection to a running agent"),
      wait("late-hosts", kHostsPatience, "to wait for the pods of an MPIJob; --start-timeout"),
      wait("late-pause", kFirstHostPause,
           "before the second try to reach a late pod; doubled each time"),
      wait("longest-late-pause", kLongestHostPause, "longest pause between two such tries"),
      wait("late-line", kLateHostLine, "between two lines that name late pods"),
      wait("push-stall", kPushStall, "without progress before --push gives a host up"),
      wait("push", kPushDeadline, "for --push to reach all hosts"),
      wait("hello", kHelloDeadline, "for the first message of an agent")};
}

std::vector<LimitFact> job_waits() {
  return {
      wait("heartbeat", kHeartbeat, "between two signs of life of an agent, and of dtlaunch"),
      wait("suspect", kSuspect, "without a sign of life before a notice names the host"),
      wait("dead", kDead, "without a sign of life before a host counts as lost"),
      wait("lease", kLease, "before an agent without its dtlaunch ends its ranks"),
      wait("guard-lease", kGuardLease,
           "before a guard (the process that starts ranks) without its agent ends them"),
      wait("guard-silence", kGuardSilence, "before an agent ends a guard that does not answer"),
      wait("grace", kKillGrace, "between SIGTERM and SIGKILL; --grace"),
      wait("interrupt-grace", kInterruptGrace, "between SIGTERM and SIGKILL after ^C; --grace"),
      wait("reap", kReapDeadline, "after SIGKILL before a process is reported as unkillable"),
      wait("drain", kDrainDeadline, "to read the output of a rank that has ended"),
      wait("hang-notice", kHangNotice,
           "before a rank that others wait for is named; --hang-notice"),
      wait("ask", kAskRanks, "for ranks to say what they do, before a job that hangs is ended"),
      wait("ask-anytime", kAskAnytime, "for ranks to answer dtlaunch ask"),
      wait("ask-native", kAskNative, "for a debugger to print a stack, after --hang-timeout"),
      wait("report", kLongestReport, "at most between two reports of what ranks do"),
      wait("slow-window", kSlowWindow, "a host that is slow in two such periods is named"),
      wait("margin", kAnswerMargin, "added to other times for an answer on its way"),
      wait("partial-line", kPartialLineDelay, "before an unfinished line is shown"),
      wait("fold", kFoldDelay, "to wait for the same line of other ranks; --fold"),
      wait("mpi-left", kMpiPatience, "that ranks run on after one ended without MPI_Finalize"),
      wait("redraw", kRedraw, "between two updates of progress bars"),
      wait("pipe-patience", kPipePatience,
           "that a rank waits for a slow reader of a pipe; --output auto"),
      wait("screen-patience", kScreenPatience,
           "that a rank waits for a slow terminal; --output auto"),
      wait("pause", kPauseLease, "that ranks stay stopped while dtlaunch is stopped (^Z)"),
      wait("rejoin-pause", kFirstRejoinPause,
           "before the first try to reach a lost host again; doubled each time; --reconnect"),
      wait("longest-rejoin-pause", kLongestRejoinPause, "longest pause between two such tries"),
      wait("rejoin", kRejoinDeadline, "for one such try"),
      wait("fence", kFence, "before nothing of a lost host can still run"),
      wait("fence-answer", kFenceAnswer,
           "for a lost host to answer before a restart leaves it out"),
      wait("first-step", kFirstStep, "ranks that fail earlier than this count as failed at once"),
      wait("back-off", kFirstBackOff,
           "before a restart after two failures at once; doubled each time"),
      wait("longest-back-off", kLongestBackOff, "longest pause before a restart"),
      wait("take-back", kTakeBack, "before a lost host may join the job again; doubled each time"),
      wait("longest-take-back", kLongestTakeBack, "longest such time"),
      wait("departure", kDeparture,
           "that a host which is taken back may still run, if its notice gives no time"),
      wait("departure-margin", kDepartureMargin, "after that, before the host may join again"),
      wait("metadata", kMetadataPatience, "for an answer of a cloud's metadata service; --spot"),
      wait("metadata-period", kMetadataPeriod, "between two questions to that service"),
      wait("metadata-absent", kMetadataAbsent,
           "between two questions while the service does not answer"),
      wait("settled", kSettled, "that ranks run before new hosts may join; doubled each time"),
      wait("longest-settled", kLongestSettled, "longest such time"),
      wait("look-for-hosts", kLookForHosts, "between two looks for new hosts; --discover"),
      wait("discover-patience", kDiscoverPatience, "for a command of --discover"),
      wait("metrics-period", kMetricsPeriod, "at most between two writes of --metrics-file"),
      wait("event-patience", kEventPatience, "for a command of --on-event")};
}

std::vector<LimitFact> bounds() {
  return {
      bound("events", kMaxEvents, "events that may wait for a slow command of --on-event"),
      bound("output-window", kOutputWindow, "bytes of one rank's output in memory"),
      bound("skipped-tail", kSkippedTail,
            "last bytes of skipped output that are shown; --output skip"),
      bound("output-windows", kOutputWindows, "bytes of all ranks' output in memory"),
      bound("ranks", kMaxRanks, "ranks of a job"),
      bound("local-ranks", kMaxLocalRanks, "ranks of a job on one host"),
      bound("rank-descriptors", kRankDescriptors,
            "file descriptors that an agent needs for each rank"),
      bound("agent-descriptors", kAgentDescriptors, "file descriptors that an agent needs besides"),
      bound("host-descriptors", kHostDescriptors,
            "file descriptors that dtlaunch needs for each host"),
      bound("own-descriptors", kOwnDescriptors, "file descriptors that dtlaunch needs besides"),
      bound("logins", kMostLogins, "logins over ssh at a time; further hosts wait for theirs"),
      bound("flat-hosts", kFlatHosts,
            "hosts whose agents all talk to dtlaunch directly; more make a tree; --tree"),
      bound("frame", kMaxFrameBytes, "bytes of a message between dtlaunch and an agent"),
      bound("output", kMaxOutputBytes, "bytes of output in such a message"),
      bound("shell-noise", kMaxShellNoiseBytes,
            "bytes that a login shell may print before the agent starts"),
      bound("argument", kMaxArgumentBytes, "bytes of an argument of a program"),
      bound("environment", kMaxEnvironmentBytes, "bytes of a rank's environment"),
      bound("hostfile", kMaxHostfileBytes, "bytes of a hostfile"),
      bound("job-file", kMaxTomlBytes, "bytes of a job file")};
}

}  // namespace

std::vector<LimitFact> limit_facts() {
  std::vector<LimitFact> facts = start_waits();
  for (const auto& more : {job_waits(), bounds()}) {
    facts.insert(facts.end(), more.begin(), more.end());
  }
  return facts;
}

std::string limits_text() {
  std::string text;
  for (const LimitFact& fact : limit_facts()) {
    // Shows waits in seconds.
    text += fact.wait_s ? fmt::format("{:<20}{:>8} s  {}\n", fact.name, *fact.wait_s, fact.meaning)
                        : fmt::format("{:<20}{:>10}  {}\n", fact.name, fact.bound, fact.meaning);
  }
  return text;
}

}  // namespace dtl
