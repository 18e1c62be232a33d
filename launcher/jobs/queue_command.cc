// dtlaunch queue: asks hosts for their tickets. queue_view.h makes one line of them.
#include "launcher/jobs/jobs_commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "base/host_name.h"
#include "base/log.h"
#include "base/machine/job_record.h"
#include "base/text.h"
#include "launcher/jobs/queue_view.h"
#include "plan/request/host_token.h"

namespace dtl {
namespace {

// Only this machine was asked, and jobs that were started here may wait elsewhere.
void tell_of_other_hosts() {
  constexpr std::size_t kMostHosts = 8;
  for (const RecordFile& file : records_here()) {
    const JobRecord& record = file.record;
    const bool waits = record.role == "launcher" && record.state == kWaitingState;
    if (!waits || !is_running(record.process)) continue;
    const std::vector<std::string> hosts = split(record.hosts, ',');
    const bool is_elsewhere = std::any_of(hosts.begin(), hosts.end(), [](const auto& host) {
      return !host.empty() && !is_loopback_name(host) && host != own_host_name();
    });
    if (!is_elsewhere) continue;
    const bool few = hosts.size() <= kMostHosts;
    const auto count = static_cast<std::int64_t>(hosts.size());
    log_notice(message_text(
        fmt::format("job {}", record.job_id.substr(0, 4)),
        fmt::format("it waits on {}", few ? record.hosts : plural(count, "host")),
        "dtlaunch queue " + (few ? "-hosts " + record.hosts : std::string("-f HOSTFILE"))));
  }
}

}  // namespace

// Returns the status of the first host that did not answer; the line has the others' tickets.
int show_queue(const JobsCommand& command, const StartOptions& start) {
  int failed = 0;
  std::vector<Unreachable> unreachable;
  const std::vector<HostCores> hosts = list_node_cores(command, start, &failed, &unreachable);
  // An empty line would say that nobody waits.
  if (hosts.empty() && !command.json) return failed;
  const std::vector<WaitingJob> jobs = fold_line(hosts);
  if (command.hostfile.empty() && command.host_list.empty()) tell_of_other_hosts();
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
