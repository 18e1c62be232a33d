// The child is made by fork(2), because posix_spawn(3) cannot set the signal for a dead parent.
// After a fork in a process with threads, only async-signal-safe functions may run before execve,
// so everything else is prepared before.
#include "launcher/report/job_events.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/machine/process_handle.h"
#include "base/text.h"
#include "launcher/report/job_identity.h"

namespace dtl {
namespace {

const char* name_of(JobEvent::Kind kind) {
  switch (kind) {
    case JobEvent::Kind::kStart:
      return "start";
    case JobEvent::Kind::kFailure:
      return "failure";
    case JobEvent::Kind::kRestart:
      return "restart";
    case JobEvent::Kind::kEnd:
      return "end";
  }
  return "?";
}

// The text as a file in memory. A pipe would have to be written while the command reads, and would
// block if it does not.
Fd file_of(const std::string& text) {
  Fd file(::memfd_create("event", MFD_CLOEXEC));
  if (!file.valid()) throw system_error("cannot hand over an event");
  write_all(file.get(), text);
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

// Runs in the child of a process with threads, so only async-signal-safe calls. Makes a process
// group, so that the deadline can kill everything that the command has started. Does not return.
[[noreturn]] void become_command(int input, pid_t launcher, char* const* arguments,
                                 char* const* environment) {
  ::setpgid(0, 0);
  // The kernel sends it when dtlaunch dies, even by SIGKILL, and so ends the command.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != launcher) ::_exit(127);  // dtlaunch died before prctl()
  // dtlaunch ignores some signals, and its threads block all: the command would inherit both.
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // Standard output is for the job's ranks; the command must not write to it.
  const int null = ::open("/dev/null", O_WRONLY);
  if (::dup2(input, STDIN_FILENO) < 0 || null < 0 || ::dup2(null, STDOUT_FILENO) < 0) ::_exit(127);
  ::execve("/bin/sh", arguments, environment);
  ::_exit(127);
}

// Variables that an event may set. If a name occurs twice, shells use the last one; and dtlaunch
// may itself run inside such a command, with an outer job's values in its environment.
constexpr std::array<std::string_view, 5> kEventVariables = {
    "DTL_EVENT", "DTL_JOB", "DTLAUNCH_EVENT_OF", "DTL_RESTARTS", "DTL_EXIT_STATUS"};

void add_inherited(std::vector<std::string>& variables) {
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto* const own =
        std::find(kEventVariables.begin(), kEventVariables.end(), text.substr(0, text.find('=')));
    if (own == kEventVariables.end()) variables.emplace_back(text);
  }
}

// The command in its own process group, which signals of the terminal do not reach. It has default
// signals, the event as its input, and only standard error as output. It ends with this process.
class Child {
 public:
  Child(const std::string& command, int input, std::vector<std::string> variables) {
    add_inherited(variables);
    std::vector<char*> environment;
    for (std::string& entry : variables) environment.push_back(entry.data());
    environment.push_back(nullptr);
    std::string shell = "sh", option = "-c", words = command;
    char* const arguments[] = {shell.data(), option.data(), words.data(), nullptr};
    const pid_t launcher = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) become_command(input, launcher, arguments, environment.data());
    if (pid_ < 0) error_ = errno;
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // How it failed; empty: it succeeded. Kills its process group at the deadline.
  std::string wait(JobEvents::Clock::time_point deadline) const {
    // wait() reports this like all other failures, so there is one place for the line.
    if (error_ != 0) return "cannot be started: " + errno_text(error_);
    std::string unwatched;
    bool ended = false;
    try {
      ended = wait_for(watch_child(pid_), deadline);
    } catch (const Error& error) {
      unwatched = error.what();
    }
    // The whole group; waitpid() below then returns at once.
    if (!ended) ::kill(-pid_, SIGKILL);
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    if (!unwatched.empty()) return "was killed: " + unwatched;
    if (!ended)
      return fmt::format("did not end within {} s and was killed", kEventPatience.count());
    if (WIFSIGNALED(status)) return "ended by " + signal_name(WTERMSIG(status));
    if (WEXITSTATUS(status) != 0) return fmt::format("ended with status {}", WEXITSTATUS(status));
    return {};
  }

 private:
  static bool wait_for(const Fd& process, JobEvents::Clock::time_point deadline) {
    for (;;) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(deadline - JobEvents::Clock::now());
      pollfd waited{process.get(), POLLIN, 0};
      const int ready =
          ::poll(&waited, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
      if (ready > 0) return true;
      if (ready == 0) return false;
    }
  }

