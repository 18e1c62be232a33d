// Answers, except logs, end with the line "end": it distinguishes a complete answer from one cut
// off by a lost connection.
#include "agent/jobs/jobs_here.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/jobs/log_follower.h"
#include "agent/processes/kill_tree.h"
#include "base/fd.h"
#include "base/host_name.h"
#include "base/limits.h"
#include "base/machine/job_record.h"
#include "base/machine/process_handle.h"
#include "base/machine/runtime_folder.h"
#include "base/text.h"
#include "wire/answer.h"

namespace dtl {
namespace {

void print_text(const std::string& text) {
  write_all(STDOUT_FILENO, text);
}

// A detached job's launcher has a second record beside its kept output, which remains after the
// job. A home shared by many machines has the records of the others too.
std::vector<RecordFile> all_records() {
  std::vector<RecordFile> files = records_here();
  std::set<std::string> known;
  for (const RecordFile& file : files) {
    if (file.record.role == "launcher") known.insert(file.record.job_id);
  }
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(kept_jobs_folder(), failed)) {
    for (RecordFile& kept : read_records(entry.path().string())) {
      const bool ours = kept.record.host == own_host_name();
      if (ours && !known.contains(kept.record.job_id)) files.push_back(std::move(kept));
    }
  }
  return files;
}

// An agent's grace after SIGTERM, its wait after SIGKILL, and a margin.
constexpr std::chrono::milliseconds kMostToEnd = kKillGrace + kReapDeadline + kAnswerMargin;

struct Target {
  JobRecord record;
  ProcessHandle process;
};

// Only the launcher if it runs here: it tells all agents.
std::vector<Target> targets_of(const std::string& job_id) {
  std::vector<Target> launchers, agents;
  for (const RecordFile& file : all_records()) {
    if (file.record.job_id != job_id) continue;
    ProcessHandle process(file.record.process);
    if (!process.valid()) continue;
    auto& where = file.record.role == "launcher" ? launchers : agents;
    where.push_back({file.record, std::move(process)});
  }
  return launchers.empty() ? std::move(agents) : std::move(launchers);
}

}  // namespace

void begin_answer() {
  print_text(answer_line());
}

Exit list_jobs() {
  begin_answer();
  const std::string problem = runtime_problem();
  // Without a place for records the list is empty; tell the user why.
  if (!problem.empty()) print_text("problem " + problem + "\n\n");
  for (const RecordFile& file : all_records()) {
    const bool alive = is_running(file.record.process);
    print_text(to_text(file.record) + (alive ? "alive yes\n\n" : "alive no\n\n"));
  }
  print_text("end\n");
  return Exit::kOk;
}

Exit send_log(const std::string& job_id, LogWish wish) {
  const auto after = parse_place(wish.after);
  if (!after && !wish.after.empty()) {
    throw Error(Exit::kUsage, "--after " + wish.after, "not a place in a log");
  }
  LogFollower follower(kept_job_folder(job_id));
  begin_answer();
  if (wish.from_end) follower.skip();
  const bool gap = after && !follower.go_on_from(*after);
  const LogPlace begin = follower.place();
  print_text(fmt::format("{} {}:{}\n", gap ? "gap" : "at", begin.file, begin.offset));
  do {
    follower.send(STDOUT_FILENO);
  } while (wish.follow && follower.wait(STDIN_FILENO));
  return Exit::kOk;
}

Exit end_job(const std::string& job_id, int signal) {
  std::vector<Target> targets = targets_of(job_id);
  begin_answer();
  for (const Target& target : targets) {
    const bool launcher = target.record.role == "launcher";
    // An agent ends its ranks on SIGTERM; other signals would not help it.
    const int sent = launcher ? signal : SIGTERM;
    target.process.signal(sent);
    // Other signals, such as SIGUSR1, do not end a launcher, so do not wait.
    const bool ends = sent == SIGTERM || sent == SIGINT || sent == SIGKILL;
    const bool ended = ends && target.process.ends_within(kMostToEnd);
    print_text(fmt::format("{} {} {} {}\n", target.record.role, target.record.process.pid,
                           signal_name(sent), ended ? "ended" : "sent"));
  }
  print_text("end\n");
  return Exit::kOk;
}

}  // namespace dtl
