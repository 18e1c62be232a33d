// One function for each part of the document. Most empty and unknown values are left out instead of
// written as null.
#include "launcher/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "launcher/report/job_identity.h"
#include "launcher/report/series_json.h"
#include "launcher/session/card_facts.h"
#include "plan/request/command_text.h"
#include "wire/messages.h"

namespace dtl {
namespace {

// Keeps the order of insertion; the plain type would sort the members by name.
using OrderedJson = nlohmann::ordered_json;

// The words of the man page.
const char* phase_name(RankPhase phase) {
  switch (phase) {
    case RankPhase::kWaiting:
      return "not-started";
    // It ran when the agent was last heard, and nobody has reported its end.
    case RankPhase::kStarted:
      return "unknown";
    case RankPhase::kExited:
      return "exited";
    case RankPhase::kSpawnFailed:
      return "spawn-failed";
    case RankPhase::kLost:
      return "lost";
  }
  return "?";
}

OrderedJson environment_json(const std::vector<std::string>& environment) {
  OrderedJson variables = OrderedJson::object();
  for (const std::string& entry : environment) {
    const std::size_t equals = entry.find('=');
    const std::string name = entry.substr(0, equals);
    // An entry without "=" might be a whole secret.
    const bool secret = looks_secret(name);
    variables[name] = secret || equals == std::string::npos
                          ? "***"
                          : without_url_passwords(entry.substr(equals + 1));
  }
  return variables;
}

// Whether the rank ended by our SIGTERM or SIGKILL, or with a status that means one of them. A rank
// that had ended before the signal, or answers it with another status, ended by itself.
bool ended_by_us(const RankState& rank) {
  const auto ours = [](int signal) { return signal == SIGTERM || signal == SIGKILL; };
  return rank.after_stop && (ours(rank.signal) || (rank.signal == 0 && ours(rank.code - 128)));
}

// What a rank did when the job's time was up.
OrderedJson stack_json(const Stack& answer) {
  OrderedJson json;
  if (answer.answer == StackAnswer::kCannot) {
    json["answer"] = "cannot";
    if (!answer.text.empty()) json["program"] = printable(answer.text);
    return json;
  }
  const bool told = answer.answer == StackAnswer::kTold;
  // stopped: by SIGSTOP or a debugger, so it could not answer.
  json["answer"] = told ? "told" : answer.text == "stopped" ? "stopped" : "silent";
  if (!told) return json;
  const RankStack stack = parse_stack(answer.text);
  if (!stack.collective.empty()) json["collective"] = stack.details;
  if (!stack.since.empty()) json["since"] = stack.since;
  if (const StackFrame* frame = where(stack)) json["at"] = frame_text(*frame);
  for (const std::string& line : split(answer.text, '\n')) {
    if (!line.empty()) json["stack"].push_back(printable(line));
  }
  return json;
}

void add_native(const NativeStack& native, OrderedJson& json) {
  if (!native.told) {
    json["native_problem"] = printable(native.text);
    return;
  }
  for (const std::string& line : split(native.text, '\n')) {
    if (!line.empty()) json["native"].push_back(printable(line));
  }
}

OrderedJson rank_json(const RankPlan& planned, const NodePlan& node, const RankState& state) {
  OrderedJson rank;
  rank["rank"] = planned.rank;
  rank["host"] = node.host_name;
  rank["local_rank"] = planned.local_rank;
  rank["cpus"] = planned.cpus.to_list();
  rank["threads"] = planned.threads;
  rank["end"] = phase_name(state.phase);
  if (!planned.numa.empty()) rank["numa"] = planned.numa;
  if (!planned.comm.empty()) rank["comm_cpus"] = CpuSet(planned.comm).to_list();
  if (state.pid != 0) {
    rank["pid"] = state.pid;
    rank["started_s"] = seconds(state.started);
  }
  if (state.stack) rank["asked"] = stack_json(*state.stack);
  if (state.native) add_native(*state.native, rank["asked"]);
  if (state.phase == RankPhase::kExited || state.phase == RankPhase::kSpawnFailed) {
    rank["status"] = state.signal != 0 ? 128 + state.signal : state.code;
    if (state.signal != 0) rank["signal"] = signal_name(state.signal);
    rank["max_rss_kib"] = state.max_rss_kib;
    rank["ended_s"] = seconds(state.ended);
    rank["ended_by_dtlaunch"] = ended_by_us(state);
    rank["consequence"] = state.consequence;
    rank["oom_kills"] = state.evidence.oom_kills;
  }
  return rank;
}

// Of the last epoch, until the last report of each rank; a short rank may have none.
void add_totals(const RankTotals& totals, OrderedJson& rank) {
  if (totals.reported) {
    rank["cpu_s"] = static_cast<double>(totals.cpu_ms) / 1000;
    rank["sent_bytes"] = totals.sent_bytes;
    rank["collective_bytes"] = totals.collective_bytes;
  }
  rank["output_bytes"] = totals.output_bytes;
}

// The ranks of each program if `a : b` gave several: "0-3". A program's ranks may be on any nodes
// in any order, so they are collected from all nodes.
OrderedJson programs_json(const JobPlan& plan) {
  std::map<int, std::pair<const RankPlan*, std::vector<int>>> programs;
  for (const NodePlan& node : plan.nodes) {
    for (const RankPlan& rank : node.ranks) {
      auto& [first, ranks] = programs[rank.program];
      if (first == nullptr) first = &rank;
      ranks.push_back(rank.rank);
    }
  }
  OrderedJson json = OrderedJson::array();
  for (auto& [index, program] : programs) {
    auto& [first, ranks] = program;
    std::sort(ranks.begin(), ranks.end());
    json.push_back({{"command", masked_arguments(first->arguments, first->environment)},
                    {"working_directory", first->working_directory},
                    {"ranks", fold_ranks(ranks)}});
  }
  return json;
}

OrderedJson plan_json(const JobPlan& plan) {
  OrderedJson json;
  json["job_id"] = plan.job_id;
  json["world_size"] = plan.world_size;
  json["master_address"] = plan.master_address;
  json["master_port"] = plan.master_port;
  json["nodes"] = OrderedJson::array();
  for (const NodePlan& node : plan.nodes) {
    json["nodes"].push_back({{"host", node.host_name},
                             {"address", node.address},
                             {"interface", node.interface},
                             {"ranks", node.ranks.size()}});
  }
  json["programs"] = programs_json(plan);
  json["warnings"] = plan.warnings;
  if (plan.nodes.empty() || plan.nodes.front().ranks.empty()) return json;
  // Uses rank 0 for all: most ranks differ from it only in their numbers.
  const RankPlan& first = plan.nodes.front().ranks.front();
  json["environment_of_rank_0"] = environment_json(first.environment);
  return json;
}

// Every host, even if it did not come up; times since dtlaunch started.
OrderedJson hosts_json(const SessionResult& result) {
  OrderedJson hosts = OrderedJson::array();
  for (std::size_t i = 0; i < result.hosts.size(); ++i) {
    const NodeState& state = result.job.nodes[i];
    OrderedJson host;
    host["host"] = result.hosts[i].name;
    if (state.up) host["up_s"] = seconds(*state.up);
    if (state.finished) host["finished_s"] = seconds(*state.finished);
    hosts.push_back(host);
  }
  return hosts;
}

OrderedJson outcome_json(const SessionResult& result) {
  const Outcome& outcome = *result.job.outcome;
  OrderedJson json;
  json["exit_status"] = outcome.exit_status;
  json["cause"] = cause_name(outcome.cause);
  json["by"] = outcome.rank >= 0 ? "rank" : outcome.node >= 0 ? "node" : "dtlaunch";
  if (outcome.rank >= 0) json["rank"] = outcome.rank;
  // as on the failure card
  if (outcome.node >= 0) json["host"] = card_facts(result).host;
  if (outcome.signal != 0) json["signal"] = signal_name(outcome.signal);
  if (!outcome.text.empty()) json["text"] = outcome.text;
  if (!result.last_lines.empty()) json["last_lines"] = result.last_lines;
  const Hang hang = judge_hang(asked_ranks(result), result.job.hang);
  if (!hang.odd.empty()) json["hangs"] = hang.odd;
  if (!hang.waiting.empty()) {
    json["waiting"] = {{"collective", hang.collective}, {"ranks", hang.waiting}};
  }
  return json;
}

OrderedJson versions_json(const SessionResult& result) {
  OrderedJson json;
  json["dtlaunch"] = DTL_VERSION;
  json["protocol"] = kProtocol;
  for (std::size_t i = 0; i < result.hosts.size(); ++i) {
    if (result.facts[i]) json["dtagent"][result.hosts[i].name] = result.facts[i]->agent_version;
  }
  return json;
}

// Times since the job began.
OrderedJson epoch_json(const Epoch& epoch) {
  const Outcome& outcome = epoch.end.outcome;
  OrderedJson json;
  json["began_s"] = seconds(epoch.began);
  json["ended_s"] = seconds(epoch.ended);
  json["hosts"] = epoch.hosts;
  if (epoch.ranks > 0) json["world_size"] = epoch.ranks;
  json["cause"] = cause_name(outcome.cause);
  json["exit_status"] = outcome.exit_status;
  if (outcome.rank >= 0) json["rank"] = outcome.rank;
  if (!epoch.host.empty()) json["host"] = epoch.host;
  if (outcome.signal != 0) json["signal"] = signal_name(outcome.signal);
  if (!outcome.text.empty()) json["text"] = outcome.text;
  if (!epoch.left_out.empty()) json["left_out"] = epoch.left_out;
  if (epoch.lost.count() > 0) json["lost_s"] = seconds(epoch.lost);
  if (!epoch.why.empty()) json["not_started_again"] = epoch.why;
  return json;
}

}  // namespace

std::string report_json(const JobResult& job, const JobSeries& series) {
  const SessionResult& result = job.last;
  OrderedJson report;
  report["began"] = utc_text(result.began);
  for (const auto& [name, values] : lists_about_job(job.reporting)) report[name] = values;
  report["outcome"] = outcome_json(result);
  report["versions"] = versions_json(result);
  OrderedJson& times = report["seconds"];
  for (std::size_t i = 0; i < result.phases.size(); ++i) {
    // A phase lasts until the next one begins.
    const JobTime end = i + 1 < result.phases.size() ? result.phases[i + 1].began : result.ended;
    const PhaseTime& phase = result.phases[i];
    if (phase.state != JobState::kDone) times[state_name(phase.state)] = seconds(end - phase.began);
  }
  times["total"] = seconds(result.ended);
  report["hosts"] = hosts_json(result);
  report["network"] = result.network;
  report["ranks"] = OrderedJson::array();
  if (result.plan) {
    for (const NodePlan& node : result.plan->nodes) {
      for (const RankPlan& rank : node.ranks) {
        const RankState& state = result.job.ranks[static_cast<std::size_t>(rank.rank)];
        report["ranks"].push_back(rank_json(rank, node, state));
        const auto at = static_cast<std::size_t>(rank.rank);
        if (at < series.totals().size()) add_totals(series.totals()[at], report["ranks"].back());
      }
    }
    report["plan"] = plan_json(*result.plan);
  }
  report["messages"] = result.messages;
  report["dropped_output_bytes"] = result.dropped_bytes;
  // Written if there was more than one epoch, or a reason why no other followed.
  if (job.epochs.size() > 1 || (!job.epochs.empty() && !job.epochs.back().why.empty())) {
    report["restarts"] = job.epochs.size() - 1;
    for (const Epoch& epoch : job.epochs) report["epochs"].push_back(epoch_json(epoch));
  }
  // Text of programs and users need not be UTF-8.
  std::string text = report.dump(2, ' ', false, OrderedJson::error_handler_t::replace);
  const std::string curves = series_json(series);
  if (!curves.empty()) {
    text.resize(text.size() - 2);  // "\n}"
    text += ",\n  \"series\": " + curves + "\n}";
  }
  return text + "\n";
}

}  // namespace dtl
