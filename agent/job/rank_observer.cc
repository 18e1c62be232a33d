// A rank that hangs cannot answer questions, so this reads /proc and pages that the rank may have
// filled with anything. Unreadable values count as nothing: a false alarm would end a job.
#include "agent/job/rank_observer.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/job/failure_evidence.h"
#include "agent/job/process_usage.h"
#include "agent/job/stack_file.h"
#include "base/pages/progress_page.h"
#include "wire/field_kinds.h"

namespace dtl {
namespace {

constexpr std::uint64_t kComputesPercent = 10;  // of a core; waiting ranks use less
constexpr std::uint64_t kSwapsPerSecond = 50;   // pages read back from swap
constexpr std::uint64_t kFewSlices = 10;        // between two reports; polling ranks have hundreds

std::string proc_path(pid_t pid, const char* name) {
  return "/proc/" + std::to_string(pid) + "/" + name;
}

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

// Calls use() with the path of each descriptor of the process.
void for_each_descriptor(pid_t pid, const std::function<void(const std::string& path)>& use) {
  const std::string folder = proc_path(pid, "fd");
  const std::unique_ptr<DIR, CloseFolder> entries(::opendir(folder.c_str()));
  while (entries != nullptr) {
    const dirent* entry = ::readdir(entries.get());
    if (entry == nullptr) break;
    use(folder + "/" + entry->d_name);
  }
}

// The paths of what a process shows.
struct Pages {
  std::map<std::uint64_t, std::string> communicators;  // by inode
  std::string progress;                                // or empty
};

Pages pages_of(pid_t pid) {
  Pages found;
  for_each_descriptor(pid, [&](const std::string& path) {
    struct stat status {};
    if (has_page_name(path, kStatePageName) && ::stat(path.c_str(), &status) == 0) {
      found.communicators[status.st_ino] = path;
    } else if (found.progress.empty() && has_page_name(path, kProgressPageName)) {
      found.progress = path;
    }
  });
  return found;
}

// Calls use() with the path of each thread's folder.
void for_each_thread(pid_t pid, const std::function<void(const std::string& folder)>& use) {
  const std::string tasks = proc_path(pid, "task");
  const std::unique_ptr<DIR, CloseFolder> entries(::opendir(tasks.c_str()));
  while (entries != nullptr) {
    const dirent* entry = ::readdir(entries.get());
    if (entry == nullptr) break;
    if (entry->d_name[0] != '.') use(tasks + "/" + entry->d_name);
  }
}

// Sums over threads: how long they were runnable but waited for a core, and how often they got one.
// On a busy machine a computing rank uses little CPU time, but does not sleep.
struct CoreWaits {
  std::uint64_t ns = 0, slices = 0;
};

CoreWaits core_waits_of(pid_t pid) {
  CoreWaits waits;
  for_each_thread(pid, [&](const std::string& folder) {
    const std::string text = read_up_to(folder + "/schedstat", 128);
    unsigned long long ran = 0, waited = 0, slices = 0;
    // Nanoseconds, and how often the thread got a core; absent without CONFIG_SCHED_INFO.
    if (std::sscanf(text.c_str(), "%llu %llu %llu", &ran, &waited, &slices) != 3) return;
    waits.ns += waited;
    waits.slices += slices;
  });
  return waits;
}

bool has_runnable_thread(pid_t pid) {
  bool found = false;
  for_each_thread(pid, [&](const std::string& folder) {
    const std::string text = read_up_to(folder + "/stat", 1024);
    const std::size_t name_end = text.rfind(')');
    found = found || (name_end != std::string::npos && text.compare(name_end, 3, ") R") == 0);
  });
  return found;
}

bool has_swapped(pid_t pid) {
  const std::string status = read_up_to(proc_path(pid, "status"), 8192);
  const std::size_t at = status.find("VmSwap:");
  return at != std::string::npos && std::atoll(status.c_str() + at + 7) > 0;
}

}  // namespace

std::set<std::uint64_t> sockets_of(pid_t pid) {
  std::set<std::uint64_t> found;
  for_each_descriptor(pid, [&](const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode)) found.insert(status.st_ino);
  });
  return found;
}

SeenPage::SeenPage(const std::string& path) : memory_(path, kStatePageBytes) {
  const auto* page = static_cast<const StatePage*>(memory_.data());
  if (page != nullptr && page->magic == kStatePageMagic) page_ = page;
}

void SeenPage::look() {
  if (page_ == nullptr) return;
  const std::uint64_t completed = page_->completed.load(), begun = page_->begun.load() >> 8;
  ++looks_;
  waits_ += begun > completed ? 1 : 0;
}

// The rank may have written anything there; the message must stay within its bounds.
CommState SeenPage::take() {
  CommState state;
  const std::uint64_t begun = page_->begun.load();
  state.id = page_->id;
  state.world = std::min<std::uint32_t>(page_->world, kMaxRanks);
  state.rank = std::min<std::uint32_t>(page_->rank, kMaxRanks - 1);
  state.begun = begun >> 8;
  state.opcode = static_cast<std::uint32_t>(begun & 0xff);
  state.completed = page_->completed.load();
  state.bytes = page_->bytes.load();
  state.looks = std::exchange(looks_, 0);
  state.waits = std::exchange(waits_, 0);
  return state;
}

void RankObserver::look() {
  for (auto& [inode, page] : pages_) page.look();
}

