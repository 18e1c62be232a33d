// The launcher's record is preferred: it knows all ranks, and how the job ended. Agents' records
// replace a missing one, and show what still runs.
#include "launcher/jobs/jobs_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/text.h"

namespace dtl {
namespace {

void add_launcher(JobView& job, const SeenRecord& seen) {
  const JobRecord& record = job.record = seen.record;
  job.launcher_seen = true;
  job.launcher_alive = seen.alive;
  job.asked_launcher_host = seen.host;
  job.nodes = static_cast<int>(split(record.hosts, ',').size());
  job.state = record.state;
  if (record.state == "running" && record.restarts > 0) {
    job.state += fmt::format(" r{}", record.restarts);
  }
  job.ended = record.state == "ended";
  // kLostState: `dtlaunch clean` has cleaned up, and keeps the record for ps.
  if (!seen.alive && !job.ended && record.state != kLostState) job.unclean.push_back(seen.host);
}

void add_agent(JobView& job, const SeenRecord& seen) {
  // An agent removes its record at its end; one without a process means a killed agent.
  (seen.alive ? job.agents : job.unclean).push_back(seen.host);
  if (!seen.alive) job.agent_killed = true;
  // An agent knows only its own part, so ranks and nodes are added up.
  if (job.launcher_seen) return;
  if (job.record.command.empty()) job.record.command = seen.record.command;
  if (job.record.since == 0 || seen.record.since < job.record.since)
    job.record.since = seen.record.since;
  job.record.ranks += seen.record.ranks;
  if (seen.record.state == kWaitingState) job.state = kWaitingState;
  ++job.nodes;
}

// Leftovers come before how the job ended, so that ps, kill and clean agree.
void settle(JobView& job) {
  if (job.ended && job.unclean.empty()) {
    job.status = JobStatus::kEnded;
    job.state = fmt::format("exit {}", job.record.exit_status);
  } else if (job.launcher_alive && !job.ended) {
    job.status = JobStatus::kAlive;
  } else if (!job.agents.empty()) {
    job.status = JobStatus::kAlive;
    if (job.launcher_seen)
      job.state = "ending";
    else if (job.state != kWaitingState)
      job.state = "running";
  } else if (job.launcher_seen && !job.ended && !job.agent_killed) {
    job.status = job.unclean.empty() ? JobStatus::kCleaned : JobStatus::kLost;
    job.state = kLostState;
  } else {
    job.status = JobStatus::kLeftover;
    job.state = "left over";
  }
}

// Lines below a job's row, broken at blanks to fit the terminal.
std::string indented(const std::string& line, std::optional<int> columns) {
  constexpr std::string_view kIndent = "    ";
  const auto width = static_cast<std::size_t>(std::max(columns.value_or(1 << 20), 80)) - 1;
  std::string text, row(kIndent.substr(2));
  for (const std::string& word : split(line, ' ')) {
    if (row.size() > kIndent.size() && row.size() + 1 + word.size() > width) {
      text += row + "\n";
      row = kIndent;
    }
    row += (row.back() == ' ' ? "" : " ") + word;
  }
  return text + row + "\n";
}

// A short tag may be a prefix of another job's id, and ending that job would be wrong.
void check_no_tag(const std::vector<JobView>& jobs, const JobView& found,
                  const std::string& prefix) {
  for (const JobView& job : jobs) {
    const auto& tags = job.record.tags;
    if (job.id == found.id || std::find(tags.begin(), tags.end(), prefix) == tags.end()) continue;
    throw file_error(
        "job " + one_shell_word(prefix), "",
        fmt::format("may mean two jobs: {} begins with it, and it is a tag of {}; give "
                    "more digits",
                    found.id, job.id),
        "dtlaunch ps -a");
  }
}

}  // namespace

std::vector<SeenRecord> parse_job_list(const Host& host, std::string_view text) {
  std::vector<SeenRecord> seen;
  // Empty lines separate records. Skips anything else, such as "end".
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find("\n\n", at), text.size());
    const std::string piece(text.substr(at, end - at));
    at = end + 2;
    if (const auto record = parse_job_record(piece)) {
      seen.push_back({host, *record, piece.ends_with("alive yes")});
    }
  }
  return seen;
}

