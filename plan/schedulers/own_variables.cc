// DTL_* variables are set by users, for schedulers that do not say enough; they win over the
// scheduler's values.
#include "plan/schedulers/own_variables.h"

#include <fmt/format.h>

#include <cstdint>

#include "base/error.h"
#include "base/text.h"

namespace dtl {
namespace {

// The port range where steps and jobs that may share a host meet: from torchrun's default port, and
// below Linux's ephemeral ports.
constexpr int kFirstPort = 29500;
constexpr unsigned kPorts = 500;

}  // namespace

void take_nodes(SchedulerReader& variables, std::string_view name, SchedulerEvidence& evidence) {
  const auto range = variables.range(name, kMaxNodes);
  if (!range) return;
  // Only one of the two may be set: a later variable replaces both.
  evidence.node_count.reset();
  evidence.elastic.reset();
  if (range->least == range->most) {
    evidence.node_count = range->least;
  } else {
    evidence.elastic = range;
  }
}

void take_endpoint(SchedulerReader& variables, std::string_view name, SchedulerEvidence& evidence) {
  const auto endpoint = variables.endpoint(name);
  if (!endpoint) return;
  evidence.coordinator = endpoint->first;
  evidence.coordinator_port = endpoint->second;
}

HostListFile host_list_file(std::string_view variable, SchedulerReader& variables) {
  return {variables.needed(variable), std::string(variable)};
}

const std::string& text_of(const HostListFile& file, const SchedulerAnswers& answers) {
  if (answers.file) return *answers.file;
  throw file_error(file.named_by.empty() ? file.path : file.named_by + "=" + printable(file.path),
                   "cannot read", answers.file_problem, "--scheduler none, and hosts by -f FILE");
}

// If the job's nodes are not counted yet, any number is valid.
void check_node_rank(const SchedulerReader& variables, const SchedulerEvidence& evidence,
                     std::initializer_list<std::string_view> names) {
  if (!evidence.elastic && !evidence.node_count) return;
  const int most = evidence.elastic ? evidence.elastic->most : *evidence.node_count;
  if (!evidence.node_rank || *evidence.node_rank < most) return;
  throw variables.bad(variables.first_of(names),
                      fmt::format("there are only {}, counted from 0", plural(most, "node")));
}

std::string first_label(const std::string& name) {
  return name.substr(0, name.find('.'));
}

void take_meeting_point(SchedulerReader& variables, SchedulerEvidence& evidence) {
  take_endpoint(variables, "DTL_RDZV", evidence);
  if (evidence.coordinator_port > 0) return;
  std::uint32_t sum = 0;
  // Any hash will do: all nodes of a job must choose the same port, two jobs preferably not.
  for (const char c : evidence.job_id) sum = sum * 31 + static_cast<unsigned char>(c);
  evidence.coordinator_port = kFirstPort + static_cast<int>(sum % kPorts);
}

void take_own_variables(SchedulerReader& variables, SchedulerEvidence& evidence) {
  take_nodes(variables, "DTL_NNODES", evidence);
  if (const auto rank = variables.number("DTL_NODE_RANK", 0, kMaxNodes - 1)) {
    evidence.node_rank = rank;
    evidence.node_hint.reset();
  }
  take_endpoint(variables, "DTL_RDZV", evidence);
  evidence.restart = variables.number("DTL_RESTART", 0, INT32_MAX).value_or(evidence.restart);
  if (const std::string id = variables.job_id("DTL_JOB_ID"); !id.empty()) evidence.job_id = id;
}

}  // namespace dtl
