#include "launcher/session/fold_notices.h"

#include <fmt/format.h>

#include <map>
#include <regex>
#include <utility>

#include "base/text.h"

namespace dtl {
namespace {

constexpr std::size_t kMostAlike = 3;  // lines that are shown one by one

// The line without what differs from host to host.
std::string pattern_of(const std::string& line, const std::string& name) {
  static const std::regex address(R"(\d+\.\d+\.\d+\.\d+)");
  std::string pattern;
  std::size_t from = 0;
  for (std::size_t at; (at = line.find(name, from)) != line.npos; from = at + name.size()) {
    pattern += line.substr(from, at - from) + "\n";
  }
  return std::regex_replace(pattern + line.substr(from), address, "\n");
}

}  // namespace

std::vector<job::Effect> fold_notices(std::vector<job::Effect> effects, const SessionNodes& nodes) {
  std::map<std::string, std::vector<std::string>> hosts;  // by text
  for (const job::Effect& effect : effects) {
    const auto* notice = std::get_if<job::Notice>(&effect);
    if (notice == nullptr || notice->node < 0) continue;
    hosts[notice->text].push_back(nodes[static_cast<std::size_t>(notice->node)].host.name);
  }
  std::vector<job::Effect> folded;
  for (job::Effect& effect : effects) {
    auto* notice = std::get_if<job::Notice>(&effect);
    if (notice != nullptr && notice->node >= 0) {
      const auto found = hosts.find(notice->text);
      if (found == hosts.end()) continue;  // told with the first
      *notice = {-1, fmt::format("{}: {}", fold_hosts(found->second), notice->text)};
      hosts.erase(found);
    }
    folded.push_back(std::move(effect));
  }
  return folded;
}

std::vector<std::string> fold_start_errors(const SessionNodes& nodes) {
  std::map<std::string, std::vector<std::string>> hosts;  // by pattern
  const auto pattern = [](const SessionNode& node) {
    return pattern_of(node.start_error->what(), node.host.name);
  };
  for (const SessionNode& node : nodes) {
    if (node.start_error) hosts[pattern(node)].push_back(node.host.name);
  }
  std::vector<std::string> lines;
  for (const SessionNode& node : nodes) {
    if (!node.start_error) continue;
    const std::string line = node.start_error->what(), &name = node.host.name;
    const std::vector<std::string>& alike = hosts[pattern(node)];
    if (alike.size() <= kMostAlike || !line.starts_with(name + ":")) {
      lines.push_back(line);
    } else if (alike.front() == name) {
      lines.push_back(fold_hosts(alike) + line.substr(name.size()));
    }
  }
  return lines;
}

}  // namespace dtl