  pid_t pid_ = -1;
  int error_ = 0;
};

}  // namespace

std::string event_json(const JobEvent& event, const std::string& job_id, const Reporting& reporting,
                       std::time_t now) {
  nlohmann::ordered_json json;
  json["event"] = name_of(event.kind);
  json["job"] = job_id;
  for (const auto& [name, values] : lists_about_job(reporting)) json[name] = values;
  json["time"] = utc_text(now);
  json["seconds"] = static_cast<double>(event.since_start.count()) / 1000;
  json["restarts"] = event.restarts;
  if (event.kind == JobEvent::Kind::kStart) json["ranks"] = event.ranks;
  if (!event.hosts.empty()) json["hosts"] = event.hosts;
  if (!event.left_out.empty()) json["left_out"] = event.left_out;
  if (event.outcome) {
    json["cause"] = cause_name(event.outcome->cause);
    json["exit_status"] = event.outcome->exit_status;
    if (event.outcome->rank >= 0) json["rank"] = event.outcome->rank;
    if (event.outcome->signal != 0) json["signal"] = signal_name(event.outcome->signal);
    if (!event.outcome->text.empty()) json["text"] = event.outcome->text;
  }
  if (!event.host.empty()) json["host"] = event.host;
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

JobEvents::JobEvents(Reporting reporting, std::string job_id)
    : reporting_(std::move(reporting)), job_id_(std::move(job_id)) {
  if (!reporting_.on_event.empty()) thread_ = std::thread([this] { run(); });
}

JobEvents::~JobEvents() {
  stop();
}

void JobEvents::tell(const JobEvent& event) {
  if (reporting_.on_event.empty()) return;
  Told told;
  told.name = name_of(event.kind);
  told.json = event_json(event, job_id_, reporting_, std::time(nullptr));
  // DTLAUNCH_EVENT_OF marks the command's processes as this job's, so that the search for leftovers
  // of dead jobs finds them.
  told.variables = {"DTL_EVENT=" + told.name, "DTL_JOB=" + job_id_, "DTLAUNCH_EVENT_OF=" + job_id_,
                    fmt::format("DTL_RESTARTS={}", event.restarts)};
  if (event.outcome) {
    told.variables.push_back(fmt::format("DTL_EXIT_STATUS={}", event.outcome->exit_status));
  }
  bool is_full = false;
  {
    const std::lock_guard lock(mutex_);
    // Drops the event, with a line for the user, instead of blocking the job.
    is_full = waiting_.size() >= kMaxEvents;
    if (!is_full) waiting_.push_back(std::move(told));
  }
  changed_.notify_one();
  if (is_full) {
    log_notice(fmt::format("--on-event is not told of \"{}\": {} events wait for it",
                           name_of(event.kind), kMaxEvents));
  }
}

void JobEvents::finish(const JobResult& result, int status) {
  JobEvent event;
  event.kind = JobEvent::Kind::kEnd;
  event.outcome = *result.last.job.outcome;
  event.outcome->exit_status = status;
  if (!result.epochs.empty()) {
    event.restarts = static_cast<int>(result.epochs.size()) - 1;
    event.since_start = result.epochs.back().ended;
    event.host = result.epochs.back().host;
  }
  tell(event);
  stop();
}

void JobEvents::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    // One deadline for all waiting events, plus the last: 64 hanging commands must not delay the
    // job's end by ten minutes.
    last_deadline_ = Clock::now() + 2 * kEventPatience;
  }
  changed_.notify_one();
  thread_.join();
}

void JobEvents::run() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);  // signals are handled by the job's thread
  for (;;) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stopped_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    // Runs without the lock, so tell() never waits for a command.
    const Told told = std::move(waiting_.front());
    waiting_.pop_front();
    auto deadline = Clock::now() + kEventPatience;
    if (stopped_) deadline = std::min(deadline, last_deadline_);
    lock.unlock();
    run_command(told, deadline);
  }
}

void JobEvents::run_command(const Told& told, Clock::time_point deadline) const {
  std::string problem;
  try {
    const Fd input = file_of(told.json);
    problem = Child(reporting_.on_event, input.get(), told.variables).wait(deadline);
  } catch (const Error& error) {
    problem = error.what();
  }
  if (problem.empty()) return;
  log_notice(fmt::format("--on-event's command for \"{}\" {}; the job does not depend on it",
                         told.name, problem));
}

}  // namespace dtl
