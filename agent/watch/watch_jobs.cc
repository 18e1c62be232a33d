#include "agent/watch/watch_jobs.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <map>
#include <span>
#include <vector>

#include "agent/ask/found_ranks.h"
#include "agent/cores/core_claims.h"
#include "agent/cores/core_owner.h"
#include "agent/cores/cores_text.h"
#include "agent/cores/tickets.h"
#include "agent/jobs/jobs_here.h"
#include "agent/node/detect.h"
#include "agent/node/tcp_connections.h"
#include "agent/processes/kill_tree.h"
#include "agent/processes/process_table.h"
#include "agent/watch/watched_rank.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/machine/job_record.h"
#include "base/text.h"

namespace dtl {
namespace {

constexpr std::int64_t kLeastPeriodMs = 100;  // a frame may take milliseconds on a large node
constexpr std::int64_t kMostPeriodMs = 24 * 3600 * 1000;

std::chrono::milliseconds frame_time() {
  return std::chrono::milliseconds(boot_time_ms());
}

// Each line of cores_text() behind "cores ", so that its "end" is not that of the frame.
std::string cores_lines(const NodeTopology& topology) {
  std::string text;
  try {
    const auto sockets = job_sockets_here();
    text = cores_text(topology, claims_on_node(sockets, topology.allowed),
                      tickets_on_node(sockets, topology.allowed));
  } catch (const Error&) {
    return {};  // the kernel does not list its sockets; the ranks are worth showing without that
  }
  std::string lines;
  for (const std::string& line : split(text, '\n')) lines += "cores " + line + "\n";
  return lines;
}

std::int64_t age_of(const JobRecord& record) {
  return std::max<std::int64_t>(std::time(nullptr) - record.since, 0);
}

std::string word_or_dash(const std::string& text) {
  const bool is_word = !text.empty() && text.find(' ') == text.npos;
  return is_word ? printable(text) : "-";
}

class JobsWatch {
 public:
  explicit JobsWatch(WatchWish wish) : wish_(std::move(wish)), topology_(detect_node().topology) {}

  std::string frame() {
    double load = 0;
    if (::getloadavg(&load, 1) != 1) load = 0;
    const auto now = frame_time();
    std::string text = fmt::format("frame {} {}\n", now.count(), static_cast<int>(load * 100));
    text += cores_lines(topology_);
    const std::vector<RecordFile> records = records_here();
    text += launcher_lines(records);
    text += rank_lines(find_agents(records, wish_.job_id), now);
    return text + "end\n";
  }

 private:
  std::string launcher_lines(std::span<const RecordFile> records) const {
    std::string text;
    for (const RecordFile& file : records) {
      const JobRecord& record = file.record;
      const bool meant = wish_.job_id.empty() || record.job_id == wish_.job_id;
      if (!meant || record.role != "launcher" || !is_running(record.process)) continue;
      text += fmt::format("launcher {} {} {} {} {} {}\n", record.job_id, word_or_dash(record.state),
                          record.ranks, age_of(record), word_or_dash(record.hosts),
                          printable(record.command));
    }
    return text;
  }

  std::string rank_lines(const std::vector<FoundAgent>& agents, std::chrono::milliseconds now) {
    std::string text;
    std::map<pid_t, WatchedRank> ranks;
    // Nothing to look for: most hosts of a list are idle for much of the time.
    if (agents.empty()) {
      ranks_.clear();
      return text;
    }
    const std::span<const Process> processes = scan_processes();
    const std::vector<TcpConnection> connections = tcp_connections();
    for (const FoundAgent& agent : agents) {
      text += fmt::format("agent {} {} {}\n", agent.record.job_id, agent.record.ranks,
                          age_of(agent.record));
      for (const pid_t pid : rank_processes(agent, processes)) {
        if (auto known = ranks_.extract(pid)) {
          ranks.insert(std::move(known));
        } else if (const auto found = identify_rank(agent, pid)) {
          ranks.try_emplace(pid, agent.record.job_id, *found);
        }
        const auto rank = ranks.find(pid);
        if (rank != ranks.end()) text += rank->second.lines(processes, connections, now);
      }
    }
    ranks_ = std::move(ranks);  // those that have ended are forgotten
    return text;
  }

  const WatchWish wish_;
  const NodeTopology topology_;
  std::map<pid_t, WatchedRank> ranks_;  // by the first process of each
};

// False when the other side has closed our input, or sent something that it never sends.
bool wait_for_next(std::chrono::milliseconds next) {
  for (;;) {
    const auto left = next - frame_time();
    if (left.count() <= 0) return true;
    pollfd input{STDIN_FILENO, POLLIN, 0};
    const int ready = ::poll(&input, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno != EINTR) return false;
    if (ready > 0) {
      char byte = 0;
      const ssize_t size = ::read(STDIN_FILENO, &byte, 1);
      if (size == 0 || (size < 0 && errno != EINTR && errno != EAGAIN)) return false;
    }
  }
}

}  // namespace

WatchWish parse_watch_wish(const std::string& job, const std::string& period) {
  WatchWish wish;
  if (job != "all") {
    if (job.size() != 16 || !is_job_id_prefix(job)) {
      throw Error(Exit::kUsage, "--watch " + job, "not 16 hexadecimal digits, or all",
                  "dtagent --jobs");
    }
    wish.job_id = job;
  }
  const auto milliseconds = parse_integer(period, kLeastPeriodMs, kMostPeriodMs);
  if (!milliseconds) {
    throw Error(Exit::kUsage, "--watch " + job + " " + period,
                "the period is " + whole_number_fault(period, kLeastPeriodMs, kMostPeriodMs),
                "dtagent --help");
  }
  wish.period = std::chrono::milliseconds(*milliseconds);
  return wish;
}

Exit watch_jobs(const WatchWish& wish) {
  ::setsid();                  // a terminal's ^Z stops dtlaunch, which also has to continue
  ::signal(SIGPIPE, SIG_DFL);  // nobody reads any more
  JobsWatch watch(wish);
  begin_answer();
  for (auto next = frame_time();;) {
    write_all(STDOUT_FILENO, watch.frame());
    // Not from the last frame's end: frames of all hosts keep their pace.
    next = std::max(next + wish.period, frame_time());
    if (!wait_for_next(next)) return Exit::kOk;
  }
}

}  // namespace dtl
