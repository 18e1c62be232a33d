// The environments of a node's ranks differ in few variables. So they form a tree: the variables
// that all ranks share, then those that a program's ranks share, then each rank's own. Order
// matters: of two entries with the same name a program sees the first.
#include "wire/environments.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/limits.h"
#include "wire/fields.h"

namespace dtl {
namespace {

using Lines = std::vector<std::string_view>;

constexpr int kLevels = 2;  // levels below a rank's own: its program's, and all ranks'

[[noreturn]] void bad_environment(const std::string& reason) {
  throw Error(Exit::kVersion, "malformed environment", reason);
}

// The lines that both have, in the order of both. A greedy match, not the longest common
// subsequence: each rank sends the lines that it misses, and the result is the same.
Lines common_lines(const Lines& first, const Lines& second) {
  Lines common;
  auto from = second.begin();
  for (const std::string_view line : first) {
    const auto found = std::find(from, second.end(), line);
    if (found == second.end()) continue;
    common.push_back(line);
    from = found + 1;
  }
  return common;
}

// Expresses `lines` as additions to `base`, whose lines are all in `lines`, in the same order.
Environment built_on(const Lines& base, std::uint32_t number, const Lines& lines) {
  Environment built;
  built.base = base.empty() ? 0 : number;
  std::size_t next = 0;
  for (const std::string_view line : lines) {
    if (next < base.size() && line == base[next]) {
      ++next;
    } else {
      built.added.push_back({static_cast<std::uint32_t>(next), std::string(line)});
    }
  }
  return built;
}

struct ProgramLines {
  Lines common;
  std::size_t ranks = 0;
  std::uint32_t number = 0;  // of the Environment for `common`, or of its base
};

}  // namespace

// Computes the lines that each program's ranks share, then those that all programs share; both are
// numbered from 1. Each rank's own lines build on the nearest of them.
SharedEnvironments share_environments(const std::vector<RankVariables>& ranks) {
  std::map<int, ProgramLines> programs;
  for (const RankVariables& rank : ranks) {
    const Lines lines(rank.lines.begin(), rank.lines.end());
    ProgramLines& program = programs[rank.program];
    program.common = program.ranks++ == 0 ? lines : common_lines(program.common, lines);
  }
  Lines all;
  bool first = true;
  for (const auto& [index, program] : programs) {
    all = std::exchange(first, false) ? program.common : common_lines(all, program.common);
  }
  // A single rank shares nothing.
  if (ranks.size() < 2) all.clear();
  SharedEnvironments shared;
  if (!all.empty()) shared.common.push_back(built_on({}, 0, all));
  const auto number_of_all = static_cast<std::uint32_t>(shared.common.size());
  for (auto& [index, program] : programs) {
    program.number = number_of_all;
    // A separate level for this program would save nothing.
    if (program.ranks < 2 || program.common.size() == all.size()) {
      program.common = all;
      continue;
    }
    shared.common.push_back(built_on(all, number_of_all, program.common));
    program.number = static_cast<std::uint32_t>(shared.common.size());
  }
  for (const RankVariables& rank : ranks) {
    const ProgramLines& program = programs[rank.program];
    shared.own.push_back(
        built_on(program.common, program.number, Lines(rank.lines.begin(), rank.lines.end())));
  }
  return shared;
}

void Environments::add(Environment environment) {
  if (known_.size() == kMaxEnvironments) {
    bad_environment(fmt::format("more than {} of them", kMaxEnvironments));
  }
  checked(environment, kLevels - 1);
  known_.push_back(std::move(environment));
}

std::vector<std::string_view> Environments::lines(const Environment& own) const {
  return checked(own, kLevels);
}

std::vector<std::string_view> Environments::checked(const Environment& environment,
                                                    int most_below) const {
  Lines base, all;
  if (environment.base > known_.size()) {
    bad_environment(fmt::format("it is built on number {} of {}", environment.base, known_.size()));
  }
  if (environment.base > 0) {
    if (most_below == 0) bad_environment("it is built on one that is built on another one's");
    base = checked(known_[environment.base - 1], most_below - 1);
  }
  if (base.size() + environment.added.size() > kMaxStrings) {
    bad_environment(fmt::format("more than {} variables", kMaxStrings));
  }
  all.reserve(base.size() + environment.added.size());
  std::size_t next = 0;
  for (const AddedVariable& added : environment.added) {
    // Out of order, or past the end of the base.
    if (added.after < next || added.after > base.size()) {
      bad_environment(fmt::format("a variable after {} of {}", added.after, base.size()));
    }
    while (next < added.after) all.push_back(base[next++]);
    all.push_back(added.variable);
  }
  while (next < base.size()) all.push_back(base[next++]);
  // + 1 for each: the NUL that ends it, as execve(2) counts.
  std::size_t bytes = 0;
  for (const std::string_view line : all) bytes += line.size() + 1;
  if (bytes > kMaxEnvironmentBytes) {
    bad_environment(fmt::format("{} bytes are more than {}", bytes, kMaxEnvironmentBytes));
  }
  return all;
}

}  // namespace dtl
