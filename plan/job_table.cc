// to_table(): prints a plan for --dry-run. Rows are aligned for a fixed-width terminal, and wrapped
// between words. A job may have hundreds of nodes, so equal ones share a row.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/text.h"
#include "plan/job_plan.h"
#include "plan/request/command_text.h"

namespace dtl {
namespace {

constexpr std::size_t kNarrowest = 60;      // narrower terminals wrap by themselves
constexpr std::size_t kLabel = 12;          // "directory   "
constexpr std::uint32_t kUsualUmask = 022;  // most users' own umask: not shown

// Wraps the words before `width`; later lines start under the first word.
std::string wrapped(const std::vector<std::string>& words, std::size_t indent, std::size_t width,
                    std::string_view separator) {
  std::string text;
  std::size_t column = indent;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string word = words[i] + (i + 1 < words.size() ? std::string(separator) : "");
    if (column > indent && column + trim(word).size() > width) {
      // The separator's space would be the last character of the line.
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

// "4-31", and the CPUs that are kept for communication.
std::string cpus_text(const RankPlan& rank, std::size_t indent, std::size_t width) {
  if (rank.cpus.empty()) return "not pinned";
  std::vector<std::string> words = split(rank.cpus.to_list(), ',');
  if (rank.comm.empty()) return wrapped(words, indent, width, ",");
  words.back() += "; communication: " + CpuSet(rank.comm).to_list();
  return wrapped(words, indent, width, ",");
}

std::string list_or_dash(const std::vector<int>& numbers) {
  return numbers.empty() ? "-" : fmt::format("{}", fmt::join(numbers, ","));
}

// Distance from the rank's CPUs to the network interface, by NUMA node; "-": unknown.
const char* distance_text(const NodePlan& node, const RankPlan& rank) {
  if (node.interface_numa < 0 || rank.numa.empty()) return "-";
  const bool near =
      std::find(rank.numa.begin(), rank.numa.end(), node.interface_numa) != rank.numa.end();
  return near ? "near" : "far";
}

// The pins of a node's ranks, without rank numbers: nodes with equal text are pinned alike.
std::string pins_of(const NodePlan& node) {
  std::string text;
  for (const RankPlan& rank : node.ranks) {
    text += fmt::format("{} {} {} {} {}\n", rank.local_rank, rank.threads, list_or_dash(rank.numa),
                        distance_text(node, rank), cpus_text(rank, 0, std::string::npos));
  }
  return text;
}

std::string hardware_text(const NodeHardware& hardware) {
  constexpr double kGiB = 1 << 30;
  std::string text = plural(hardware.cores, "core");
  if (hardware.cpus != hardware.cores) text += fmt::format(", {} CPUs", hardware.cpus);
  if (hardware.sockets > 1) text += fmt::format(", {} sockets", hardware.sockets);
  if (hardware.numa_nodes > 1) text += fmt::format(", {} NUMA nodes", hardware.numa_nodes);
  const double memory = static_cast<double>(hardware.memory_bytes) / kGiB;
  return memory > 0 ? text + fmt::format(", {:.{}f} GiB", memory, memory < 10 ? 1 : 0) : text;
}

std::string node_head(const NodePlan& node) {
  std::string text = "\n" + node.host_name;
  if (!node.address.empty()) text += "  " + node.address;
  if (!node.interface.empty()) text += " on " + node.interface;
  if (node.interface_numa >= 0) text += fmt::format(" (NUMA {})", node.interface_numa);
  return text;
}

std::string node_rows(const NodePlan& node, std::size_t width) {
  // The last column has the CPUs: only its text may be long, and is wrapped.
  constexpr std::string_view kColumns = "  {:>6}{:>7}{:>9}  {:<7}{:<6}{}\n";
  // The column of the CPUs in kColumns: 2 + 6 + 7 + 9 + 2 + 7 + 6.
  constexpr std::size_t kCpusAt = 39;
  std::string text = node_head(node);
  text +=
      fmt::format("\n  {}, {}\n", plural(node.ranks.size(), "rank"), hardware_text(node.hardware));
  text += fmt::format(kColumns, "rank", "local", "threads", "NUMA", "NIC", "CPUs");
  for (const RankPlan& rank : node.ranks) {
    text += fmt::format(kColumns, rank.rank, rank.local_rank, rank.threads, list_or_dash(rank.numa),
                        distance_text(node, rank), cpus_text(rank, kCpusAt, width));
  }
  return text;
}

// A CpuSet writes any numbers as "0-3,8".
std::string numbers_of(const NodePlan& node) {
  std::vector<int> numbers;
  for (const RankPlan& rank : node.ranks) numbers.push_back(rank.rank);
  return CpuSet(numbers).to_list();
}

// Nodes in order. A node pinned like an earlier one takes one line.
std::string all_node_rows(const std::vector<NodePlan>& nodes, std::size_t width) {
  std::map<std::string, std::string> first_with;
  std::string text;
  bool folded = false;
  for (const NodePlan& node : nodes) {
    const auto [at, is_new] = first_with.try_emplace(pins_of(node), node.host_name);
    if (is_new) {
      text += node_rows(node, width);
      folded = false;
      continue;
    }
    const std::string head = node_head(node);
    text += fmt::format("{}  as {}: rank{} {}\n", folded ? head.substr(1) : head, at->second,
                        node.ranks.size() == 1 ? "" : "s", numbers_of(node));
    folded = true;
  }
  return text;
}

// "OMP_NUM_THREADS exported;" "MKL_NUM_THREADS, OPENBLAS_NUM_THREADS computed": always the thread
// numbers, and other variables only if the user has overridden a computed value.
std::vector<std::string> origins_of(const RankPlan& rank) {
  std::map<Origin, std::vector<std::string>> names;
  for (const auto& [name, origin] : rank.origins) {
    if (origin != Origin::kComputed || name.ends_with("_NUM_THREADS"))
      names[origin].push_back(name);
  }
  std::string text;
  for (const auto& [origin, of_it] : names) {
    if (!text.empty()) text += "; ";
    text += fmt::format("{} {}", join(of_it, ", "), origin_name(origin));
  }
  // As words for wrapped(), which breaks lines between them.
  return split(text, ' ');
}

// One group of rows for each program.
std::string program_rows(const JobPlan& plan, std::size_t width) {
  std::map<int, const RankPlan*> programs;
  for (const NodePlan& node : plan.nodes) {
    // All ranks of a program have the same command, so the first one is shown.
    for (const RankPlan& rank : node.ranks) programs.try_emplace(rank.program, &rank);
  }
  std::string text;
  for (const auto& [index, rank] : programs) {
    if (programs.size() > 1) text += row("program", fmt::format("from rank {} on", rank->rank));
    text += row("command",
                wrapped(shown_arguments(rank->arguments, rank->environment), kLabel, width, " "));
    text += row("directory", rank->working_directory);
    if (rank->umask != kUsualUmask) text += row("umask", fmt::format("{:04o}", rank->umask));
    text += row("variables", wrapped(origins_of(*rank), kLabel, width, " "));
  }
  return text;
}

}  // namespace

std::string to_table(const JobPlan& plan, int columns) {
  const std::size_t width = std::max(kNarrowest, static_cast<std::size_t>(std::max(columns, 0)));
  std::string text =
      row("job", fmt::format("{}: {} on {}", plan.job_id, plural(plan.world_size, "rank"),
                             plural(plan.nodes.size(), "node")));
  text += row("master", endpoint(plan));
  text += program_rows(plan, width);
  text += all_node_rows(plan.nodes, width);
  if (!plan.warnings.empty()) text += '\n';
  for (const std::string& warning : plan.warnings) {
    text += row("warning", wrapped(split(warning, ' '), kLabel, width, " "));
  }
  return text;
}

}  // namespace dtl
