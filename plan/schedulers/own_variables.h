#pragma once
// Code that several schedulers share: a file of hosts, and the variables DTL_* with which users
// complete or correct a scheduler's values. Readers of schedulers call these last. Pure.

#include <initializer_list>
#include <string>
#include <string_view>

#include "plan/request/hostlist.h"
#include "plan/schedulers/evidence.h"
#include "plan/schedulers/scheduler_reader.h"

namespace dtl {

constexpr int kMaxNodes = static_cast<int>(kMaxHosts);

// The path of the scheduler's list of hosts, and the variable that names it ("": none, it is the
// default path).
struct HostListFile {
  std::string path, named_by;
};
// The file that the variable names. Throws Error(kBadInput) without it.
HostListFile host_list_file(std::string_view variable, SchedulerReader& variables);

// The text of that file. Throws Error(kBadInput) if it could not be read.
const std::string& text_of(const HostListFile& file, const SchedulerAnswers& answers);

// "4" or "2:8" nodes.
void take_nodes(SchedulerReader& variables, std::string_view name, SchedulerEvidence& evidence);
// The address where the nodes meet.
void take_endpoint(SchedulerReader& variables, std::string_view name, SchedulerEvidence& evidence);
// These replace the scheduler's values: DTL_NNODES, DTL_NODE_RANK, DTL_RDZV, DTL_RESTART,
// DTL_JOB_ID.
void take_own_variables(SchedulerReader& variables, SchedulerEvidence& evidence);
// DTL_RDZV replaces the scheduler's meeting point. If no port is named, derives one from the job,
// so that jobs sharing a host do not use the same.
void take_meeting_point(SchedulerReader& variables, SchedulerEvidence& evidence);
// Throws Error(kBadInput) if the node's number does not fit the number of nodes. The message names
// the first of these variables that is set.
void check_node_rank(const SchedulerReader& variables, const SchedulerEvidence& evidence,
                     std::initializer_list<std::string_view> names);
// "dtl-worker-2.dtl.ns" -> "dtl-worker-2"
std::string first_label(const std::string& name);

}  // namespace dtl
