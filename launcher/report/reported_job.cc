// One function for each part of the document, as in report.cc.
#include "launcher/report/reported_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace dtl {
namespace {

using ReadJson = nlohmann::ordered_json;

// An empty value for what is not there.
const ReadJson& part(const ReadJson& json, const char* name) {
  static const ReadJson kNothing;
  if (!json.is_object()) return kNothing;
  const auto at = json.find(name);
  return at == json.end() ? kNothing : *at;
}

std::string text_of(const ReadJson& json) {
  if (json.is_string()) return json.get<std::string>();
  return json.is_number() || json.is_boolean() ? json.dump() : std::string();
}

std::string text_at(const ReadJson& json, const char* name) {
  return text_of(part(json, name));
}

std::optional<double> number_at(const ReadJson& json, const char* name) {
  const ReadJson& value = part(json, name);
  if (!value.is_number() || !std::isfinite(value.get<double>())) return std::nullopt;
  return value.get<double>();
}

int whole_at(const ReadJson& json, const char* name, int otherwise) {
  const auto value = number_at(json, name);
  return value && std::abs(*value) <= 1e9 ? static_cast<int>(*value) : otherwise;
}

bool is_true(const ReadJson& json, const char* name) {
  const ReadJson& value = part(json, name);
  return value.is_boolean() && value.get<bool>();
}

std::vector<std::string> texts_at(const ReadJson& json, const char* name) {
  std::vector<std::string> texts;
  const ReadJson& list = part(json, name);
  if (!list.is_array()) return texts;
  for (const ReadJson& item : list) texts.push_back(text_of(item));
  return texts;
}

ReportedEnd read_end(const ReadJson& json) {
  ReportedEnd end;
  end.exit_status = whole_at(json, "exit_status", 0);
  end.cause = text_at(json, "cause");
  end.rank = whole_at(json, "rank", -1);
  end.host = text_at(json, "host");
  end.signal = text_at(json, "signal");
  end.text = text_at(json, "text");
  return end;
}

std::vector<ReportedEpoch> read_epochs(const ReadJson& list) {
  std::vector<ReportedEpoch> epochs;
  if (!list.is_array()) return epochs;
  for (const ReadJson& json : list) {
    ReportedEpoch epoch;
    epoch.began = number_at(json, "began_s").value_or(0);
    epoch.ended = number_at(json, "ended_s").value_or(epoch.began);
    epoch.hosts = texts_at(json, "hosts");
    epoch.left_out = texts_at(json, "left_out");
    epoch.ranks = whole_at(json, "world_size", 0);
    epoch.end = read_end(json);
    epoch.lost = number_at(json, "lost_s").value_or(0);
    epoch.not_started_again = text_at(json, "not_started_again");
    epochs.push_back(std::move(epoch));
  }
  return epochs;
}

// since: when the last epoch began. The times of hosts and ranks count from there.
std::vector<ReportedHost> read_hosts(const ReadJson& list, const ReadJson& nodes, double since) {
  std::vector<ReportedHost> hosts;
  if (!list.is_array()) return hosts;
  std::map<std::string, const ReadJson*> planned;
  if (nodes.is_array()) {
    for (const ReadJson& node : nodes) planned.emplace(text_at(node, "host"), &node);
  }
  for (const ReadJson& json : list) {
    ReportedHost host;
    host.name = text_at(json, "host");
    host.up = number_at(json, "up_s");
    host.finished = number_at(json, "finished_s");
    for (auto* time : {&host.up, &host.finished}) {
      if (*time) **time += since;
    }
    if (const auto node = planned.find(host.name); node != planned.end()) {
      host.address = text_at(*node->second, "address");
      host.interface = text_at(*node->second, "interface");
    }
    hosts.push_back(std::move(host));
  }
  return hosts;
}

std::vector<ReportedRank> read_ranks(const ReadJson& list, double since) {
  std::vector<ReportedRank> ranks;
  if (!list.is_array()) return ranks;
  for (const ReadJson& json : list) {
    ReportedRank rank;
    rank.rank = whole_at(json, "rank", static_cast<int>(ranks.size()));
    rank.host = text_at(json, "host");
    rank.cpus = text_at(json, "cpus");
    rank.end = text_at(json, "end");
    rank.signal = text_at(json, "signal");
    rank.pid = number_at(json, "pid");
    rank.status = number_at(json, "status");
    rank.started = number_at(json, "started_s");
    rank.ended = number_at(json, "ended_s");
    for (auto* time : {&rank.started, &rank.ended}) {
      if (*time) **time += since;
    }
    rank.max_rss_kib = number_at(json, "max_rss_kib");
    rank.cpu_s = number_at(json, "cpu_s");
    rank.sent_bytes = number_at(json, "sent_bytes");
    rank.collective_bytes = number_at(json, "collective_bytes");
    rank.output_bytes = number_at(json, "output_bytes");
    rank.ended_by_us = is_true(json, "ended_by_dtlaunch");
    rank.consequence = is_true(json, "consequence");
    rank.oom_kills = number_at(json, "oom_kills").value_or(0);
    ranks.push_back(std::move(rank));
  }
  return ranks;
}

std::vector<double> read_curve(const ReadJson& list) {
  std::vector<double> values;
  for (const ReadJson& value : list) {
    values.push_back(value.is_number() ? value.get<double>()
                                       : std::numeric_limits<double>::quiet_NaN());
  }
  return values;
}

void read_series(const ReadJson& json, ReportedJob& job) {
  job.point_s = number_at(json, "point_s").value_or(0);
  if (job.point_s <= 0) return;
  for (const auto& [name, value] : json.items()) {
    if (value.is_array()) job.series[name].emplace_back("", read_curve(value));
    if (!value.is_object()) continue;
    for (const auto& [rank, curve] : value.items()) {
      if (curve.is_array()) job.series[name].emplace_back(rank, read_curve(curve));
    }
  }
}

NamedTexts read_pairs(const ReadJson& json) {
  NamedTexts pairs;
  if (!json.is_object()) return pairs;
  for (const auto& [name, value] : json.items()) {
    if (!value.is_structured()) pairs.emplace_back(name, text_of(value));
  }
  return pairs;
}

void read_plan(const ReadJson& plan, ReportedJob& job) {
  job.world_size = whole_at(plan, "world_size", 0);
  job.warnings = texts_at(plan, "warnings");
  job.environment = read_pairs(part(plan, "environment_of_rank_0"));
  const std::string address = text_at(plan, "master_address");
  if (!address.empty()) job.master = address + " port " + text_at(plan, "master_port");
  const ReadJson& programs = part(plan, "programs");
  if (!programs.is_array()) return;
  for (const ReadJson& program : programs) {
    std::string command;
    for (const std::string& word : texts_at(program, "command")) {
      command += (command.empty() ? "" : " ") + one_shell_word(word);
    }
    const std::string folder = text_at(program, "working_directory");
    job.programs.emplace_back("ranks " + text_at(program, "ranks"),
                              folder.empty() ? command : command + " in " + folder);
  }
}

}  // namespace