std::string problem_of_records(std::string_view text) {
  constexpr std::string_view kWord = "problem ";
  if (!text.starts_with(kWord)) return {};
  return std::string(text.substr(kWord.size(), text.find('\n') - kWord.size()));
}

std::vector<JobView> fold_jobs(const std::vector<SeenRecord>& records) {
  std::map<std::string, JobView> jobs;
  std::set<std::string> known;  // one machine may have been asked under two names
  // Launchers first, because add_agent() uses their data.
  for (const char* role : {"launcher", "agent"}) {
    for (const SeenRecord& seen : records) {
      if (seen.record.role != role) continue;
      if (!known.insert(to_text(seen.record.process) + seen.record.job_id).second) continue;
      JobView& job = jobs[seen.record.job_id];
      job.id = seen.record.job_id;
      job.launcher_host = seen.record.launcher_host;
      if (seen.record.role == "launcher") {
        add_launcher(job, seen);
      } else {
        add_agent(job, seen);
      }
    }
  }
  std::vector<JobView> views;
  for (auto& [id, job] : jobs) {
    settle(job);
    views.push_back(std::move(job));
  }
  // The map is sorted by id, which is random.
  std::stable_sort(views.begin(), views.end(), [](const JobView& a, const JobView& b) {
    return a.record.since < b.record.since;
  });
  return views;
}

const JobView& find_job(const std::vector<JobView>& jobs, const std::string& prefix) {
  const JobView* found = nullptr;
  for (const JobView& job : jobs) {
    if (!job.id.starts_with(prefix)) continue;
    if (found != nullptr) {
      throw file_error("job " + one_shell_word(prefix), "",
                       fmt::format("{} and {} begin with it; give more digits", found->id, job.id),
                       "dtlaunch ps -a");
    }
    found = &job;
  }
  // A whole id means that job, whatever the tags of others.
  if (found != nullptr && found->id != prefix) check_no_tag(jobs, *found, prefix);
  if (found != nullptr) return *found;
  throw file_error("job " + one_shell_word(prefix), "",
                   "not found on the hosts that were asked; without -hosts or -hostfile, that is "
                   "this machine",
                   "dtlaunch ps -a, or dtlaunch history for jobs that have ended");
}

std::string fit_column(const std::string& text, std::size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 1) + ">";
}

std::string jobs_table(const std::vector<JobView>& jobs, std::int64_t now,
                       std::optional<int> columns, bool epochs) {
  constexpr std::size_t kBeforeCommand = 60;
  // Without `columns` the output is for programs or wide windows, so the widest name decides.
  std::size_t launcher = 12, state = 10, command = std::string::npos;
  if (columns) {
    command = static_cast<std::size_t>(std::max(*columns, 80)) - kBeforeCommand;
  } else {
    for (const JobView& job : jobs) launcher = std::max(launcher, job.launcher_host.size());
  }
  std::string text = fmt::format("{:<16} {:<{}} {:>5} {:>5} {:>6} {:<{}} {}\n", "JOB", "LAUNCHER",
                                 launcher, "NODES", "RANKS", "AGE", "STATE", state, "COMMAND");
  for (const JobView& job : jobs) {
    const char* more = job.launcher_seen ? "" : "+";
    text += fmt::format(
        "{:<16} {:<{}} {:>5} {:>5} {:>6} {:<{}} {}\n", job.id,
        fit_column(job.launcher_host, launcher), launcher, fmt::format("{}{}", job.nodes, more),
        fmt::format("{}{}", job.record.ranks, more), age_text(now - job.record.since),
        fit_column(job.state, state), state, fit_column(job.record.command, command));
    if (!job.record.tags.empty()) {
      text += indented("tags: " + join(job.record.tags, ", "), columns);
    }
    if (!epochs) continue;
    for (const std::string& epoch : job.record.epochs) text += indented(epoch, columns);
  }
  return text;
}

}  // namespace dtl
