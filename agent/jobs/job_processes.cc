// A process can overwrite its /proc/PID/environ with anything. So a value counts only if it has the
// form of a job id.
#include "agent/jobs/job_processes.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string_view>

#include "base/machine/job_record.h"
#include "base/text.h"

namespace dtl {
namespace {

constexpr std::size_t kMaxEnvironment = 4 << 20;
constexpr std::string_view kJobVariable = "DTLAUNCH_JOB";
constexpr std::string_view kEventVariable = "DTLAUNCH_EVENT_OF";

std::string job_in_environment(pid_t pid, std::string_view variable) {
  for (const std::string& entry : split(read_proc(pid, "environ"), '\0')) {
    if (!entry.starts_with(variable) || entry[variable.size()] != '=') continue;
    const std::string job = entry.substr(variable.size() + 1);
    return job.size() == 16 && is_job_id_prefix(job) ? job : "";
  }
  return {};
}

}  // namespace

std::string read_proc(pid_t pid, const char* name) {
  std::ifstream file(fmt::format("/proc/{}/{}", pid, name), std::ios::binary);
  std::string text;
  char buffer[4096];
  while (text.size() < kMaxEnvironment && (file.read(buffer, sizeof buffer) || file.gcount() > 0)) {
    text.append(buffer, static_cast<std::size_t>(file.gcount()));
  }
  return text;
}

std::string job_of(pid_t pid) {
  return job_in_environment(pid, kJobVariable);
}

std::string owner_of(pid_t pid) {
  std::string job = job_of(pid);
  return job.empty() ? job_in_environment(pid, kEventVariable) : job;
}

bool is_own(pid_t pid) {
  struct stat status {};
  return ::stat(fmt::format("/proc/{}", pid).c_str(), &status) == 0 && status.st_uid == ::geteuid();
}

}  // namespace dtl
