#include "launcher/detach.h"

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
#include "base/text.h"

namespace dtl {
namespace {

// The keeper's news are texts, each ended by a NUL: "m..." a message, "r" the ranks run, "x12"
// over.
constexpr char kMessage = 'm', kRunning = 'r', kOver = 'x';

volatile std::sig_atomic_t g_interrupted = 0;  // what the foreground has to pass on

void note_signal(int signal) {
  g_interrupted = signal;
}

// The foreground may be gone: that is what detaching is for.
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
  ::setsid();
  std::signal(SIGHUP, SIG_IGN);
  std::signal(SIGINT, SIG_DFL);  // a shell starts background jobs with it ignored
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null.valid()) throw system_error("cannot open /dev/null");
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(null.get(), fd);
}

int keep(int news, const KeepJob& keep_job) {
  try {
    leave_terminal();
    SessionHooks hooks;
    hooks.started = [news] { tell(news, kRunning); };
    hooks.said = [news](std::string_view text) { tell(news, kMessage, text); };
    const int status = keep_job(hooks);
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

// Passes signals on to the keeper while the job starts.
class SignalsToKeeper {
 public:
  explicit SignalsToKeeper(pid_t keeper) : keeper_(keeper) {
    struct sigaction action {};
    action.sa_handler = note_signal;  // without SA_RESTART: read() must return
    for (const int signal : {SIGINT, SIGTERM}) ::sigaction(signal, &action, nullptr);
  }
  void pass_on() const {
    if (g_interrupted != 0) ::kill(keeper_, g_interrupted);
    g_interrupted = 0;
  }

 private:
  pid_t keeper_;
};

// The next of the keeper's news; empty at their end.
std::string next_news(int news, std::string& waiting, const SignalsToKeeper& signals) {
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

int watch_start(const std::string& job_id, pid_t keeper, int news) {
  const SignalsToKeeper signals(keeper);
  std::string waiting;
  for (;;) {
    const std::string text = next_news(news, waiting, signals);
    if (text.empty()) {
      throw Error(Exit::kInternal, "the job's keeper ended without a word", "",
                  "dtlaunch logs " + job_id);
    }
    if (text[0] == kMessage) log_error(text.substr(1));
    if (text[0] == kOver)
      return static_cast<int>(parse_integer(text.substr(1), 0, 255).value_or(70));
    if (text[0] != kRunning) continue;
    write_all(STDOUT_FILENO, job_id + "\n");
    log_notice(fmt::format("job {0} runs in the background. Its output: dtlaunch logs -f {0}",
                           job_id.substr(0, 4)));
    return 0;
  }
}

}  // namespace

int run_in_background(const std::string& job_id, const KeepJob& keep_job) {
  Pipe news = make_pipe();
  const pid_t keeper = ::fork();
  if (keeper < 0) throw system_error("cannot start the job's keeper");
  if (keeper > 0) {
    news.write_end.reset();
    return watch_start(job_id, keeper, news.read_end.get());
  }
  news.read_end.reset();
  ::_exit(keep(news.write_end.get(), keep_job));
}

}  // namespace dtl
