#pragma once
// Every wait and every bound of the control plane, with its reason. They are in one place because
// many of them are made of others or must be shorter than others. Printed by `dtlaunch
// --show-limits`; the code names these and nothing else.

#include <chrono>
#include <cstddef>

namespace dtl {

using namespace std::chrono_literals;

constexpr auto kResolveDeadline = 5s;  // DNS; a dead server alone costs 10 s in getaddrinfo
constexpr auto kConnectDeadline = 6s;  // TCP connect; all hosts run in parallel
constexpr auto kProbeSettle = 300ms;   // once every node has answered somewhere, for the rest
constexpr auto kExamineDeadline = 8s;  // an agent's answer to doctor; one command of it takes 5 s
constexpr auto kSshDeadline = 8s;      // from TCP connect to the agent's marker; all bad hosts
                                       // must be reported within 10 s
constexpr std::size_t kMostLogins =
    128;                                 // at once: where all hosts share two cores, their keys
                                         // take 3 s; a further host's deadlines begin with its turn
constexpr auto kHostsPatience = 300s;    // pods that come late: their images are fetched, names
                                         // resolve, sshds listen; --start-timeout
constexpr auto kFirstHostPause = 100ms;  // between tries of such; doubled each time
constexpr auto kLongestHostPause = 1s;   // a job begins this long after its last pod at most
constexpr auto kLateHostLine = 10s;      // between two lines that say who is late
constexpr auto kPushStall = 15s;         // --push: no byte moved for this long; disks may be slow
constexpr auto kPushDeadline = 600s;     // all of it: 45 MB at 75 kB/s
constexpr auto kHelloDeadline = 5s;      // the agent's first frame after the launcher's Welcome
constexpr auto kHeartbeat = 1s;          // both ways
constexpr auto kSuspect = 3s;            // "slow" notice
constexpr auto kDead = 9s;            // node declared lost; < kLease, so the user hears first, and
                                      // > 8 s: TCP doubles its waits, so that what a network of
                                      // 4 s' absence held back arrives after up to twice that
constexpr auto kLease = 10s;          // an agent without a live launcher ends its ranks
constexpr auto kPauseLease = 24h;     // the same after ^Z, which stops the launcher too
constexpr auto kGuardLease = 12s;     // a guard without a ticking agent does the same
constexpr auto kGuardSilence = 8s;    // a guard that does not answer its agent; killing may take it
                                      // kReapDeadline
constexpr auto kGuardPerRank = 10ms;  // more of that for each rank, to start it and to see it end
constexpr auto kKillGrace = 5s;       // SIGTERM -> SIGKILL; BLAS threads need about 1 s
constexpr auto kInterruptGrace = 4s;  // the same after ^C: all is gone within 6 s
constexpr auto kReapDeadline = 10s;   // after SIGKILL; then the process is named as unkillable
constexpr auto kDrainDeadline = 1s;   // output left in pipes after a rank ended
constexpr auto kAskRanks = 500ms;     // ranks say what they do, before --timeout ends them
constexpr auto kAskNative = 8s;       // the same for a debugger, before --hang-timeout does
constexpr auto kHangNotice = 30s;     // ranks wait this long for another, then it is named
constexpr auto kLongestReport = 3s;   // between two reports of what ranks do
constexpr auto kFirstReport = 1s;     // from the start of ranks to the first look at their state
constexpr auto kLookAtRanks = 100ms;  // between two looks at whether a rank is in a collective
constexpr auto kSlowWindow = 30s;     // a host that is slow in two such windows is named
constexpr auto kAnswerMargin = 2s;    // on top of what a node itself may take to answer
constexpr auto kPartialLineDelay = 200ms;  // an unfinished line (a prompt) is shown after this
constexpr auto kFence = kLease + kKillGrace + 2s;  // after it nothing of a lost node runs any more
constexpr auto kFirstRejoinPause =
    500ms;  // between tries to find an agent again; doubled each time
constexpr auto kLongestRejoinPause = 3s;
constexpr auto kRejoinDeadline = kSshDeadline + kHelloDeadline;  // one such try
constexpr auto kFenceAnswer = 6s;   // a lost node's answer, before it is left out
constexpr auto kFirstStep = 10s;    // ranks that fail before this failed at once
constexpr auto kFirstBackOff = 1s;  // between restarts of such; doubled each time
constexpr auto kLongestBackOff = 30s;
constexpr auto kTakeBack = 10s;  // a lost host is not taken back before; doubled each time
constexpr auto kLongestTakeBack = 900s;
constexpr auto kDeparture =
    120s;  // a host that has to go may answer for this long, or for as long as it was told,
constexpr auto kDepartureMargin = 60s;  // ... and this
constexpr auto kSettled = 20s;          // an epoch before hosts may join; doubled each time
constexpr auto kLongestSettled = 600s;
constexpr auto kLookForHosts = 10s;      // between two looks for hosts that may join or must leave
constexpr auto kDiscoverPatience = 10s;  // a command of --discover; after it SIGKILL
constexpr auto kEventPatience = 10s;     // a command of --on-event; after it SIGKILL
constexpr auto kMetadataPatience =
    300ms;                               // for an answer of a cloud's metadata service; it is near
constexpr auto kMetadataPeriod = 2s;     // between two questions to it: some clouds give 30 s
constexpr auto kMetadataAbsent = 30s;    // the same while none answers
constexpr auto kEarlyEnd = 10s;          // ranks that outlive the last one that ended are named
constexpr auto kEndMoment = 20ms;        // a process that ends closes its sockets this much before
constexpr auto kBlameWindow = 2s;        // for the first cause to arrive after its consequence
constexpr auto kSilentWindow = 250ms;    // the same after a rank that failed without a word
constexpr auto kFoldDelay = 50ms;        // a line waits this long for the same of other ranks
constexpr auto kRedraw = 200ms;          // between two looks of progress bars on a terminal
constexpr auto kPipePatience = 1s;       // ranks wait this long for who reads a pipe
constexpr auto kScreenPatience = 200ms;  // the same for a terminal

constexpr std::size_t kOutputWindow = 256 << 10;  // of one rank, not yet shown; and ...
constexpr std::size_t kOutputWindows = 4 << 20;   // ... of all ranks together
constexpr std::size_t kLeastOutputWindow = 4 << 10;
constexpr std::size_t kSkippedTail = 4 << 10;  // of skipped output that is shown after all
constexpr std::size_t kMaxFrameBytes = 1 << 20;
constexpr std::size_t kMaxOutputBytes = 64 << 10;      // of one Output frame
constexpr std::size_t kMaxEvents = 64;                 // of --on-event that wait for the one before
constexpr std::size_t kMaxStackBytes = 16 << 10;       // that a rank tells of its stacks
constexpr std::size_t kMaxShellNoiseBytes = 64 << 10;  // before the agent's marker line
constexpr std::size_t kMaxArgumentBytes = 128 << 10;   // Linux MAX_ARG_STRLEN
constexpr std::size_t kMaxEnvironmentBytes = 1 << 20;
constexpr std::size_t kMaxHostfileBytes = 16 << 20;
constexpr std::size_t kMaxTomlBytes = 1 << 20;
constexpr int kMaxRanks = 65535;
constexpr unsigned kMaxLocalRanks = 4096;   // of a host: the tables of its guard are static
constexpr int kElasticRestarts = 3;         // --max-restarts of a job whose size may change
constexpr unsigned kRankDescriptors = 3;    // of an agent for each rank: its standard streams
constexpr unsigned kAgentDescriptors = 40;  // ... and beside these
constexpr unsigned kHostDescriptors = 4;    // of the launcher for each host, while it connects
constexpr unsigned kOwnDescriptors = 40;    // ... and beside these

}  // namespace dtl
