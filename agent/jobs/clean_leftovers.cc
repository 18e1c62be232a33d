// A process is ended only if two tests agree: its environment names a dead job, and no living
// process above it is in charge of it. Pids are reused, so a ProcessHandle holds each process
// before the last check.
#include "agent/jobs/clean_leftovers.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/jobs/job_processes.h"
#include "agent/jobs/jobs_here.h"
#include "agent/jobs/unused_segments.h"
#include "agent/processes/kill_tree.h"
#include "agent/processes/process_table.h"
#include "base/fd.h"
#include "base/host_name.h"
#include "base/limits.h"
#include "base/machine/job_record.h"
#include "base/machine/lost_holders.h"
#include "base/machine/process_handle.h"
#include "base/machine/runtime_folder.h"
#include "base/machine/unix_socket.h"
#include "base/text.h"

namespace dtl {
namespace {

namespace fs = std::filesystem;

constexpr auto kKeptFor = std::chrono::hours(24 * 30);  // output of finished detached jobs

void print_line(const std::string& text) {
  write_all(STDOUT_FILENO, text + "\n");
}

struct Leftover {
  pid_t pid;
  std::string job, command;
  ProcessHandle process;
};

// Running jobs and processes, which must not be touched, by records and by names.
struct Living {
  std::set<std::string> jobs;
  std::set<pid_t> processes;
};

Living find_living(std::span<const Process> processes, const std::vector<RecordFile>& records) {
  Living living;
  for (const RecordFile& file : records) {
    if (!is_running(file.record.process)) continue;
    living.jobs.insert(file.record.job_id);
    living.processes.insert(file.record.process.pid);
  }
  living.processes.insert(::getpid());
  // By name too: without a place for records, a job runs without one.
  for (const Process& process : processes) {
    const std::string name(trim(read_proc(process.pid, "comm")));
    if (name == "dtagent" || name == "dtguard" || name == "dtlaunch") {
      if (process.alive && is_own(process.pid)) living.processes.insert(process.pid);
    }
  }
  return living;
}

// Whether it, or a process above it, is alive and in charge of it, or it is above this process.
bool is_cared_for(std::span<const Process> processes, pid_t pid, const Living& living) {
  for (pid_t at = ::getpid(); at > 1;) {
    if (at == pid) return true;
    const Process* process = find_process(processes, at);
    at = process == nullptr ? 0 : process->parent;
  }
  // Bounded: the table is not a snapshot, so parents may seem to form a cycle.
  for (int depth = 0; pid > 1 && depth < 1000; ++depth) {
    if (living.processes.contains(pid)) return true;
    const Process* process = find_process(processes, pid);
    if (process == nullptr) return false;
    pid = process->parent;
  }
  return false;
}

// Leftovers of the jobs that `wanted` selects, except those under a living process in charge.
std::vector<Leftover> find_leftovers(
    const std::vector<RecordFile>& records,
    const std::function<bool(const std::string& job, const Living&)>& wanted) {
  const auto processes = scan_processes();
  const Living living = find_living(processes, records);
  std::vector<Leftover> found;
  for (const Process& process : processes) {
    if (!process.alive || !is_own(process.pid)) continue;
    Leftover leftover{process.pid, owner_of(process.pid), {}, {}};
    if (leftover.job.empty() || !wanted(leftover.job, living)) continue;
    if (is_cared_for(processes, process.pid, living)) continue;
    leftover.process = ProcessHandle(process.pid);
    // Checked again, now that the pid cannot pass to another process.
    if (!leftover.process.valid() || owner_of(process.pid) != leftover.job) continue;
    leftover.command = read_proc(process.pid, "comm");
    found.push_back(std::move(leftover));
  }
  return found;
}

bool gone_by(const Leftover& leftover, std::int64_t deadline) {
  const std::int64_t left = deadline - boot_time_ms();
  return leftover.process.ends_within(std::chrono::milliseconds(std::max<std::int64_t>(left, 0)));
}

std::string count_processes(int count) {
  return fmt::format("{} process{}", count, count == 1 ? "" : "es");
}

using Ended = std::function<void(const Leftover&, bool)>;

void say_ended(const Leftover& each, bool ended) {
  print_line(fmt::format("{} process {} ({}) of job {}", ended ? "ended" : "cannot kill", each.pid,
                         trim(each.command), each.job));
}

void end_leftovers(const std::vector<Leftover>& leftovers, const Ended& ended) {
  // Signals all before waiting for the first: they share one grace.
  for (const Leftover& each : leftovers) {
    each.process.signal(SIGTERM);
    // A stopped process handles SIGTERM only once it continues.
    each.process.signal(SIGCONT);
  }
  const std::int64_t soft = boot_time_ms() + std::chrono::milliseconds(kKillGrace).count();
  for (const Leftover& each : leftovers) {
    if (!gone_by(each, soft)) each.process.signal(SIGKILL);
  }
  const std::int64_t hard = boot_time_ms() + std::chrono::milliseconds(kReapDeadline).count();
  for (const Leftover& each : leftovers) ended(each, gone_by(each, hard));
}

// Marks jobs whose launcher was killed and could not do it itself. A home shared by many machines
// has the records of other machines too.
void mark_lost_jobs() {
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(kept_jobs_folder(), failed)) {
    for (const RecordFile& kept : read_records(entry.path().string())) {
      JobRecord record = kept.record;
      if (record.state == "ended" || record.state == kLostState) continue;
      if (record.host != own_host_name() || is_running(record.process)) continue;
      record.state = kLostState;
      if (!write_record(kept.path, record)) continue;
      print_line(
          fmt::format("job {} is lost (launcher {} is gone)", record.job_id, record.process.pid));
    }
  }
}

void remove_records(const std::vector<RecordFile>& records) {
  for (const RecordFile& file : records) {
    if (is_running(file.record.process)) continue;
    if (::unlink(file.path.c_str()) != 0) continue;
    print_line(fmt::format("removed the record of job {} ({} {} is gone)", file.record.job_id,
                           file.record.role, file.record.process.pid));
  }
}

// Removes JOB.ROLE.PID.tmp of a process that was killed while writing its record: of one job, or of
// all if `job` is empty. Collects the files first: removing some while reading their folder may
// hide others.
void remove_half_records(const std::string& job) {
  constexpr std::string_view kEnd = ".tmp";
  std::error_code failed;
  std::vector<fs::path> left;
  for (const std::string& folder : runtime_folders()) {
    for (const auto& entry : fs::directory_iterator(folder + "/jobs", failed)) {
      const std::string name = entry.path().filename().string();
      if (!name.ends_with(kEnd) || !name.starts_with(job)) continue;
      const std::string whole = name.substr(0, name.size() - kEnd.size());
      const bool runs = fs::exists("/proc/" + whole.substr(whole.rfind('.') + 1), failed);
      if (!runs) left.push_back(entry.path());
    }
  }
  for (const fs::path& path : left) {
    if (::unlink(path.c_str()) == 0) print_line("removed a half-written record: " + path.string());
  }
}

// Removes the files of killed agents: folders errors-JOB-PID, of their ranks, and pmix-JOB-PID, of
// their dtpmix, of jobs without a record here and without a process with this pid. Reads the
// records again: those of dead agents have just been removed.
void remove_agents_folders() {
  std::set<std::string> recorded;
  for (const RecordFile& file : records_here()) recorded.insert(file.record.job_id);
  std::error_code failed;
  std::vector<fs::path> left;
  for (const std::string& folder : runtime_folders()) {
    for (const auto& entry : fs::directory_iterator(folder, failed)) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with("errors-") && !name.starts_with("pmix-")) continue;
      const std::size_t job_at = name.find('-') + 1;
      const std::string job = name.substr(job_at, name.rfind('-') - job_at);
      const bool runs = fs::exists("/proc/" + name.substr(name.rfind('-') + 1), failed);
      if (!runs && !recorded.contains(job)) left.push_back(entry.path());
    }
  }
  for (const fs::path& path : left) {
    fs::remove_all(path, failed);
    if (!failed) print_line("removed what a killed agent left: " + path.string());
  }
}

