// Every member is always there: null where a table has nothing, or a mark for "unknown".
#include "launcher/jobs/jobs_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace dtl {
namespace {

using Members = nlohmann::ordered_json;

const char* status_word(JobStatus status) {
  switch (status) {
    case JobStatus::kAlive:
      return "alive";
    case JobStatus::kEnded:
      return "ended";
    case JobStatus::kLost:
      return "lost";
    case JobStatus::kLeftover:
      return "left-over";
    case JobStatus::kCleaned:
      return "cleaned";
  }
  return "?";
}

Members text_or_null(const std::string& text, std::string_view unknown = "") {
  return text == unknown ? Members() : Members(text);
}

Members names_of(const std::vector<Host>& hosts) {
  Members names = Members::array();
  for (const Host& host : hosts) names.push_back(host.name);
  return names;
}

Members job_members(const JobView& job, std::int64_t now) {
  const JobRecord& record = job.record;
  Members members;
  members["job"] = job.id;
  members["status"] = status_word(job.status);
  members["state"] = job.state;
  members["exit_status"] = job.ended ? Members(record.exit_status) : Members();
  members["launcher_host"] = text_or_null(job.launcher_host);
  // Agents know only their own parts of these.
  members["complete"] = job.launcher_seen;
  members["nodes"] = job.nodes;
  members["ranks"] = record.ranks;
  members["hosts"] = job.launcher_seen ? Members(split(record.hosts, ',')) : Members();
  members["agents"] = names_of(job.agents);
  members["began"] = record.since > 0 ? Members(utc_text(record.since)) : Members();
  // A host's clock may be ahead.
  members["age_s"] =
      record.since > 0 ? Members(std::max<std::int64_t>(now - record.since, 0)) : Members();
  members["restarts"] = job.launcher_seen ? Members(record.restarts) : Members();
  members["detached"] = job.launcher_seen ? Members(record.detached) : Members();
  members["tags"] = job.launcher_seen ? Members(record.tags) : Members();
  members["command"] = text_or_null(record.command);
  members["epochs"] = job.launcher_seen ? Members(record.epochs) : Members();
  return members;
}

Members claim_members(const ClaimedCores& claim) {
  return {{"job", text_or_null(claim.job, "?")},
          {"user", text_or_null(claim.user, "?")},
          {"age_s", claim.age_s},
          {"shared", claim.shared},
          {"cpus", claim.cpus},
          {"cores", claim.cores}};
}

// Text from hosts may not be UTF-8.
std::string text_of(const Members& members) {
  return members.dump(-1, ' ', false, Members::error_handler_t::replace);
}

}  // namespace

std::string jobs_json(const std::vector<JobView>& jobs, std::int64_t now,
                      const std::vector<Unreachable>& unreachable) {
  Members members;
  members["time"] = utc_text(now);
  members["jobs"] = Members::array();
  for (const JobView& job : jobs) members["jobs"].push_back(job_members(job, now));
  return json_answer("jobs", text_of(members), unreachable);
}

std::string cores_json(const std::vector<HostCores>& hosts,
                       const std::vector<Unreachable>& unreachable) {
  Members members;
  members["hosts"] = Members::array();
  for (const HostCores& host : hosts) {
    const NodeCores& node = host.cores;
    Members each = {{"host", host.host},
                    {"cpus", node.cpus},
                    {"cores", node.cores},
                    {"free_cpus", node.free_cpus},
                    {"free_cores", node.free_cores}};
    each["claims"] = Members::array();
    for (const ClaimedCores& claim : node.claims) each["claims"].push_back(claim_members(claim));
    members["hosts"].push_back(std::move(each));
  }
  return json_answer("cores", text_of(members), unreachable);
}

}  // namespace dtl