// Keeps the process while it has pages; else takes the rank's first one with pages, or its Python.
// The same process makes two reports comparable.
void RankObserver::choose_process(std::span<const Process> processes) {
  const Process* before = find_process(processes, process_);
  if (has_pages() && before != nullptr && before->alive) return;
  process_ = rank_pid_;
  for (const Process& process : processes) {
    if (process.session != rank_pid_ || !process.alive) continue;
    const Pages pages = pages_of(process.pid);
    if (!pages.communicators.empty() || !pages.progress.empty()) {
      process_ = process.pid;
      return;
    }
    // The first Python, unless a later process has pages.
    if (process_ == rank_pid_ && is_python(process.pid)) process_ = process.pid;
  }
}

void RankObserver::find_pages() {
  const Pages found = pages_of(process_);
  progress_path_ = found.progress;
  // Remaining pages keep their counts.
  std::erase_if(pages_,
                [&](const auto& page) { return !found.communicators.contains(page.first); });
  for (const auto& [inode, path] : found.communicators) pages_.try_emplace(inode, path);
}

// The kernel adds a wait for a core only when it ends. A wait that lasts for the whole time between
// two reports shows differently: a thread is runnable and hardly ever got a core.
bool RankObserver::computes(std::span<const Process> processes, std::uint64_t span_ms) {
  const auto ticks_per_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  std::uint64_t ticks = 0, slices = 0;
  std::vector<pid_t> own;
  for (const Process& process : processes) {
    if (process.session != rank_pid_ || !process.alive) continue;
    const CoreWaits waits = core_waits_of(process.pid);
    ticks += usage_of(process.pid).cpu_ticks + waits.ns / (1'000'000'000 / ticks_per_second);
    slices += waits.slices;
    own.push_back(process.pid);
  }
  // Ticks of a process that ended are missing, so the sum may be less than before.
  const std::uint64_t used = ticks - std::min(ticks, std::exchange(cpu_ticks_, ticks));
  const std::uint64_t before = std::exchange(slices_, slices);
  if (used * 1000 * 100 >= kComputesPercent * span_ms * ticks_per_second) return true;
  return slices > 0 && slices - std::min(slices, before) <= kFewSlices &&
         std::any_of(own.begin(), own.end(), has_runnable_thread);
}

Activity RankObserver::activity(std::span<const Process> processes, std::chrono::milliseconds now) {
  const ProcessUsage usage = usage_of(process_);
  const auto span_ms =
      static_cast<std::uint64_t>(std::max<std::int64_t>((now - reported_).count(), 1));
  const std::uint64_t faults =
      usage.major_faults -
      std::min(usage.major_faults, std::exchange(major_faults_, usage.major_faults));
  // The first report has nothing to compare with, and reports that the rank computes.
  const bool is_first = std::exchange(reported_, now).count() == 0;
  const bool is_busy = computes(processes, span_ms) || is_first;
  // From the most certain state to the least.
  if (usage.state == 'T' || usage.state == 't') return Activity::kStopped;
  // Pages of mapped files also come from a disk, so check for swapped pages.
  if (!is_first && faults * 1000 >= kSwapsPerSecond * span_ms && has_swapped(process_)) {
    return Activity::kSwaps;
  }
  if (usage.state == 'D') return Activity::kWaitsForDisk;
  return is_busy ? Activity::kComputes : Activity::kSleeps;
}

// Bytes that the process has sent since the last report, by address. Ignores new connections: their
// busy time includes time before this report.
std::vector<WireState> RankObserver::wires(std::span<const TcpConnection> connections) {
  const std::set<std::uint64_t> own = sockets_of(process_);
  std::map<std::uint64_t, TcpConnection> now;
  std::map<std::string, WireState> sums;
  for (const TcpConnection& connection : connections) {
    if (!own.contains(connection.inode)) continue;
    now[connection.inode] = connection;
    const auto before = sent_.find(connection.inode);
    if (before == sent_.end() || connection.acked <= before->second.acked) continue;
    WireState& sum = sums[connection.peer];
    sum.peer = connection.peer;
    sum.bytes += connection.acked - before->second.acked;
    sum.busy_us += connection.busy_us - std::min(connection.busy_us, before->second.busy_us);
  }
  // Drops closed connections; their inodes may be reused.
  sent_ = std::move(now);
  std::vector<WireState> all;
  for (auto& [peer, sum] : sums) all.push_back(std::move(sum));
  std::sort(all.begin(), all.end(),
            [](const WireState& a, const WireState& b) { return a.bytes > b.bytes; });
  // The busiest connections decide how fast a ring is.
  if (all.size() > kMaxWires) all.resize(kMaxWires);
  return all;
}

RankReport RankObserver::report(std::uint32_t rank, std::span<const Process> processes,
                                std::span<const TcpConnection> connections,
                                std::chrono::milliseconds now) {
  choose_process(processes);
  find_pages();
  RankReport report;
  report.rank = rank;
  report.pid = static_cast<std::uint32_t>(process_);
  report.activity = activity(processes, now);
  report.wires = wires(connections);
  std::vector<SeenPage*> pages;
  for (auto& [inode, page] : pages_) {
    if (!page.is_over()) pages.push_back(&page);
  }
  // The oldest communicators, so every report has the same ones if there are too many.
  std::sort(pages.begin(), pages.end(),
            [](const SeenPage* a, const SeenPage* b) { return a->number() < b->number(); });
  if (pages.size() > kMaxComms) pages.resize(kMaxComms);
  for (SeenPage* page : pages) report.comms.push_back(page->take());
  report.usage = usage_of_rank(processes, rank_pid_);
  progress_ = progress_path_.empty() ? TrainingProgress{}
                                     : read_progress(progress_path_).value_or(progress_);
  report.progress = progress_;
  return report;
}

}  // namespace dtl
