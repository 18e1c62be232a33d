// dtlaunch: starts ranks on one or many hosts, watches them and ends them together. dtlaunch(1).

#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <exception>

#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/machine/descriptor_limit.h"
#include "base/machine/memory_limit.h"
#include "base/text.h"
#include "launcher/options/foreign_program.h"
#include "launcher/run/commands.h"
#include "launcher/run/pid_one.h"

namespace dtl {
namespace {

// Opens descriptors 0 to 2 if they are closed, so that no socket gets such a number.
void open_standard_descriptors() {
  while (true) {
    const int fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (fd < 0) throw system_error("cannot open /dev/null");
    if (fd <= STDERR_FILENO) continue;
    ::close(fd);
    return;
  }
}

}  // namespace
}  // namespace dtl

int main(int argc, char** argv) {
  using dtl::Exit;
  dtl::set_program_name("dtlaunch");
  // Even when started as mpirun: `dtlaunch clean` knows living launchers by this name.
  ::prctl(PR_SET_NAME, "dtlaunch");
  try {
    // First, because it forks, which is safe only without threads; the child does the rest.
    dtl::leave_init_behind();
    // If a reader is gone, write(2) returns an error, which the job handles.
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);  // a file that is too long is an ordinary error
    // Keep as much freed memory as output may wait to be written: these buffers come and go, and
    // getting them from the kernel again costs more than filling them.
    ::mallopt(M_TRIM_THRESHOLD, dtl::kOutputWindows);
    // After `stty tostop`, SIGTTOU would stop a background job, and ranks would be lost.
    std::signal(SIGTTOU, SIG_IGN);
    dtl::open_standard_descriptors();
    // A few descriptors for each host: the usual 1,024 do not suffice for a large job.
    dtl::raise_descriptor_limit();
    return dtl::run_command({argv + 1, argv + argc}, dtl::called_as(argc > 0 ? argv[0] : ""));
  } catch (const dtl::Error& error) {
    // A last hint after a mistake on the command line.
    const bool is_bare = error.status() == Exit::kUsage && error.hint().empty();
    dtl::log_error(is_bare ? dtl::message_text(error.attempted(), error.reason(), "dtlaunch --help")
                           : error.what());
    return static_cast<int>(error.status());
  } catch (const std::exception& fault) {
    if (const auto resource = dtl::resource_error(fault)) {
      dtl::log_error(resource->what());
      return static_cast<int>(Exit::kOs);
    }
    dtl::log_error(fmt::format("internal error: {}", fault.what()));
    return static_cast<int>(Exit::kInternal);
  }
}
