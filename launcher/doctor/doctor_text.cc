// The text names only a few hosts of a finding, because a paragraph with 200 names hides the
// problem. JSON and -v name all of them.
#include "launcher/doctor/doctor_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "launcher/screen/json_answer.h"
#include "launcher/screen/terminal_color.h"

namespace dtl {
namespace {

constexpr std::size_t kIndent = 9;  // "warning  "
constexpr std::size_t kNamesShown = 4;

// Breaks each line between words. All lines but the first are indented, so that levels form a
// column.
std::string wrapped(const std::string& text, std::size_t columns) {
  const std::string indent(kIndent, ' ');
  std::string result;
  for (const std::string& whole : split(text, '\n')) {
    // Leading blanks of a line are kept: some errors contain a list with an indent of its own.
    const std::size_t own = std::min(whole.find_first_not_of(' '), whole.size());
    std::string line = (result.empty() ? "" : indent) + std::string(own, ' ');
    bool empty = true;
    for (const std::string& word : split(std::string_view(whole).substr(own), ' ')) {
      // The caller puts the level, kIndent wide, before the first line.
      const std::size_t used = line.size() + (result.empty() ? kIndent : 0);
      if (!empty && used + 1 + word.size() > columns) {
        result += line + "\n";
        line = indent + std::string(own, ' ');
        empty = true;
      }
      line += (empty ? "" : " ") + word;
      empty = false;
    }
    result += line + "\n";
  }
  return result;
}

std::string names(const std::vector<std::string>& hosts, bool all) {
  // "and 1 more" would be as long as the name.
  if (all || hosts.size() <= kNamesShown + 1) return join(hosts, ", ");
  const std::vector<std::string> first(hosts.begin(), hosts.begin() + kNamesShown);
  return fmt::format("{} and {} more", join(first, ", "), hosts.size() - kNamesShown);
}

// The lines with what to try are bold, their indent is not.
std::string bold_lines(std::string_view lines) {
  std::string text;
  for (const std::string& line : split(lines, '\n')) {
    if (line.empty()) continue;  // after the last line
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    text += line.substr(0, indent) + bold(std::string_view(line).substr(indent)) + "\n";
  }
  return text;
}

std::string paragraph(const Finding& finding, bool verbose, std::size_t columns, bool color) {
  std::string text = finding.hosts.empty() ? "" : names(finding.hosts, verbose) + ": ";
  text += finding.check + ": " + finding.text;
  std::string level = fmt::format("{:<{}}", level_name(finding.level), kIndent);
  const std::string problem = wrapped(text, columns);
  if (!finding.fix.empty()) text += "\nTry: " + finding.fix;
  const std::string whole = wrapped(text, columns);
  if (!color) return level + whole;
  if (finding.level == Level::kError) {
    const std::string_view word = level_name(finding.level);
    level = bold_red(word) + level.substr(word.size());
  }
  // Lines are wrapped one by one, so the text without the fix is the beginning of the whole.
  return level + problem + bold_lines(std::string_view(whole).substr(problem.size()));
}

std::string fine_in_one_line(const std::vector<Finding>& findings, std::size_t columns) {
  std::vector<std::string> checks;
  for (const Finding& finding : findings) {
    if (finding.level != Level::kOk) continue;
    if (std::find(checks.begin(), checks.end(), finding.check) == checks.end()) {
      checks.push_back(finding.check);
    }
  }
  if (checks.empty()) return {};
  return fmt::format("{:<{}}", "ok", kIndent) + wrapped(join(checks, ", "), columns);
}

}  // namespace

std::string doctor_text(const std::vector<Finding>& findings, std::size_t hosts, bool verbose,
                        int columns, bool color) {
  // Below 40 columns nothing readable would be left beside the indent.
  const auto width = static_cast<std::size_t>(std::max(columns, 40));
  const auto of_level = [&](Level level) {
    return static_cast<std::size_t>(
        std::count_if(findings.begin(), findings.end(),
                      [&](const Finding& finding) { return finding.level == level; }));
  };
  std::string text;
  for (const Finding& finding : findings) {
    if (finding.level == Level::kOk && !verbose) continue;
    // Why other networks were rejected interests only users of -v.
    if (finding.level == Level::kNote && finding.check == "network" && !verbose) continue;
    text += paragraph(finding, verbose, width, color);
  }
  if (!verbose) text += fine_in_one_line(findings, width);
  const std::size_t errors = of_level(Level::kError), warnings = of_level(Level::kWarning);
  const bool starts = exit_status(findings) == 0;
  // The verdict comes last: after a long list, that is the line above the prompt.
  text += fmt::format("A job {} start on {}: {}, {}.\n", starts ? "would" : "would not",
                      hosts == 1 ? "this host" : fmt::format("these {} hosts", hosts),
                      plural(errors, "error"), plural(warnings, "warning"));
  return text;
}

std::string doctor_json(const std::vector<Finding>& findings, const std::vector<Examination>& hosts,
                        const std::vector<Link>& links) {
  using nlohmann::json;
  json root;
  root["version"] = DTL_VERSION;
  root["exit_status"] = exit_status(findings);
  root["would_start"] = exit_status(findings) == 0;
  root["findings"] = json::array();
  for (const Finding& finding : findings) {
    root["findings"].push_back({{"level", level_name(finding.level)},
                                {"check", finding.check},
                                {"hosts", finding.hosts},
                                {"text", finding.text},
                                {"fix", finding.fix}});
  }
  root["hosts"] = json::array();
  for (const Examination& host : hosts) {
    json each = {{"name", host.name}, {"facts", host.more}, {"up", !host.failure.has_value()}};
    if (host.clock_ahead_s) each["clock_ahead_s"] = *host.clock_ahead_s;
    if (host.facts) {
      each["cores"] = host.facts->topology.cores.size();
      each["memory_bytes"] = host.facts->topology.memory_bytes;
      for (const Nic& nic : host.facts->nics) {
        each["interfaces"].push_back({{"name", nic.name},
                                      {"up", nic.up},
                                      {"mtu", nic.mtu},
                                      {"speed_mbps", nic.speed_mbps},
                                      {"addresses", nic.addresses}});
      }
    }
    root["hosts"].push_back(std::move(each));
  }
  root["links"] = json::array();
  for (const Link& link : links) {
    root["links"].push_back({{"from", hosts.at(link.from).name},
                             {"to", hosts.at(link.to).name},
                             {"gbits", link.gbits},
                             {"round_trip_us", link.trip_us}});
  }
  std::vector<Unreachable> unreachable;
  for (const Examination& host : hosts) {
    if (host.failure) unreachable.push_back({host.name, host.failure->what()});
  }
  // Text from hosts may not be UTF-8; `replace` writes U+FFFD where the default would throw.
  return json_answer("doctor", root.dump(-1, ' ', false, json::error_handler_t::replace),
                     unreachable);
}

}  // namespace dtl
