// dtagent: the part of dtlaunch that runs on every node. dtlaunch starts it, over ssh or as a local
// child, and speaks frames with it over its standard input and output. dtagent(8).

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <exception>
#include <string>
#include <string_view>

#include "agent/detect.h"
#include "agent/guard_link.h"
#include "agent/kill_tree.h"
#include "agent/session.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "wire/greeting.h"
#include "wire/messages.h"

namespace dtl {
namespace {

constexpr const char* kHelp =
    "usage: dtagent --stdio | --help | --version\n"
    "\n"
    "The part of dtlaunch that runs on every node. dtlaunch starts it.\n"
    "\n"
    "  --stdio    speak with dtlaunch over standard input and output\n"
    "  --help     show this text\n"
    "  --version  show the version and the number of the protocol\n";

void say(const std::string& text) {
  write_all(STDOUT_FILENO, text);
}

std::string own_folder() {
  std::string path(4096, '\0');
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
  if (size <= 0) throw system_error("cannot find dtagent's own folder");
  path.resize(static_cast<std::size_t>(size));
  return path.substr(0, path.rfind('/'));
}

// Descriptors 0 to 2 exist, nothing else is inherited, and no terminal's ^C reaches us.
void clean_up_inheritance() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0) ::open("/dev/null", O_RDWR);
  }
#ifdef SYS_close_range
  ::syscall(SYS_close_range, 3u, ~0u, 0);
#endif
  ::setsid();
  ::signal(SIGPIPE, SIG_IGN);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

// After the guard has been started: ranks keep the limits that the user gave them.
void set_own_limits() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;  // three pipes and two files for each rank that starts
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);  // the job's secret is in our memory
}

std::string make_nonce() {
  std::string bytes(16, '\0');
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw system_error("cannot read random bytes");
  }
  return to_hex(bytes);
}

// The guard exits when its link closes; nothing of us should outlive us.
void await_guard() {
  constexpr timespec kWait{1, 0};  // it has nothing left to do but to exit
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &child, nullptr);  // before the look, so that no end is missed
  pid_t ended = 0;
  do {
    ended = ::waitpid(-1, nullptr, WNOHANG);
    if (ended < 0) return;
  } while (ended > 0 || ::sigtimedwait(&child, nullptr, &kWait) == SIGCHLD);
}

Exit serve() {
  if (::isatty(STDIN_FILENO) != 0) {
    throw Error(Exit::kUsage, "standard input is a terminal", "dtagent is started by dtlaunch",
                "dtlaunch --help");
  }
  clean_up_inheritance();
  const std::string folder = own_folder();
  Fd guard = start_guard(folder);
  set_own_limits();
  say(to_line({kProtocol, DTL_VERSION, make_nonce()}));
  Exit status = Exit::kOk;
  {
    Session session(folder, std::move(guard), Fd(STDIN_FILENO), Fd(STDOUT_FILENO));
    status = session.run(detect_node());
  }
  await_guard();
  return status;
}

Exit run(int argc, char** argv) {
  const std::string_view option = argc == 2 ? argv[1] : "";
  if (option == "--stdio") return serve();
  if (option == "--help") {
    say(kHelp);
    return Exit::kOk;
  }
  if (option == "--version") {
    say("dtagent " DTL_VERSION " (protocol " + std::to_string(kProtocol) + ")\n");
    return Exit::kOk;
  }
  throw Error(Exit::kUsage, argc < 2 ? "no option given" : "cannot understand the options",
              argc < 2 ? "" : join(std::vector<std::string>(argv + 1, argv + argc), " "),
              "dtagent --help");
}

}  // namespace
}  // namespace dtl

int main(int argc, char** argv) {
  dtl::set_program_name("dtagent");
  try {
    return static_cast<int>(dtl::run(argc, argv));
  } catch (const dtl::Error& error) {
    dtl::log_error(error.what());
    return static_cast<int>(error.status());
  } catch (const std::exception& error) {
    dtl::log_error(error.what());
    return static_cast<int>(dtl::Exit::kInternal);
  }
}
