// Every member is always there; what is unknown, or makes no sense for this scheduler, is null.
#include "launcher/request/facts_json.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "launcher/screen/json_answer.h"
#include "wire/messages.h"

namespace dtl {
namespace {

using Facts = nlohmann::ordered_json;

// Values of variables may not be UTF-8.
std::string dumped(const Facts& facts) {
  return facts.dump(-1, ' ', false, Facts::error_handler_t::replace);
}

template <class Value>
Facts or_null(const std::optional<Value>& value) {
  return value ? Facts(*value) : Facts();
}

Facts text_or_null(std::string_view text) {
  return text.empty() ? Facts() : Facts(text);
}

const char* role_word(SchedulerRole role) {
  switch (role) {
    case SchedulerRole::kLauncher:
      return "launcher";
    case SchedulerRole::kNode:
      return "node";
    case SchedulerRole::kRank:
      return "rank";
  }
  return "?";
}

// As in -launcher; null: this dtlaunch starts no agents on other hosts.
Facts starter_word(const SchedulerEvidence& evidence) {
  if (evidence.role != SchedulerRole::kLauncher || evidence.refusal) return nullptr;
  if (evidence.starter == nullptr) return "ssh";
  return evidence.starter->words.front().word;
}

Facts hosts_of(const SchedulerEvidence& evidence) {
  Facts hosts = Facts::array();
  for (const Host& host : evidence.hosts) {
    hosts.push_back({{"host", host.name},
                     {"slots", or_null(host.slots)},
                     {"max_slots", or_null(host.max_slots)}});
  }
  return hosts;
}

void add_nodes(const SchedulerEvidence& evidence, Facts& facts) {
  facts["node_count"] = or_null(evidence.node_count);
  facts["least_nodes"] = evidence.elastic ? Facts(evidence.elastic->least) : Facts();
  facts["most_nodes"] = evidence.elastic ? Facts(evidence.elastic->most) : Facts();
  facts["node_rank"] = or_null(evidence.node_rank);
  facts["ranks_per_node"] = or_null(evidence.ranks_per_node);
  facts["coordinator"] = text_or_null(evidence.coordinator);
  facts["coordinator_port"] =
      evidence.coordinator_port > 0 ? Facts(evidence.coordinator_port) : Facts();
  facts["is_coordinator"] = evidence.is_coordinator;
}

}  // namespace

std::string version_json(const std::vector<LibraryPlace>& libraries) {
  Facts facts = {{"version", DTL_VERSION}, {"protocol", kProtocol}};
  facts["libraries"] = Facts::array();
  for (const LibraryPlace& library : libraries) {
    facts["libraries"].push_back(
        {{"name", library.name}, {"version", library.version}, {"place", library.place}});
  }
  return json_answer("version", dumped(facts));
}

std::string limits_json(const std::vector<LimitFact>& facts) {
  Facts limits = {{"waits", Facts::array()}, {"bounds", Facts::array()}};
  for (const LimitFact& fact : facts) {
    if (fact.wait_s) {
      limits["waits"].push_back(
          {{"name", fact.name}, {"wait_s", *fact.wait_s}, {"meaning", fact.meaning}});
    } else {
      limits["bounds"].push_back(
          {{"name", fact.name}, {"bound", fact.bound}, {"meaning", fact.meaning}});
    }
  }
  return json_answer("limits", dumped(limits));
}

std::string scheduler_json(const SchedulerEvidence& evidence) {
  const bool found = evidence.scheduler != nullptr;
  Facts facts;
  facts["scheduler"] = found ? Facts(evidence.scheduler->name) : Facts();
  facts["scheduler_job"] = text_or_null(evidence.job_id);
  facts["role"] = found ? Facts(role_word(evidence.role)) : Facts();
  facts["restarts"] = evidence.restart;
  facts["starter"] = found ? starter_word(evidence) : Facts();
  facts["hosts"] = hosts_of(evidence);
  add_nodes(evidence, facts);
  facts["conclusions"] = evidence.follows;
  facts["refused"] = evidence.refusal
                         ? Facts(message_text(evidence.refusal->attempted, evidence.refusal->reason,
                                              evidence.refusal->hint))
                         : Facts();
  facts["warnings"] = evidence.warnings;
  if (!evidence.crowded.empty()) facts["warnings"].push_back(evidence.crowded);
  facts["variables"] = Facts::object();
  for (const auto& [name, value] : evidence.used) facts["variables"][name] = value;
  return json_answer("scheduler", dumped(facts));
}

}  // namespace dtl
