// Each line explains a limit to users: the comments of base/limits.h are for developers, and a
// program cannot list constants.
#include "launcher/options/limits_text.h"

#include <fmt/format.h>

#include <string_view>

#include "base/limits.h"

namespace dtl {
namespace {

// Shows waits in seconds.
std::string wait(std::string_view name, std::chrono::milliseconds value, std::string_view meaning) {
  return fmt::format("{:<20}{:>8} s  {}\n", name, static_cast<double>(value.count()) / 1000,
                     meaning);
}

std::string bound(std::string_view name, std::size_t value, std::string_view meaning) {
  return fmt::format("{:<20}{:>10}  {}\n", name, value, meaning);
}

std::string waits_text() {
  return wait("resolve", kResolveDeadline, "a host name's addresses") +
         wait("connect", kConnectDeadline, "a TCP connection; all hosts at once") +
         wait("settle", kProbeSettle, "for other addresses of a node that has answered") +
         wait("examine", kExamineDeadline, "an agent's answer to dtlaunch doctor") +
         wait("ssh", kSshDeadline, "from TCP connection to running agent") +
         wait("late-hosts", kHostsPatience, "for the pods of an MPIJob; --start-timeout") +
         wait("late-pause", kFirstHostPause, "before the next try of one; doubled each time") +
         wait("longest-late-pause", kLongestHostPause, "the most that this becomes") +
         wait("late-line", kLateHostLine, "between two lines that say who is late") +
         wait("push-stall", kPushStall, "of --push without a byte moved") +
         wait("push", kPushDeadline, "until all hosts have what --push brings") +
         wait("hello", kHelloDeadline, "the agent's first message") +
         wait("heartbeat", kHeartbeat, "between signs of life, both ways") +
         wait("suspect", kSuspect, "of silence until a notice") +
         wait("dead", kDead, "of silence until a node is lost") +
         wait("lease", kLease, "until an agent without launcher ends its ranks") +
         wait("guard-lease", kGuardLease, "until a guard without agent does so") +
         wait("guard-silence", kGuardSilence, "until an agent ends a guard that does not answer") +
         wait("grace", kKillGrace, "from SIGTERM to SIGKILL; --grace") +
         wait("interrupt-grace", kInterruptGrace, "the same after ^C, without --grace") +
         wait("reap", kReapDeadline, "after SIGKILL, until a process is unkillable") +
         wait("drain", kDrainDeadline, "for output after a rank has ended") +
         wait("hang-notice", kHangNotice, "that ranks wait for another until it is named") +
         wait("ask", kAskRanks, "for ranks to say what they do, before they are ended") +
         wait("ask-native", kAskNative, "for a debugger to say it, after --hang-timeout") +
         wait("report", kLongestReport, "between two reports of what ranks do, at most") +
         wait("slow-window", kSlowWindow, "a host that is slow in two such windows is named") +
         wait("margin", kAnswerMargin, "for an answer's way back") +
         wait("partial-line", kPartialLineDelay, "until an unfinished line is shown") +
         wait("fold", kFoldDelay, "for other ranks to print the same line") +
         wait("redraw", kRedraw, "between two looks of progress bars") +
         wait("pipe-patience", kPipePatience, "that a rank waits for who reads a pipe") +
         wait("screen-patience", kScreenPatience, "the same for a terminal") +
         wait("pause", kPauseLease, "that ranks stay stopped without a launcher") +
         wait("rejoin-pause", kFirstRejoinPause,
              "before the next look for a lost host, --reconnect; doubled each time") +
         wait("longest-rejoin-pause", kLongestRejoinPause, "the most that this becomes") +
         wait("rejoin", kRejoinDeadline, "one such look") +
         wait("fence", kFence, "until nothing of a lost node can run any more") +
         wait("fence-answer", kFenceAnswer, "for a lost node's answer, before it is left out") +
         wait("first-step", kFirstStep, "ranks that fail before this failed at once") +
         wait("back-off", kFirstBackOff, "before a restart after two such; doubled each time") +
         wait("longest-back-off", kLongestBackOff, "the most that this becomes") +
         wait("take-back", kTakeBack, "until a lost host may join again; doubled each time") +
         wait("longest-take-back", kLongestTakeBack, "the most that this becomes") +
         wait("departure", kDeparture,
              "that a host which has to go may still answer, if not told") +
         wait("departure-margin", kDepartureMargin, "after that, until it may join again") +
         wait("metadata", kMetadataPatience,
              "for an answer of a cloud's metadata service, --spot") +
         wait("metadata-period", kMetadataPeriod, "between two questions to it") +
         wait("metadata-absent", kMetadataAbsent, "the same while none answers") +
         wait("settled", kSettled, "of an epoch before hosts join; doubled each time") +
         wait("longest-settled", kLongestSettled, "the most that this becomes") +
         wait("look-for-hosts", kLookForHosts, "between two looks for hosts that come or go") +
         wait("discover-patience", kDiscoverPatience, "for a command of --discover") +
         wait("event-patience", kEventPatience, "for a command of --on-event");
}

std::string bounds_text() {
  return bound("events", kMaxEvents, "of --on-event that wait for the one before") +
         bound("output-window", kOutputWindow, "bytes of a rank's output on their way") +
         bound("skipped-tail", kSkippedTail, "last bytes of skipped output, shown after all") +
         bound("output-windows", kOutputWindows, "the same of all ranks together") +
         bound("ranks", kMaxRanks, "of one job") +
         bound("local-ranks", kMaxLocalRanks, "of one job on a host") +
         bound("rank-descriptors", kRankDescriptors, "of an agent for each of its ranks") +
         bound("agent-descriptors", kAgentDescriptors, "of an agent beside these") +
         bound("host-descriptors", kHostDescriptors, "of dtlaunch for each host") +
         bound("own-descriptors", kOwnDescriptors, "of dtlaunch beside these") +
         bound("logins", kMostLogins, "over ssh at a time; other hosts' deadlines begin later") +
         bound("frame", kMaxFrameBytes, "bytes of one message") +
         bound("output", kMaxOutputBytes, "bytes of output in one message") +
         bound("shell-noise", kMaxShellNoiseBytes, "bytes before the agent's greeting") +
         bound("argument", kMaxArgumentBytes, "bytes of one argument") +
         bound("environment", kMaxEnvironmentBytes, "bytes of a rank's environment") +
         bound("hostfile", kMaxHostfileBytes, "bytes of a hostfile") +
         bound("job-file", kMaxTomlBytes, "bytes of a job file");
}

}  // namespace

std::string limits_text() {
  return waits_text() + bounds_text();
}

}  // namespace dtl
