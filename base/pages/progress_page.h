#pragma once
// ProgressPage: how far a training program is, as it says itself (dt_progress of dtring(3)). In a
// page that its node's agent reads (base/pages/shared_page.h), so telling costs five stores, and
// the agent need not ask a process that may be busy or stopped. The number at the end of the name
// is the layout's version.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace dtl {

struct TrainingProgress {
  std::uint64_t step = 0;         // optimizer steps done, those of earlier runs included
  std::uint64_t total_steps = 0;  // 0: unknown
  std::uint64_t tokens = 0;       // of all ranks, since this process began; 0: unknown
  double loss = std::numeric_limits<double>::quiet_NaN();  // of the last step; NaN: unknown
};

constexpr const char* kProgressPageName = "dtring-progress-1";
constexpr std::uint32_t kProgressPageMagic = 0x72705444;  // "DTpr"
constexpr std::size_t kProgressPageBytes = 4096;

struct ProgressPage {
  std::uint32_t magic = 0;
  std::uint32_t reserved = 0;
  // How often it was written, times two; odd: it is being written.
  std::atomic<std::uint64_t> version{0};
  std::atomic<std::uint64_t> step{0}, total_steps{0}, tokens{0};
  std::atomic<double> loss{0};
};
static_assert(sizeof(ProgressPage) <= kProgressPageBytes);
static_assert(std::atomic<double>::is_always_lock_free);

// Shows this process's progress, from its first call on. False: the page cannot be shared. From any
// thread, of which only one should tell.
bool tell_progress(const TrainingProgress& progress);

// What the page at this path of /proc/PID/fd says; nullopt: it is none, nothing was told yet, or
// its process is just telling, maybe stopped meanwhile.
std::optional<TrainingProgress> read_progress(const std::string& path);

}  // namespace dtl
