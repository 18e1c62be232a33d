#pragma once
// The messages between dtagent and its guard, over one SOCK_SEQPACKET socket pair: fixed records in
// host byte order (both were built together and run on one machine). A kSpawn request carries
// descriptors by SCM_RIGHTS, in the order of SpawnDescriptor; the last three may be missing.

#include <cstdint>

namespace dtl {

constexpr int kGuardLinkFd = 3;  // where dtguard finds its end

// kWait: from now on the guard waits for an agent that is not stopped, however long it is silent.
// Without it the lease is kGuardLease, so kTick must arrive more often than that.
enum class GuardOrder : std::uint32_t { kSpawn = 1, kSignal, kPass, kKill, kTick, kWait };

struct GuardRequest {
  GuardOrder order = GuardOrder::kTick;
  std::uint32_t rank = 0;      // kSpawn
  std::uint32_t signal = 0;    // kSignal: to every rank's group, then SIGCONT; kPass: without that
  std::uint32_t attached = 0;  // kSpawn: bit N is set if SpawnDescriptor N comes with it
};

// The packed SpawnSpec and the job's secret, both sealed memory files, the rank's streams, and its
// connection to the PMI server, for ranks that have one. With --container also the namespaces of
// the container: a rank enters them before anything else.
enum SpawnDescriptor {
  kSpecFd,
  kSecretSourceFd,
  kStdinFd,
  kStdoutFd,
  kStderrFd,
  kPmiSourceFd,
  kUserNamespaceFd,
  kMountNamespaceFd,
  kSpawnFds
};

// Where a spawn failed; spawn_spec.h has the names.
enum class SpawnStage : std::uint32_t {
  kGuard = 1,
  kFork,
  kSetsid,
  kFiles,
  kChdir,
  kAffinity,
  kExec,
  kInterpreter,  // the program exists, but the interpreter in its first line does not
  kContainer
};

// kClean answers kKill, kAlive answers kTick; each of the others is sent once per rank.
enum class GuardNews : std::uint32_t { kStarted = 1, kSpawnFailed, kExited, kClean, kAlive };

// One record for all reports: a field counts for the news named beside it.
struct GuardReport {
  GuardNews news = GuardNews::kClean;
  std::uint32_t rank = 0;
  std::uint32_t pid = 0;                     // kStarted
  SpawnStage stage = SpawnStage::kGuard;     // kSpawnFailed
  std::uint32_t error_number = 0;            // kSpawnFailed
  std::uint32_t code = 0, signal = 0;        // kExited
  std::uint32_t left_behind = 0;             // kExited: the rank's processes still alive
  std::uint32_t killed = 0, unkillable = 0;  // kClean
  std::uint64_t max_rss_kib = 0;             // kExited
};

}  // namespace dtl
