// All what-ifs are for the most nodes: there the network costs most.
#include "launcher/forecast/forecast_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/text.h"
#include "launcher/screen/json_answer.h"

namespace dtl {
namespace {

using ForecastJson = nlohmann::ordered_json;

const char* limit_name(Limit limit) {
  switch (limit) {
    case Limit::kComputing:
      return "computing";
    case Limit::kSlowest:
      return "slowest-node";
    case Limit::kRate:
      return "link-rate";
    case Limit::kLatency:
      return "link-latency";
  }
  return "";
}

// Three digits: 0.0123 s, 1.23 s, 123 s.
std::string seconds_text(double seconds) {
  if (seconds == 0) return "0";
  const int digits = std::clamp(2 - static_cast<int>(std::floor(std::log10(seconds))), 0, 6);
  return fmt::format("{:.{}f}", seconds, digits);
}

bool is_short(const std::string& wire) {
  return wire != "f32";
}

Limit limit_of(const ForecastRow& row) {
  if (row.network_s + row.slowest_s <= kFewWaits * row.step_s) return Limit::kComputing;
  if (row.slowest_s > row.network_s) return Limit::kSlowest;
  return row.latency_s > row.network_s / 2 ? Limit::kLatency : Limit::kRate;
}

std::string limit_sentence(const ForecastQuestion& question, const ForecastRow& row, Limit limit) {
  const std::string step = seconds_text(row.step_s);
  switch (limit) {
    case Limit::kComputing:
      return fmt::format("computing: only {:.1f} % of each step on {} nodes are waits",
                         100 * (row.network_s + row.slowest_s) / row.step_s, row.nodes);
    case Limit::kSlowest:
      return fmt::format("uneven steps: {} of {} s wait for the slowest of {} nodes",
                         seconds_text(row.slowest_s), step, row.nodes);
    case Limit::kLatency:
      return fmt::format("latency: {} of {} s on {} nodes; a faster rate would not help much",
                         seconds_text(row.latency_s), step, row.nodes);
    case Limit::kRate:
      break;
  }
  std::string text = fmt::format("the network: {} of {} s on {} nodes wait for sums",
                                 seconds_text(row.network_s), step, row.nodes);
  LinkFigures enough = question.links;
  const double gbits = enough_gbits(question.step, question.links, row.nodes);
  if (gbits == 0) return text;
  enough.gbits = enough.low_gbits = enough.high_gbits = gbits;
  return text + fmt::format(";\n{:g} Gbit/s would give a speed-up of {:.2f}", gbits,
                            forecast(question.step, enough, row.nodes).speed_up);
}

std::vector<WhatIf> what_ifs_of(const ForecastQuestion& q, int nodes) {
  std::vector<WhatIf> all;
  const bool shortened = is_short(q.step.wire);
  all.push_back({shortened ? "exact gradients on the wire" : "bf16 gradients on the wire",
                 forecast(with_wire(q.step, shortened ? "f32" : "bf16"), q.links, nodes), ""});
  all.push_back({"twice the accumulation", forecast(with_accumulation(q.step, 2), q.links, nodes),
                 "and batch"});
  for (const ComparedStep& other : q.others) {
    ForecastRow row = forecast(other.step, q.links, nodes);
    // Against one node as measured first, if both have the same unit of work.
    if (other.step.tokens_per_node > 0 && q.step.tokens_per_node > 0) {
      const double first = forecast(q.step, q.links, 1).tokens_per_s;
      const double scale = row.tokens_per_s / first / row.speed_up;
      row.speed_up *= scale;
      row.low_speed_up *= scale;
      row.high_speed_up *= scale;
      row.efficiency = row.speed_up / nodes;
    }
    all.push_back({fmt::format("as {} was measured", one_shell_word(other.folder)), row,
                   fmt::format("{} per node", plural(other.step.ranks_per_node, "rank"))});
  }
  return all;
}

std::string row_text(const ForecastRow& row, bool known) {
  const std::string tokens = row.tokens_per_s > 0 ? fmt::format("{:.0f}", row.tokens_per_s) : "-";
  const std::string range = row.nodes == 1 || !known
                                ? ""
                                : fmt::format("{:.2f}-{:.2f}", row.low_speed_up, row.high_speed_up);
  const std::string slowest = row.nodes == 1 ? "-" : seconds_text(row.slowest_s);
  return fmt::format("{:>5} {:>8} {:>9} {:>8.2f} {:<13} {:>9.0f}% {:>9} {:>9}\n", row.nodes,
                     seconds_text(row.step_s), tokens, row.speed_up, range, 100 * row.efficiency,
                     row.nodes == 1 ? "-" : seconds_text(row.network_s), slowest);
}

ForecastJson json_of(const ForecastRow& row) {
  const auto tokens = row.tokens_per_s > 0 ? ForecastJson(row.tokens_per_s) : ForecastJson();
  return {{"nodes", row.nodes},
          {"step_s", row.step_s},
          {"low_step_s", row.low_step_s},
          {"high_step_s", row.high_step_s},
          {"speed_up", row.speed_up},
          {"low_speed_up", row.low_speed_up},
          {"high_speed_up", row.high_speed_up},
          {"efficiency", row.efficiency},
          {"tokens_per_second", tokens},
          {"computing_s", row.computing_s},
          {"slowest_s", row.slowest_s},
          {"sums_cpu_s", row.sums_cpu_s},
          {"network_s", row.network_s},
          {"latency_s", row.latency_s}};
}

double gradient_bytes(const MeasuredStep& step) {
  double bytes = 0;
  for (const GradientBucket& bucket : step.buckets) bytes += bucket.bytes;
  return bytes;
}

bool has_spread(const ForecastQuestion& q) {
  return q.step.computing_s.size() > 1 || q.links.low_gbits < q.links.high_gbits;
}

std::string head_text(const ForecastQuestion& q) {
  const std::string from =
      q.folder.empty()
          ? "given by options"
          : fmt::format("{} of {}",
                        plural(static_cast<std::int64_t>(q.step.computing_s.size()), "step"),
                        one_shell_word(q.folder));
  return fmt::format(
      "step:     {}, {:.1f} MB of {} gradients, {} per node\n"
      "links:    {:.4g} Gbit/s, round trip {:.4g} us, {}\n\n",
      from, gradient_bytes(q.step) / 1e6, q.step.wire, plural(q.step.ranks_per_node, "rank"),
      q.links.gbits, q.links.trip_us, q.links_from);
}

}  // namespace

ForecastAnswer answer(const ForecastQuestion& question) {
  ForecastAnswer all;
  all.rows.push_back(forecast(question.step, question.links, 1));
  for (const int nodes : question.nodes) {
    all.rows.push_back(forecast(question.step, question.links, nodes));
  }
  const ForecastRow& most = all.rows.back();
  all.limit = limit_of(most);
  all.limit_text = limit_sentence(question, most, all.limit);
  all.what_ifs = what_ifs_of(question, most.nodes);
  if (question.step.nodes > 1) {
    const auto count = static_cast<double>(question.step.whole_s.size());
    all.measured_step_s =
        std::accumulate(question.step.whole_s.begin(), question.step.whole_s.end(), 0.0) / count;
    all.at_measured = forecast(question.step, question.links, question.step.nodes);
  }
  if (question.others.empty() && !question.folder.empty()) {
    all.unknown.push_back(fmt::format("other ranks per node than {}: add --from DIR of such a run",
                                      question.step.ranks_per_node));
  }
  if (!has_spread(question)) {
    all.unknown.emplace_back("the error: one step and one rate have no spread");
  }
  if (question.links.cpu_ns <= 0 && !question.step.has_comm_core) {
    all.unknown.emplace_back("CPU time of sums, if no core is free for it");
  }
  return all;
}

std::string forecast_text(const ForecastQuestion& question, const ForecastAnswer& answer) {
  const bool known = has_spread(question);
  std::string text = head_text(question);
  text += fmt::format("{:>5} {:>8} {:>9} {:>8} {:<13} {:>10} {:>9} {:>9}\n", "NODES", "STEP-S",
                      "TOKENS/S", "SPEED-UP", known ? "FROM-TO" : "", "EFFICIENCY", "NETWORK-S",
                      "SLOWEST-S");
  for (const ForecastRow& row : answer.rows) text += row_text(row, known);
  text += "\nlimit:    ";
  for (const char c : answer.limit_text) text += c == '\n' ? "\n          " : std::string(1, c);
  text += '\n';
  for (const WhatIf& what : answer.what_ifs) {
    text += fmt::format("what if:  {}{}: speed-up {:.2f} on {} nodes\n", what.change,
                        what.note.empty() ? "" : " (" + what.note + ")", what.row.speed_up,
                        what.row.nodes);
  }
  if (answer.at_measured) {
    text += fmt::format("measured: {} s per step on {} nodes; the model says {} s\n",
                        seconds_text(*answer.measured_step_s), answer.at_measured->nodes,
                        seconds_text(answer.at_measured->step_s));
  }
  for (const std::string& what : answer.unknown) text += fmt::format("unknown:  {}\n", what);
  return text;
}

std::string forecast_json(const ForecastQuestion& q, const ForecastAnswer& answer) {
  ForecastJson all = {
      {"from", q.folder.empty() ? ForecastJson() : ForecastJson(q.folder)},
      {"steps", q.step.computing_s.size()},
      {"ranks_per_node", q.step.ranks_per_node},
      {"gradient_wire", q.step.wire},
      {"gradient_bytes", gradient_bytes(q.step)},
      {"links",
       {{"gbits", q.links.gbits},
        {"low_gbits", q.links.low_gbits},
        {"high_gbits", q.links.high_gbits},
        {"round_trip_us", q.links.trip_us},
        {"cpu_ns_per_byte", q.links.cpu_ns > 0 ? ForecastJson(q.links.cpu_ns) : ForecastJson()},
        {"from", q.links_from}}},
      {"forecasts", ForecastJson::array()},
      {"limit", limit_name(answer.limit)},
      {"limit_text", answer.limit_text},
      {"what_ifs", ForecastJson::array()},
      {"measured_step_s",
       answer.measured_step_s ? ForecastJson(*answer.measured_step_s) : ForecastJson()},
      {"unknown", answer.unknown}};
  std::replace(all["limit_text"].get_ref<std::string&>().begin(),
               all["limit_text"].get_ref<std::string&>().end(), '\n', ' ');
  for (const ForecastRow& row : answer.rows) all["forecasts"].push_back(json_of(row));
  for (const WhatIf& what : answer.what_ifs) {
    ForecastJson one = {{"change", what.change}, {"note", what.note}};
    one.update(json_of(what.row));
    all["what_ifs"].push_back(one);
  }
  return json_answer("forecast", all.dump(-1, ' ', false, ForecastJson::error_handler_t::replace));
}

}  // namespace dtl
