// The service does not speak the protocol and sees no ranks. It starts one `dtagent --serve` for
// each connection and waits for it to end. It logs the errors of one job and continues.
#include "agent/entrance/service.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <list>
#include <memory>
#include <utility>

#include "agent/entrance/notify.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/machine/process_handle.h"
#include "base/machine/runtime_folder.h"
#include "base/machine/unix_socket.h"
#include "base/text.h"
#include "wire/asio.h"
#include "wire/user_listener.h"

namespace dtl {
namespace {

constexpr std::size_t kMaxJobs = 1024;  // at once; further launchers are disconnected

int socket_option(int fd, int option) {
  int value = -1;
  socklen_t size = sizeof value;
  return ::getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

// The socket that systemd passes (sd_listen_fds(3)); invalid if there is none. The variables only
// count for the process that LISTEN_PID names, as children inherit them.
Fd inherited_listener() {
  constexpr int kFirst = 3;
  const std::string pid = take_variable("LISTEN_PID");
  const std::string count = take_variable("LISTEN_FDS");
  const auto names = split(take_variable("LISTEN_FDNAMES"), ':');
  const auto fds = parse_integer(count, 1, 1024);
  if (!fds || pid != std::to_string(::getpid())) return Fd();
  // A unit may pass several sockets; ours is named dtagent.
  int chosen = kFirst;
  for (std::size_t i = 0; i < names.size() && i < static_cast<std::size_t>(*fds); ++i) {
    if (names[i] == "dtagent") chosen = kFirst + static_cast<int>(i);
  }
  if (socket_option(chosen, SO_DOMAIN) != AF_UNIX || socket_option(chosen, SO_ACCEPTCONN) != 1) {
    throw Error(Exit::kConfig, "cannot serve",
                fmt::format("descriptor {} from systemd is not a listening unix socket", chosen),
                "ListenStream=%t/dtlaunch/agent.socket");
  }
  set_close_on_exec(chosen, true);
  return Fd(chosen);
}

struct JobAgent {
  JobAgent(asio::io_context& context, pid_t number, Fd end)
      : pid(number), process(context, end.release()) {}
  pid_t pid;
  asio::posix::stream_descriptor process;  // a pidfd: readable once it has ended
};

class Service {
 public:
  Service(std::string own_folder, Fd listener, std::string socket_path)
      : program_(std::move(own_folder) + "/dtagent"),
        socket_path_(std::move(socket_path)),
        listening_(std::move(listener)),
        listener_(
            context_, [this](Fd peer) { take_launcher(peer); },
            [] { log_notice("refused a connection from another user"); }),
        watchdog_(context_),
        signals_(context_, SIGTERM, SIGINT) {}

  Exit run() {
    listener_.start(std::move(listening_));
    wait_for_signal();
    if (notifier_.watchdog_interval().count() > 0) pet_watchdog();
    notifier_.send("READY=1\n" + status());
    context_.run();
    return Exit::kOk;
  }

 private:
  std::string status() const {
    return fmt::format("STATUS={} on this node", plural(jobs_.size(), "job"));
  }

  void take_launcher(const Fd& peer) {
    if (jobs_.size() < kMaxJobs) {
      start_agent(peer.get());
    } else {
      log_error(fmt::format("refused a launcher: {} jobs are running already", jobs_.size()));
    }
  }

  // By its path, not /proc/self/exe: after an upgrade each new job gets the new dtagent. With
  // --serve: --stdio would ask this service again.
  void start_agent(int peer) {
    posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_adddup2(&files, peer, STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&files, peer, STDOUT_FILENO);
    std::string name = "dtagent", option = "--serve";
    char* arguments[] = {name.data(), option.data(), nullptr};
    pid_t pid = 0;
    const int failed = ::posix_spawn(&pid, program_.c_str(), &files, nullptr, arguments, environ);
    ::posix_spawn_file_actions_destroy(&files);
    if (failed != 0) {
      log_error(fmt::format("{}: cannot start: {}", program_, errno_text(failed)));
      return;
    }
    Fd end;
    try {
      end = watch_child(pid);
    } catch (const Error& error) {
      // We would not notice its end, so it must not continue.
      log_error(error.what());
      ::kill(pid, SIGTERM);
      return;
    }
    const auto job = jobs_.emplace(jobs_.end(), context_, pid, std::move(end));
    job->process.async_wait(asio::posix::stream_descriptor::wait_read,
                            [this, job](boost::system::error_code) { agent_ended(job); });
    notifier_.send(status());
  }

  void agent_ended(std::list<JobAgent>::iterator job) {
    int status = 0;
    ::waitpid(job->pid, &status, 0);
    if (WIFSIGNALED(status)) {
      log_error(fmt::format("agent {} of a job was killed by {}", job->pid,
                            signal_name(WTERMSIG(status))));
    }
    jobs_.erase(job);
    notifier_.send(this->status());
    if (stopping_ && jobs_.empty()) context_.stop();
  }

  // Called from the loop that does all the work: the manager notices if it hangs.
  void pet_watchdog() {
    notifier_.send("WATCHDOG=1");
    watchdog_.expires_after(notifier_.watchdog_interval());
    watchdog_.async_wait([this](boost::system::error_code cancelled) {
      if (!cancelled) pet_watchdog();
    });
  }

  void wait_for_signal() {
    signals_.async_wait([this](boost::system::error_code cancelled, int) {
      if (cancelled) return;
      stop();
      wait_for_signal();
    });
  }

  // Each agent ends its ranks in order. A second signal does not hurry them: the grace is short.
  void stop() {
    if (std::exchange(stopping_, true)) return;
    notifier_.send("STOPPING=1\nSTATUS=ending the jobs of this node");
    listener_.close();
    // No new launcher may find a service that is ending. A socket from systemd stays for the next
    // service.
    if (!socket_path_.empty()) ::unlink(socket_path_.c_str());
    for (const JobAgent& job : jobs_) ::kill(job.pid, SIGTERM);
    if (jobs_.empty()) context_.stop();
  }

  std::string program_, socket_path_;  // path: empty if the socket is from systemd
  asio::io_context context_{1};
  Fd listening_;  // until listener_ takes it
  UserListener listener_;
  asio::steady_timer watchdog_;
  asio::signal_set signals_;
  Notifier notifier_;
  std::list<JobAgent> jobs_;
  bool stopping_ = false;
};

}  // namespace

Exit run_service(const std::string& own_folder, bool allow_root) {
  if (::geteuid() == 0 && !allow_root) {
    throw Error(Exit::kConfig, "cannot serve as root",
                "a service of each user is safer (--allow-root serves as root)",
                "runuser -u USER -- dtagent --service");
  }
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGHUP, SIG_IGN);  // it outlives the login that started it
  Fd listener = inherited_listener();
  std::string path;
  if (!listener.valid()) {
    path = runtime_folder() + "/" + kServiceSocket;
    listener = listen_unix(path);
    log_notice("serving on " + path);
  }
  Service service(own_folder, std::move(listener), std::move(path));
  return service.run();
}

}  // namespace dtl
