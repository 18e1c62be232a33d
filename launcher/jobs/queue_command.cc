// dtlaunch queue: asks hosts for their tickets. queue_view.h makes one line of them.
#include "launcher/jobs/jobs_commands.h"

#include <unistd.h>

#include <vector>

#include "base/fd.h"
#include "launcher/jobs/queue_view.h"

namespace dtl {

// Returns the status of the first host that did not answer; the line has the others' tickets.
int show_queue(const JobsCommand& command, const StartOptions& start) {
  int failed = 0;
  std::vector<Unreachable> unreachable;
  const std::vector<HostCores> hosts = list_node_cores(command, start, &failed, &unreachable);
  // An empty line would say that nobody waits.
  if (hosts.empty() && !command.json) return failed;
  const std::vector<WaitingJob> jobs = fold_line(hosts);
  if (command.json) {
    write_all(STDOUT_FILENO, queue_json(hosts, jobs, unreachable));
  } else if (jobs.empty()) {
    write_all(STDOUT_FILENO, empty_line_text(hosts));
  } else {
    write_all(STDOUT_FILENO, queue_table(jobs, table_columns(command)));
  }
  return failed;
}

}  // namespace dtl
