// On each node the waiting and the working dtlaunch meet at a unix socket named after the step. One
// byte goes over it: the job's exit status.
#include "launcher/schedulers/step_node.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/error.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/machine/runtime_folder.h"
#include "base/text.h"
#include "launcher/schedulers/job_token.h"
#include "launcher/schedulers/token_file.h"
#include "wire/messages.h"

namespace dtl {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kRoomPatience = 60s;    // for the launcher's answer; it already listens
constexpr auto kWaiterPatience = 30s;  // for the waiting dtlaunch on this node to start
constexpr auto kFilePatience = 5s;     // for all nodes to see a new file
constexpr auto kLook = 20ms;
constexpr int kFirstNodeLost = 128 + SIGKILL;  // as in jobs whose nodes find each other

// The socket of the dtlaunch of a step that waits on this node.
std::string waiting_place(const std::string& step) {
  return runtime_subfolder("steps") + "/" + step;
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // A truncated path would be another socket.
  if (path.size() >= sizeof address.sun_path) {
    throw Error(Exit::kConfig, path + ": cannot use the socket", "the path is too long");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size());
  return address;
}

template <class Call>
bool with_address(const std::string& path, const Call& call) {
  const sockaddr_un address = address_of(path);
  return call(reinterpret_cast<const sockaddr*>(&address),
              static_cast<socklen_t>(sizeof address)) == 0;
}

Fd new_socket() {
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) throw system_error("cannot make a socket");
  return fd;
}

constexpr int kNoted[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2};

// The signal that ends the wait. Static for the handler; a process waits only once. The first one
// stays: Slurm may send others right after it.
volatile std::sig_atomic_t came = 0;
void note(int signal) {
  // SIGUSR1 and SIGUSR2 are notices to the job, and do not end a wait.
  if (came == 0 && signal != SIGUSR1 && signal != SIGUSR2) came = signal;
}

// Notes these signals from now on, and blocks them. Returns the mask that lets them arrive.
sigset_t note_signals() {
  sigset_t noted, open;
  ::sigemptyset(&noted);
  for (const int signal : kNoted) ::sigaddset(&noted, signal);
  ::pthread_sigmask(SIG_BLOCK, &noted, &open);
  for (const int signal : kNoted) {
    ::sigdelset(&open, signal);
    struct sigaction action {};
    action.sa_handler = note;
    ::sigaction(signal, &action, nullptr);
  }
  return open;
}

// Waits for a connection until then, or for a signal that ends the wait.
bool wait_for_connection(const Fd& listening, const sigset_t& open, Clock::time_point until) {
  pollfd waits{listening.get(), POLLIN, 0};
  int ready = 0;
  while (ready <= 0 && Clock::now() < until && came == 0) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    const timespec wait{left.count() / 1000, left.count() % 1000 * 1'000'000};
    // Signals arrive only here: one between the check and the wait would be missed.
    ready = ::ppoll(&waits, 1, &wait, &open);
  }
  return ready > 0;
}

}  // namespace

// Both ends belong to this user: no other user may enter the socket's folder.
Fd connect_to_waiter(const std::string& step) {
  const std::string path = waiting_place(step);
  const auto until = Clock::now() + kWaiterPatience;
  for (;;) {
    Fd fd = new_socket();
    if (with_address(path, [&](const sockaddr* to, socklen_t size) {
          return ::connect(fd.get(), to, size);
        })) {
      return fd;
    }
    if (Clock::now() >= until) {
      throw Error(
          Exit::kTimeout, fmt::format("step {}", step),
          fmt::format("dtlaunch does not run on this node after {} s", kWaiterPatience / 1s),
          "srun with --ntasks-per-node=1");
    }
    std::this_thread::sleep_for(kLook);
  }
}

void release_waiter(const Fd& waiter, int status) {
  const auto byte = static_cast<unsigned char>(status);
  ::send(waiter.get(), &byte, 1, MSG_NOSIGNAL);
}

int join_as_node(JoinCall call, const std::string& agent_path) {
  call.hello.protocol = kProtocol;
  call.hello.version = DTL_VERSION;
  call.agent_path = agent_path;
  // A step needs an agent on every node, so it starts while the node connects.
  call.agent_at_once = true;
  call.patience = kRoomPatience;
  return serve_joined_job(std::move(call));
}

// Network file systems cache missing files, so a new file appears a moment later.
std::string read_token_in(const std::string& path, const std::string& node) {
  const auto until = Clock::now() + kFilePatience;
  for (;;) {
    // A missing file may still appear; other problems stay.
    try {
      return read_token_file(path, "its file");
    } catch (const Error& error) {
      if (Clock::now() < until && ::access(path.c_str(), F_OK) != 0) {
        std::this_thread::sleep_for(kLook);
        continue;
      }
      throw file_error(node, "cannot join the job",
                       fmt::format("cannot read its token from {}: {}", path, error.reason()),
                       "(umask 077; openssl rand -hex 32 >FILE); export DTL_TOKEN_FILE=FILE, in a "
                       "folder that all nodes see");
    }
  }
}

bool waits_for_first_node(const SchedulerEvidence& evidence) {
  return evidence.role == SchedulerRole::kNode && evidence.starter != nullptr;
}

int wait_for_first_node(const SchedulerEvidence& evidence, std::chrono::seconds patience) {
  // Slurm signals all of its tasks, and the first one then ends the job in order. This one only
  // notes the signal, and gets that job's status in the end.
  const sigset_t open = note_signals();
  const std::string path = waiting_place(evidence.job_id);
  ::unlink(path.c_str());
  const Fd listening = new_socket();
  if (!with_address(path, [&](const sockaddr* at,
                              socklen_t size) { return ::bind(listening.get(), at, size); }) ||
      ::listen(listening.get(), 1) != 0) {
    throw system_error(path + ": cannot wait for the first node");
  }
  const bool connected = wait_for_connection(listening, open, Clock::now() + patience);
  Fd node(connected ? ::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC) : -1);
  ::unlink(path.c_str());
  if (!connected && came != 0) return 128 + came;
  if (!node.valid()) {
    throw Error(Exit::kTimeout, "the first node",
                fmt::format("its dtlaunch has not started the job after {} s", patience.count()),
                fmt::format("--start-timeout {}", 2 * patience.count()));
  }
  unsigned char status = 0;
  ssize_t count = 0;
  do {
    count = ::read(node.get(), &status, 1);
  } while (count < 0 && errno == EINTR);
  // No byte: the other end died.
  if (count == 1) return status;
  log_error(fmt::format("the dtlaunch on {} is gone, and the job with it", evidence.coordinator));
  return kFirstNodeLost;
}

}  // namespace dtl