// Where agents wait for a launcher that lost them.
std::vector<std::string> link_sockets() {
  std::error_code failed;
  std::vector<std::string> paths;
  for (const std::string& folder : runtime_folders()) {
    for (const auto& entry : fs::directory_iterator(folder + "/" + kLinksFolder, failed)) {
      paths.push_back(entry.path().string());
    }
  }
  return paths;
}

// Those of killed agents. A new one may not listen yet.
void remove_old_links() {
  for (const std::string& path : link_sockets()) {
    std::error_code failed;
    const auto made = fs::last_write_time(path, failed);
    const bool is_old =
        !failed && fs::file_time_type::clock::now() - made > std::chrono::minutes(1);
    if (is_old && !has_listener(path)) ::unlink(path.c_str());
  }
}

void remove_sockets() {
  std::vector<std::string> paths = holder_sockets();
  for (const std::string& folder : runtime_folders()) {
    paths.push_back(folder + "/" + kServiceSocket);
  }
  for (std::string& path : link_sockets()) paths.push_back(std::move(path));
  for (const std::string& path : paths) {
    // A killed process leaves its socket in the folder; connecting shows whether somebody listens.
    if (::access(path.c_str(), F_OK) != 0 || has_listener(path)) continue;
    if (::unlink(path.c_str()) == 0) print_line("removed " + path + ", where nobody listens");
  }
}

