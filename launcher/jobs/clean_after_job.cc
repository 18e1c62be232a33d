// Uses dtagent --clean-job and not --clean, which ignores jobs whose launcher still runs, like this
// one.
#include "launcher/jobs/clean_after_job.h"

#include <fmt/format.h>

#include "base/limits.h"
#include "base/log.h"
#include "base/text.h"
#include "plan/request/command_text.h"

namespace dtl {
namespace {

// The host terminates processes, kills them after the grace, and then answers.
constexpr auto kCleanPatience = kKillGrace + kReapDeadline + kAnswerMargin;

}  // namespace

void clean_after_job(const std::vector<Host>& hosts, const AgentRunner& run,
                     const std::string& job_id) {
  if (hosts.empty()) return;
  for (const Answer& answer : ask_agents(hosts, run, {"--clean-job", job_id}, kCleanPatience)) {
    const std::string& name = answer.host.name;
    if (answer.error) {
      log_error(fmt::format("{}; what the job may have left there is ended by: {}",
                            answer.error->what(), leftovers_command(answer.host)));
      continue;
    }
    std::size_t ended = 0;
    for (const std::string& line : split(trim(answer.text), '\n')) {
      if (line.starts_with("ended ")) {
        ++ended;
      } else if (line.starts_with("cannot ")) {
        log_error(fmt::format("{}: {}", name, line));
      }
    }
    if (ended == 0) continue;
    log_notice(fmt::format("{}: ended {} process{} that the job had left there with a dead agent",
                           name, ended, ended == 1 ? "" : "es"));
  }
}

}  // namespace dtl
