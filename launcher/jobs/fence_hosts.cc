// Only the word "clean" in an answer makes a host clean, whatever the reason for its absence.
#include "launcher/jobs/fence_hosts.h"

#include <fmt/format.h>

#include "base/limits.h"
#include "base/text.h"

namespace dtl {

std::vector<Fenced> fence_hosts(const std::vector<Host>& hosts, const AgentRunner& run,
                                const std::string& job_id) {
  std::vector<Fenced> all;
  for (const Answer& answer : ask_agents(hosts, run, {"--fence", job_id}, kFenceAnswer)) {
    Fenced& fenced = all.emplace_back();
    if (answer.error) {
      fenced.reason =
          // The message has the host's name already, so use the error without its context.
          answer.error->reason().empty() ? answer.error->attempted() : answer.error->reason();
      continue;
    }
    for (const std::string& line : split(trim(answer.text), '\n')) {
      if (line == "clean") fenced.clean = true;
      if (line.starts_with("ended ")) ++fenced.ended;
      if (line.starts_with("alive ")) fenced.reason = "cannot end process " + line.substr(6);
    }
    if (!fenced.clean && fenced.reason.empty())
      fenced.reason = "dtagent did not say that it is clean";
  }
  return all;
}

std::vector<bool> probe_hosts(const std::vector<Host>& hosts, const AgentRunner& run, int give_up) {
  std::vector<bool> there;
  // --jobs is the cheapest question that needs a working login and dtagent.
  for (const Answer& answer : ask_agents(hosts, run, {"--jobs"}, kFenceAnswer, give_up)) {
    there.push_back(!answer.error && !answer.text.empty());
  }
  return there;
}

}  // namespace dtl
