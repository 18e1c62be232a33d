// A pipe joins the two processes; its end tells the foreground that the work has ended.
#include "launcher/session/background.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <exception>

#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/machine/process_handle.h"
#include "base/text.h"

namespace dtl {
namespace {

// The work sends texts, each ended by a NUL: "m..." is a message, "w" means waits, "r" means
// started, "x12" means ended with status 12.
constexpr char kMessage = 'm', kWaits = 'w', kRunning = 'r', kOver = 'x';

// Static for the signal handler; only the foreground sets it.
volatile std::sig_atomic_t g_interrupted = 0;  // what the foreground has to pass on

void note_signal(int signal) {
  g_interrupted = signal;
}

// The foreground may have ended, as it does after a detached start.
void tell(int news, char kind, std::string_view text = {}) {
  const std::string line = kind + std::string(text) + '\0';
  for (std::size_t sent = 0; sent < line.size();) {
    const ssize_t size = ::write(news, line.data() + sent, line.size() - sent);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return;
    sent += static_cast<std::size_t>(size);
  }
}

void leave_terminal() {
  // Cannot fail: a process that was just forked leads no process group.
  ::setsid();
  std::signal(SIGHUP, SIG_IGN);
  std::signal(SIGINT, SIG_DFL);  // a shell starts background jobs with it ignored
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null.valid()) throw system_error("cannot open /dev/null");
  // Otherwise `ssh host dtlaunch --detach` would wait for the job: sshd waits until nobody holds
  // its pipes.
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null.get(), fd);
}

int work_and_tell(int news, const BackgroundWork& work) {
  try {
    leave_terminal();
    StartNews listeners;
    listeners.waits = [news] { tell(news, kWaits); };
    listeners.started = [news] { tell(news, kRunning); };
    listeners.said = [news](std::string_view text) { tell(news, kMessage, text); };
    // SIGPIPE is ignored, so writing to a foreground that has ended does not kill the work.
    const int status = work(listeners);
    tell(news, kOver, std::to_string(status));
    return status;
  } catch (const Error& error) {
    tell(news, kMessage, error.what());
    tell(news, kOver, std::to_string(static_cast<int>(error.status())));
  } catch (const std::exception& fault) {
    tell(news, kMessage, fmt::format("internal error: {}", fault.what()));
  }
  return static_cast<int>(Exit::kInternal);
}

// Passes signals on to the work while it starts. Afterwards the foreground ends, and signals to it
// no longer concern the work.
class PassedSignals {
 public:
  explicit PassedSignals(pid_t worker) : worker_(worker) {
    struct sigaction action {};
    action.sa_handler = note_signal;  // without SA_RESTART: read() must return
    for (const int signal : {SIGINT, SIGTERM}) ::sigaction(signal, &action, nullptr);
  }
  void pass_on() const {
    // The work is in another session, so ^C on the terminal does not reach it.
    if (g_interrupted != 0) ::kill(worker_, g_interrupted);
    g_interrupted = 0;
  }

 private:
  pid_t worker_;
};

// The next message; empty at the end of the pipe.
std::string next_news(int news, std::string& waiting, const PassedSignals& signals) {
  for (;;) {
    if (const std::size_t end = waiting.find('\0'); end != std::string::npos) {
      const std::string text = waiting.substr(0, end);
      waiting.erase(0, end + 1);
      return text;
    }
    char buffer[4096];
    const ssize_t size = ::read(news, buffer, sizeof buffer);
    signals.pass_on();
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return {};
    waiting.append(buffer, static_cast<std::size_t>(size));
  }
}

int watch_start(pid_t worker, int news, const StartCalls& calls) {
  const PassedSignals signals(worker);
  std::string waiting;
  for (;;) {
    const std::string text = next_news(news, waiting, signals);
    if (text.empty()) {
      throw Error(Exit::kInternal, "process in the background", "it ended without a message");
    }
    // The work has no terminal; it sends its messages through the pipe.
    if (text[0] == kMessage) log_error(text.substr(1));
    if (text[0] == kOver) {
      // 70 is Exit::kInternal: an unreadable status is our own fault.
      return static_cast<int>(parse_integer(text.substr(1), 0, 255).value_or(70));
    }
    if (text[0] != kRunning && text[0] != kWaits) continue;
    const std::function<void()>& call = text[0] == kWaits ? calls.waits : calls.started;
    if (call) call();
    return 0;
  }
}

}  // namespace

int run_in_background(const BackgroundWork& work, const StartCalls& calls) {
  Pipe news = make_pipe();
  const pid_t worker = ::fork();
  if (worker < 0) throw fork_error("cannot start a process in the background");
  if (worker > 0) {
    news.write_end.reset();
    return watch_start(worker, news.read_end.get(), calls);
  }
  news.read_end.reset();
  // _exit(2): the work must not run destructors or flush buffers of the foreground's callers.
  ::_exit(work_and_tell(news.write_end.get(), work));
}

}  // namespace dtl
