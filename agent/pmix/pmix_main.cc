// dtpmix: a PMIx server for the ranks of one node, through which Open MPI's programs find each
// other. A program of its own, since dtagent is fully static and libpmix loads further libraries.
// Only dtagent starts it: `dtpmix --serve FOLDER`, with a socket on descriptor 3.

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "agent/pmix/libpmix.h"
#include "agent/pmix/pmix_service.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/machine/close_from.h"

namespace dtl::pmix {
namespace {

constexpr int kLinkFd = 3;
constexpr unsigned kEndSeconds = 5;  // after the agent, however we hang

void end_soon(int) {
  ::alarm(kEndSeconds);
}

// The agent decides when we end: by closing the link. Signals of a terminal or a scheduler reach
// every process of a job.
void set_up_process() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0) ::open("/dev/null", O_RDWR);
  }
  close_from(kLinkFd + 1);
  ::setsid();
  for (const int each : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE, SIGXFSZ}) {
    ::signal(each, SIG_IGN);
  }
  // The end of the stream says that the agent is dead. This is for one that ends while we hang.
  ::signal(SIGRTMIN, end_soon);
  ::prctl(PR_SET_PDEATHSIG, SIGRTMIN);
}

Fd take_link() {
  int type = 0;
  socklen_t size = sizeof type;
  if (::getsockopt(kLinkFd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM) {
    throw Error(Exit::kUsage, "--serve", "only dtagent starts dtpmix", "dtlaunch --help");
  }
  ::fcntl(kLinkFd, F_SETFD, FD_CLOEXEC);
  return Fd(kLinkFd);
}

void check_folder(const std::string& folder) {
  struct stat status {};
  if (!folder.starts_with('/') || ::lstat(folder.c_str(), &status) != 0 ||
      !S_ISDIR(status.st_mode) || status.st_uid != ::geteuid() || (status.st_mode & 077) != 0) {
    throw Error(Exit::kUsage, "--serve " + folder, "not a private folder of this user");
  }
}

// Of libpmix and the ranks; however we end.
struct EmptiedFolder {
  std::string path;

  ~EmptiedFolder() {
    std::error_code ignored;
    for (std::filesystem::directory_iterator each(path, ignored), end; !ignored && each != end;
         each.increment(ignored)) {
      std::error_code kept;  // a later file may still go
      std::filesystem::remove_all(each->path(), kept);
    }
  }
};

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() == 1 && arguments[0] == "--version") {
    write_all(STDOUT_FILENO, "dtpmix " DTL_VERSION ", libpmix " + LibPmix::version() + "\n");
    return 0;
  }
  if (arguments.size() != 2 || arguments[0] != "--serve") {
    throw Error(Exit::kUsage, "only dtagent starts dtpmix", "", "dtagent --help");
  }
  const std::string& folder = arguments[1];
  Fd link = take_link();
  check_folder(folder);
  set_up_process();
  const EmptiedFolder emptied{folder};
  PmixService service(std::move(link), folder);
  const bool ended = service.run();
  return ended ? 0 : static_cast<int>(Exit::kOs);
}

}  // namespace
}  // namespace dtl::pmix

int main(int count, char** words) {
  dtl::set_program_name("dtpmix");
  try {
    return dtl::pmix::run({words + 1, words + count});
  } catch (const dtl::Error& error) {
    dtl::log_error(error.what());
    return static_cast<int>(error.status());
  } catch (const std::exception& error) {
    dtl::log_error(error.what());
    return static_cast<int>(dtl::Exit::kInternal);
  }
}
