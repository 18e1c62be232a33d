// to_table: how a plan is shown by --dry-run.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/text.h"
#include "plan/command_text.h"
#include "plan/job_plan.h"

namespace dtl {
namespace {

constexpr std::size_t kNarrowest = 60;  // narrower terminals wrap by themselves
constexpr std::size_t kLabel = 12;      // "directory   "

// Words one after another, broken before `width`; later lines start under the first word.
std::string wrapped(const std::vector<std::string>& words, std::size_t indent, std::size_t width,
                    std::string_view separator) {
  std::string text;
  std::size_t column = indent;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string word = words[i] + (i + 1 < words.size() ? std::string(separator) : "");
    if (column > indent && column + trim(word).size() > width) {
      while (text.ends_with(' ')) text.pop_back();
      text += '\n' + std::string(indent, ' ');
      column = indent;
    }
    text += word;
    column += word.size();
  }
  return text;
}

std::string row(std::string_view label, const std::string& text) {
  return fmt::format("{:<{}}{}\n", label, kLabel, text);
}

std::string endpoint(const JobPlan& plan) {
  const bool ipv6 = plan.master_address.find(':') != std::string::npos;
  return ipv6 ? fmt::format("[{}]:{}", plan.master_address, plan.master_port)
              : fmt::format("{}:{}", plan.master_address, plan.master_port);
}

std::string plural(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string cpus_text(const CpuSet& cpus, std::size_t indent, std::size_t width) {
  if (cpus.empty()) return "not pinned";
  return wrapped(split(cpus.to_list(), ','), indent, width, ",");
}

std::string node_rows(const NodePlan& node, std::size_t width) {
  constexpr std::string_view kColumns = "  {:>6}{:>8}{:>9}  {}\n";
  constexpr std::size_t kCpusAt = 27;
  const std::string interface = node.interface.empty() ? "" : " on " + node.interface;
  const std::string address = node.address.empty() ? "" : fmt::format("  {}", node.address);
  std::string text = fmt::format("\n{}{}{}  {}\n", node.host_name, address, interface,
                                 plural(node.ranks.size(), "rank"));
  text += fmt::format(kColumns, "rank", "local", "threads", "CPUs");
  for (const RankPlan& rank : node.ranks) {
    text += fmt::format(kColumns, rank.rank, rank.local_rank, rank.threads,
                        cpus_text(rank.cpus, kCpusAt, width));
  }
  return text;
}

// What each program is, by its first rank.
std::string program_rows(const JobPlan& plan, std::size_t width) {
  std::map<int, const RankPlan*> programs;
  for (const NodePlan& node : plan.nodes) {
    for (const RankPlan& rank : node.ranks) programs.try_emplace(rank.program, &rank);
  }
  std::string text;
  for (const auto& [index, rank] : programs) {
    if (programs.size() > 1) text += row("program", fmt::format("from rank {} on", rank->rank));
    text += row("command",
                wrapped(shown_arguments(rank->arguments, rank->environment), kLabel, width, " "));
    text += row("directory", rank->working_directory);
  }
  return text;
}

}  // namespace

std::string to_table(const JobPlan& plan, int columns) {
  const std::size_t width = std::max(kNarrowest, static_cast<std::size_t>(std::max(columns, 0)));
  std::string text =
      row("job", fmt::format("{}: {} on {}", plan.job_id,
                             plural(static_cast<std::size_t>(plan.world_size), "rank"),
                             plural(plan.nodes.size(), "node")));
  text += row("master", endpoint(plan));
  text += program_rows(plan, width);
  for (const NodePlan& node : plan.nodes) text += node_rows(node, width);
  if (!plan.warnings.empty()) text += '\n';
  for (const std::string& warning : plan.warnings) {
    text += row("warning", wrapped(split(warning, ' '), kLabel, width, " "));
  }
  return text;
}

}  // namespace dtl