// Ends them: nobody can reach these processes any more, even to end them.
void tell_of_lost_holders() {
  for (const LostHolder& holder : end_lost_holders()) {
    print_line(fmt::format("{} process {} of dtlaunch up, whose socket was gone",
                           holder.ended ? "ended" : "told to end:", holder.pid));
  }
}

void remove_old_output() {
  std::error_code failed;
  std::vector<fs::path> old;
  for (const auto& entry : fs::directory_iterator(kept_jobs_folder(), failed)) {
    const auto written = fs::last_write_time(entry.path(), failed);
    bool living = false;
    for (const RecordFile& file : read_records(entry.path().string())) {
      // Processes of another machine cannot be checked from here.
      living = is_running(file.record.process) || file.record.host != own_host_name();
    }
    if (!failed && !living && fs::file_time_type::clock::now() - written > kKeptFor) {
      old.push_back(entry.path());
    }
  }
  for (const fs::path& path : old) {
    fs::remove_all(path, failed);
    if (!failed) print_line("removed the output of a job older than 30 days: " + path.string());
  }
}

}  // namespace

Exit clean_up() {
  begin_answer();
  const std::string problem = runtime_problem();
  if (!problem.empty()) print_line(problem);
  const auto records = records_here();
  end_leftovers(
      find_leftovers(records, [](const std::string& job,
                                 const Living& living) { return !living.jobs.contains(job); }),
      say_ended);
  remove_records(records);
  remove_half_records("");
  mark_lost_jobs();
  remove_agents_folders();
  remove_sockets();
  tell_of_lost_holders();
  remove_old_output();
  for (const std::string& path : remove_unused_segments()) {
    print_line("removed " + path + ", which ranks of MPI had left");
  }
  print_line("end");
  return Exit::kOk;
}

Exit clean_up_after(const std::string& job) {
  begin_answer();
  std::vector<RecordFile> records = records_here();
  const auto is_agent = [&](const RecordFile& file) {
    return file.record.job_id == job && file.record.role == "agent";
  };
  const bool runs = std::any_of(records.begin(), records.end(), [&](const RecordFile& file) {
    return is_agent(file) && is_running(file.record.process);
  });
  if (!runs) {
    end_leftovers(
        find_leftovers(records, [&](const std::string& its, const Living&) { return its == job; }),
        say_ended);
    for (const RecordFile& file : records) {
      if (is_agent(file)) ::unlink(file.path.c_str());
    }
    remove_half_records(job);
    remove_agents_folders();
  }
  print_line("end");
  return Exit::kOk;
}

Exit sweep_up() {
  begin_answer();
  // Many agents may start here at once. A second sweep would find nothing, or report the same
  // again. The kernel drops the lock when the process ends.
  const Fd lock(::open(runtime_folder().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const bool alone = lock.valid() && ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0;
  const std::vector<RecordFile> records = records_here();
  const std::set<std::string> dead = alone ? dead_jobs(records) : std::set<std::string>();
  std::map<std::string, int> ended, left;
  end_leftovers(find_leftovers(records, [&](const std::string& job,
                                            const Living&) { return dead.contains(job); }),
                [&](const Leftover& each, bool gone) { ++(gone ? ended : left)[each.job]; });
  for (const auto& [job, count] : ended) {
    print_line(fmt::format("ended {} that job {} had left here", count_processes(count), job));
  }
  for (const auto& [job, count] : left) {
    print_line(
        fmt::format("cannot kill {} that job {} has left here", count_processes(count), job));
  }
  for (const RecordFile& file : records) {
    const bool dead_here = dead.contains(file.record.job_id) && has_ended(file.record.process);
    if (dead_here) ::unlink(file.path.c_str());
  }
  if (alone) remove_old_links();
  print_line("end");
  return Exit::kOk;
}

}  // namespace dtl