std::optional<ReportedJob> parse_report(std::string_view json) {
  const ReadJson report = ReadJson::parse(json, nullptr, false);
  if (!report.is_object()) return std::nullopt;
  ReportedJob job;
  job.end = read_end(part(report, "outcome"));
  const ReadJson& seconds = part(report, "seconds");
  if (seconds.is_object()) {
    for (const auto& [name, value] : seconds.items()) {
      const auto time = number_at(seconds, name.c_str());
      if (time && name != "total" && *time > 0) job.phases.emplace_back(name, *time);
    }
  }
  job.epochs = read_epochs(part(report, "epochs"));
  const ReadJson& plan = part(report, "plan");
  const double since = job.epochs.empty() ? 0 : job.epochs.back().began;
  job.total = since + number_at(seconds, "total").value_or(0);
  job.hosts = read_hosts(part(report, "hosts"), part(plan, "nodes"), since);
  job.ranks = read_ranks(part(report, "ranks"), since);
  read_series(part(report, "series"), job);
  read_plan(plan, job);
  job.versions = read_pairs(part(report, "versions"));
  for (const auto& [host, version] : read_pairs(part(part(report, "versions"), "dtagent"))) {
    job.versions.emplace_back("dtagent on " + host, version);
  }
  job.network = texts_at(report, "network");
  job.messages = texts_at(report, "messages");
  job.dropped_bytes = number_at(report, "dropped_output_bytes").value_or(0);
  return job;
}

}  // namespace dtl
