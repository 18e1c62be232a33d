// Only the record's first state; JobWatch updates it.
#include "launcher/report/job_identity.h"

#include <unistd.h>

#include <ctime>

#include "base/host_name.h"
#include "base/text.h"
#include "launcher/job/job.h"
#include "plan/request/command_text.h"

namespace dtl {

std::string join_names(const std::vector<Host>& hosts) {
  std::vector<std::string> names;
  for (const Host& host : hosts) names.push_back(host.name);
  return join(names, ",");
}

JobRecord first_record(const std::string& job_id, const Request& request, bool labelled) {
  const EnvironmentOptions& common = request.environment;
  JobRecord record;
  record.role = "launcher";
  record.job_id = job_id;
  record.process = identify(::getpid());
  record.host = record.launcher_host = own_host_name();
  // Without hosts the job runs on this machine.
  record.hosts = request.hosts.empty() ? record.host : join_names(request.hosts);
  for (const Program& program : request.programs) {
    // Any user may see a command in ps, but only while it runs; a kept record stays.
    std::vector<std::string> environment;
    for (const Variables* variables :
         {program.inherited ? &*program.inherited : &common.inherited, &common.set, &program.set}) {
      for (const auto& [name, value] : *variables) environment.push_back(name + "=" + value);
    }
    record.command += (record.command.empty() ? "" : " : ") +
                      join(shown_arguments(program.command, environment), " ");
  }
  record.tags = request.reporting.tags;
  record.since = std::time(nullptr);
  record.state = state_name(JobState::kStarting);
  record.labelled = labelled;
  return record;
}

std::vector<NamedList> lists_about_job(const Reporting& reporting) {
  if (reporting.tags.empty()) return {};
  return {{"tags", reporting.tags}};
}

}  // namespace dtl
