// Selects one scheduler and lets it read. Ambiguity is an error, never a guess: a job on the wrong
// hosts disturbs others.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "plan/request/host_token.h"
#include "plan/schedulers/evidence.h"
#include "plan/schedulers/own_variables.h"
#include "plan/schedulers/scheduler_reader.h"

namespace dtl {
namespace {

// ---- selecting the scheduler

using Wanted = std::optional<const Scheduler*>;

struct Candidate {
  const Scheduler* scheduler = nullptr;  // nullptr: none
  Sighting seen;
};

// Whether a job of the inner one may run inside the outer one and still see its variables: a
// scheduler inside another, or kinds of pods that share variables.
bool are_related(const Scheduler& inner, const Scheduler& outer) {
  return &inner == &outer || (inner.pods && outer.pods) || inner.runs_inside == outer.name;
}

std::vector<Candidate> find_candidates(const SchedulerReader& variables) {
  std::vector<Candidate> all;
  for (const Scheduler* scheduler : schedulers()) {
    for (Sighting& seen : scheduler->look(variables, false)) {
      all.push_back({scheduler, std::move(seen)});
    }
  }
  return all;
}

Candidate wanted_candidate(const SchedulerReader& variables, const Scheduler& wanted) {
  const std::vector<Sighting> seen = wanted.look(variables, true);
  if (!seen.empty()) return {&wanted, seen[0]};
  throw option_error(fmt::format("--scheduler {}", wanted.name),
                     "the environment has none of its variables",
                     "dtlaunch --show-scheduler, or --scheduler none");
}

// Weak evidence, which other programs also leave, counts only with strong evidence of the same kind
// or alone. So variables exported for torchrun do not contradict Slurm.
void drop_weak(std::vector<Candidate>& all) {
  const auto first =
      std::find_if(all.begin(), all.end(), [](const Candidate& each) { return !each.seen.weak; });
  // Only weak evidence: then it counts.
  if (first == all.end()) return;
  const Scheduler& sure = *first->scheduler;
  std::erase_if(all, [&](const Candidate& each) {
    return each.seen.weak && !are_related(*each.scheduler, sure);
  });
}

Candidate choose_scheduler(const SchedulerReader& variables, Wanted wanted) {
  if (wanted) return *wanted == nullptr ? Candidate{} : wanted_candidate(variables, **wanted);
  std::vector<Candidate> all = find_candidates(variables);
  drop_weak(all);
  if (all.empty()) return {};
  // In the order of schedulers(), each with its strongest evidence first.
  const Candidate& chosen = all[0];
  for (const Candidate& other : all) {
    if (are_related(*chosen.scheduler, *other.scheduler)) continue;
    throw option_error(
        std::string(other.seen.variable),
        fmt::format("set by {}, and {} by {}: only one of them started this job",
                    other.scheduler->name, chosen.seen.variable, chosen.scheduler->name),
        fmt::format("--scheduler {}, --scheduler {} or --scheduler none", chosen.scheduler->name,
                    other.scheduler->name));
  }
  return chosen;
}

// Why the evidence does not make this a job of the scheduler; empty: it does. Always empty if the
// user chose the scheduler.
std::string_view declined(const Candidate& chosen, Wanted wanted,
                          const SchedulerReader& variables) {
  if (!wanted && chosen.scheduler == nullptr && variables.has("DTL_RDZV")) {
    return "DTL_RDZV: left out: without DTL_NODE_RANK or a scheduler this is not one of several "
           "nodes";
  }
  if (wanted || chosen.scheduler == nullptr || chosen.scheduler->declines == nullptr) return {};
  return chosen.scheduler->declines(variables);
}

// ---- reading its evidence

// The scheduler may identify this host by its own name; hostnames are compared only otherwise.
void find_this_host(const SchedulerAnswers& answers, SchedulerEvidence& evidence) {
  const bool known = std::any_of(evidence.hosts.begin(), evidence.hosts.end(),
                                 [](const Host& host) { return host.here; });
  if (known || evidence.role != SchedulerRole::kLauncher) return;
  for (Host& host : evidence.hosts) host.here = same_host_name(host.name, answers.host_name);
}

// Draws conclusions from a node's place, and whether it knows where to find the others.
void settle_node(SchedulerEvidence& evidence) {
  if (evidence.role == SchedulerRole::kLauncher || evidence.refusal) return;
  const bool counted = evidence.elastic || evidence.node_count;
  const int most = evidence.elastic ? evidence.elastic->most : evidence.node_count.value_or(1);
  if (!counted && !evidence.coordinator.empty()) {
    evidence.follows.emplace_back("--nnodes says how many nodes there are, or DTL_NNODES");
    return;
  }
  if (most == 1 && evidence.role == SchedulerRole::kNode) {
    evidence.follows.push_back("there is one node: the job runs on this machine alone");
    return;
  }
  if (evidence.coordinator.empty()) {
    const int tasks = evidence.rank ? evidence.rank->world_size : 0;
    evidence.refusal = {
        fmt::format("this is one of {}", tasks > 0 ? plural(tasks, "task") : plural(most, "node")),
        "nothing says where they can meet",
        "DTL_RDZV=HOST:29500, of one of them, in the environment of all"};
    return;
  }
  if (evidence.node_rank && evidence.node_count && evidence.ranks_per_node) {
    const int each = *evidence.ranks_per_node, first = *evidence.node_rank * each;
    evidence.follows.push_back(
        fmt::format("with {} on each node, this one has {} of {}", plural(each, "rank"),
                    each == 1 ? fmt::format("rank {}", first)
                              : fmt::format("the ranks {}-{}", first, first + each - 1),
                    static_cast<std::int64_t>(*evidence.node_count) * each));
  }
}

SchedulerEvidence no_scheduler(std::string_view reason, Wanted wanted) {
  SchedulerEvidence evidence;
  if (wanted) {
    evidence.follows.push_back("--scheduler none: whatever the environment says");
  } else if (!reason.empty()) {
    evidence.warnings.emplace_back(reason);
  }
  evidence.follows.push_back("without hosts, the job runs on this machine");
  return evidence;
}

// A job started inside a rank must not use the hosts of the whole allocation: the other ranks are
// on them.
bool is_inside_a_rank(const SchedulerReader& variables, Wanted wanted) {
  return !wanted && variables.has("DTLAUNCH_JOB");
}

}  // namespace

SchedulerQuestions scheduler_questions(const Variables& environment, Wanted wanted) {
  SchedulerReader variables(environment);
  SchedulerQuestions questions;
  if (is_inside_a_rank(variables, wanted)) return questions;
  const Candidate chosen = choose_scheduler(variables, wanted);
  if (chosen.scheduler == nullptr || !declined(chosen, wanted, variables).empty()) return questions;
  questions.scheduler = chosen.scheduler;
  if (chosen.scheduler->ask != nullptr) chosen.scheduler->ask(chosen.seen, variables, questions);
  return questions;
}

SchedulerEvidence find_scheduler(const Variables& environment, Wanted wanted,
                                 const SchedulerAnswers& answers) {
  SchedulerReader variables(environment);
  SchedulerEvidence evidence;
  if (is_inside_a_rank(variables, wanted)) {
    variables.text("DTLAUNCH_JOB");
    evidence.follows.push_back("this is a rank of another job, whose hosts are that job's");
    evidence.used = variables.used();
    return evidence;
  }
  const Candidate chosen = choose_scheduler(variables, wanted);
  const std::string_view reason = declined(chosen, wanted, variables);
  if (chosen.scheduler == nullptr || !reason.empty()) {
    // Read only to record it: --show-scheduler shows rejected evidence too.
    if (chosen.scheduler != nullptr) variables.text(chosen.seen.variable);
    evidence = no_scheduler(reason, wanted);
  } else {
    evidence = chosen.scheduler->read(chosen.seen, variables, answers);
    evidence.scheduler = chosen.scheduler;
    find_this_host(answers, evidence);
    settle_node(evidence);
  }
  evidence.used = variables.used();
  return evidence;
}

HostAccess host_access(const SchedulerEvidence& evidence) {
  HostAccess access;
  if (evidence.scheduler == nullptr) return access;
  access.commands = &evidence.scheduler->commands(evidence);
  // Users' commands need the job; in a step, job_id includes the step's number.
  access.job = evidence.step_of.empty() ? evidence.job_id : evidence.step_of;
  return access;
}

bool same_host_name(const std::string& one, const std::string& other) {
  if (one.empty() || other.empty()) return false;
  if (canonical_name(one) == canonical_name(other)) return true;
  if (is_address(one) || is_address(other)) return false;
  // Two different long names are two machines; a short one may be the beginning of a long one.
  const bool both_long = one.find('.') != one.npos && other.find('.') != other.npos;
  return !both_long && to_lower(first_label(one)) == to_lower(first_label(other));
}

}  // namespace dtl
