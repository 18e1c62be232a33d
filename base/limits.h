#pragma once
// Every wait and limit of the control plane, with its reason. They are in one place because many
// depend on others. `dtlaunch --show-limits` prints them; the code uses only these names.

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
    128;                                 // at once: where all of them share two cores, their keys
                                         // take 3 s; deadlines of further hosts begin at their turn
constexpr auto kHostsPatience = 300s;    // pods that come late: their images are fetched, names
                                         // resolve, sshds listen; --start-timeout
constexpr auto kFirstHostPause = 100ms;  // between tries to reach such a pod; doubled each time
constexpr auto kLongestHostPause = 1s;   // a job begins this long after its last pod at most
constexpr auto kLateHostLine = 10s;      // between two lines that say who is late
constexpr auto kPushStall = 15s;         // --push: no byte moved for this long; disks may be slow
constexpr auto kPushDeadline = 600s;     // all of it: 45 MB at 75 kB/s
constexpr auto kHelloDeadline = 5s;      // the agent's first frame after the launcher's Welcome
constexpr auto kHeartbeat = 1s;          // in both directions
constexpr auto kSuspect = 3s;            // "slow" notice
constexpr auto kDead = 9s;            // of silence, after which a node is lost; < kLease: the user
                                      // hears before its ranks end; > 8 s, because TCP doubles its
                                      // timeout: after an outage of 4 s, data may be 8 s late
constexpr auto kLease = 10s;          // an agent without a live launcher ends its ranks
constexpr auto kPauseLease = 24h;     // the same after ^Z, which stops the launcher too
constexpr auto kGuardLease = 12s;     // a guard whose agent sends no ticks does the same
constexpr auto kGuardSilence = 8s;    // a guard that does not answer its agent; while killing it
                                      // has kReapDeadline
constexpr auto kGuardPerRank = 10ms;  // added for each rank, to start it and to see it end
constexpr auto kKillGrace = 5s;       // SIGTERM -> SIGKILL; BLAS threads need about 1 s
constexpr auto kInterruptGrace = 4s;  // the same after ^C: everything has ended within 6 s
constexpr auto kReapDeadline = 10s;   // after SIGKILL; then the process is reported as unkillable
constexpr auto kDrainDeadline = 1s;   // output left in pipes after a rank ended
constexpr auto kAskRanks = 500ms;     // for ranks to report stacks, before --timeout ends them
constexpr auto kAskAnytime = 2s;      // for ranks to report stacks to dtlaunch ask; they run on
constexpr auto kAskNative = 8s;       // the same for a debugger, before --hang-timeout ends them
constexpr auto kHangNotice = 30s;     // ranks wait this long for another before it is named
constexpr auto kLongestReport = 3s;   // between two reports of the ranks' states
constexpr auto kFirstReport = 1s;     // from the start of ranks to the first report of their state
constexpr auto kLookAtRanks = 100ms;  // between two samples of whether a rank is in a collective
constexpr auto kSlowWindow = 30s;     // a host that is slow in two such windows is named
constexpr auto kAnswerMargin = 2s;    // added to the time that a node itself may take to answer
constexpr auto kPartialLineDelay = 200ms;  // an unfinished line (a prompt) is shown after this
constexpr auto kFence = kLease + kKillGrace + 2s;  // after it no process of a lost node is running
constexpr auto kFirstRejoinPause =
    500ms;  // between tries to find an agent again; doubled each time
constexpr auto kLongestRejoinPause = 3s;
constexpr auto kRejoinDeadline = kSshDeadline + kHelloDeadline;  // one such retry
constexpr auto kFenceAnswer = 6s;   // for a lost node's answer, before it is left out
constexpr auto kFirstStep = 10s;    // ranks that fail before this count as failed at once
constexpr auto kFirstBackOff = 1s;  // between restarts after such failures; doubled each time
constexpr auto kLongestBackOff = 30s;
constexpr auto kTakeBack = 10s;  // a lost host is not taken back before; doubled each time
constexpr auto kLongestTakeBack = 900s;
constexpr auto kDeparture =
    120s;  // from the notice that a host will go until it has gone, if the notice says no time
constexpr auto kDepartureMargin = 60s;  // after that, before the host may join again
constexpr auto kSettled = 20s;          // an epoch before hosts may join; doubled each time
constexpr auto kLongestSettled = 600s;
constexpr auto kLookForHosts = 10s;      // between two checks for hosts that may join or must leave
constexpr auto kDiscoverPatience = 10s;  // for a command of --discover, before SIGKILL
constexpr auto kMetricsPeriod = 5s;   // between two writes of --metrics-file; it is read each 15 s
constexpr auto kEventPatience = 10s;  // for a command of --on-event, before SIGKILL
constexpr auto kMetadataPatience =
    300ms;                               // for an answer of a cloud's metadata service; it is near
constexpr auto kMetadataPeriod = 2s;     // between two requests to it: some clouds give 30 s notice
constexpr auto kMetadataAbsent = 30s;    // the same while none answers
constexpr auto kEarlyEnd = 10s;          // ranks that run this long after the last end are named
constexpr auto kEndMoment = 20ms;        // sockets close this long before a process's end is known
constexpr auto kMpiPatience = 2s;        // after a rank's end without MPI_Finalize, for the others
constexpr auto kBlameWindow = 2s;        // for the first cause to arrive after its consequence
constexpr auto kSilentWindow = 250ms;    // the same after a rank that failed without a message
constexpr auto kFoldDelay = 50ms;        // a line waits this long for equal lines of other ranks
constexpr auto kRedraw = 200ms;          // between two updates of progress bars on a terminal
constexpr auto kPipePatience = 1s;       // ranks wait this long for the reader of a pipe
constexpr auto kScreenPatience = 200ms;  // the same for a terminal

constexpr std::size_t kOutputWindow = 256 << 10;  // of one rank, not shown yet; and ...
constexpr std::size_t kOutputWindows = 4 << 20;   // ... of all ranks together
constexpr std::size_t kLeastOutputWindow = 4 << 10;
constexpr std::size_t kSkippedTail = 4 << 10;  // the end of skipped output, shown after all
constexpr std::size_t kMaxFrameBytes = 1 << 20;
constexpr std::size_t kMaxOutputBytes = 64 << 10;      // in one Output frame
constexpr std::size_t kMaxEvents = 64;                 // waiting commands of --on-event
constexpr std::size_t kMaxStackBytes = 16 << 10;       // of stacks that a rank reports
constexpr std::size_t kMaxShellNoiseBytes = 64 << 10;  // before the agent's marker line
constexpr std::size_t kMaxArgumentBytes = 128 << 10;   // Linux MAX_ARG_STRLEN
constexpr std::size_t kMaxEnvironmentBytes = 1 << 20;
constexpr std::size_t kMaxHostfileBytes = 16 << 20;
constexpr std::size_t kMaxTomlBytes = 1 << 20;
constexpr int kMaxRanks = 65535;
constexpr unsigned kMaxLocalRanks = 4096;   // per host: the tables of its guard are static
constexpr int kElasticRestarts = 3;         // --max-restarts of a job of variable size
constexpr unsigned kRankDescriptors = 4;    // of an agent per rank: its streams and its PMI
constexpr unsigned kAgentDescriptors = 40;  // ... and besides these
constexpr unsigned kHostDescriptors = 4;    // of the launcher per host, while it connects
constexpr unsigned kOwnDescriptors = 40;    // ... and besides these

}  // namespace dtl
