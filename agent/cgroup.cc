#include "agent/cgroup.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace dtl {
namespace {

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::optional<double> number(const std::string& text) {
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || value <= 0) return std::nullopt;  // "max", -1, missing
  return value;
}

std::string first_line(const std::string& path) {
  const auto lines = lines_of(path);
  return lines.empty() ? std::string() : lines.front();
}

// Where a hierarchy is mounted, and which of its groups lies there ("/" or, in a container, ours).
struct Mount {
  std::string folder, group;
};

// controller: "cpu" or "memory" for version 1, empty for version 2.
std::optional<Mount> find_mount(const std::string& root, const std::string& controller) {
  for (const std::string& line : lines_of(root + "/proc/self/mountinfo")) {
    const std::vector<std::string> words = words_of(line);
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (words.size() < 5 || words.end() - dash < 4) continue;
    const std::vector<std::string> options = split(dash[3], ',');
    const bool matches = controller.empty()
                             ? dash[1] == "cgroup2"
                             : dash[1] == "cgroup" && std::find(options.begin(), options.end(),
                                                                controller) != options.end();
    if (matches) return Mount{words[4], words[3]};
  }
  return std::nullopt;
}

std::string group_of(const std::string& root, const std::string& controller) {
  for (const std::string& line : lines_of(root + "/proc/self/cgroup")) {
    const std::vector<std::string> parts = split(line, ':');  // number:controllers:path
    if (parts.size() < 3) continue;
    const std::vector<std::string> controllers = split(parts[1], ',');
    if (controller.empty()
            ? parts[1].empty()
            : std::find(controllers.begin(), controllers.end(), controller) != controllers.end()) {
      return line.substr(parts[0].size() + parts[1].size() + 2);
    }
  }
  return "/";
}

// Calls look with the folder of our group and of each group above it.
void each_group(const std::string& root, const std::string& controller,
                const std::function<void(const std::string&)>& look) {
  const auto mount = find_mount(root, controller);
  if (!mount) return;
  std::string group = group_of(root, controller);
  if (mount->group != "/" && group.starts_with(mount->group)) {
    group.erase(0, mount->group.size());
  }
  while (!group.empty() && group != "/") {
    look(root + mount->folder + group);
    group.erase(group.rfind('/'));
  }
  look(root + mount->folder);
}

// The number after `name` in a file of lines "name number".
std::uint64_t counter(const std::string& path, std::string_view name) {
  for (const std::string& line : lines_of(path)) {
    const auto words = words_of(line);
    if (words.size() == 2 && words[0] == name) {
      return static_cast<std::uint64_t>(number(words[1]).value_or(0));
    }
  }
  return 0;
}

template <class T>
void tighten(T& limit, double candidate) {
  const auto value = static_cast<T>(candidate);
  if (limit == 0 || value < limit) limit = value;
}

}  // namespace

CgroupLimits read_cgroup_limits(const std::string& root) {
  constexpr double kNoMemoryLimit = 1e18;  // version 1 writes about 2^63 for none
  CgroupLimits limits;
  const auto quota = [&](const std::string& runtime, const std::string& period) {
    if (number(runtime) && number(period)) {
      tighten(limits.quota_cpus, *number(runtime) / *number(period));
    }
  };
  const auto memory = [&](const std::string& text) {
    const auto bytes = number(text);
    if (bytes && *bytes < kNoMemoryLimit) tighten(limits.memory_bytes, *bytes);
  };
  each_group(root, "", [&](const std::string& folder) {
    const auto words = words_of(first_line(folder + "/cpu.max"));
    if (words.size() == 2) quota(words[0], words[1]);
    memory(first_line(folder + "/memory.max"));
  });
  each_group(root, "cpu", [&](const std::string& folder) {
    quota(first_line(folder + "/cpu.cfs_quota_us"), first_line(folder + "/cpu.cfs_period_us"));
  });
  each_group(root, "memory", [&](const std::string& folder) {
    memory(first_line(folder + "/memory.limit_in_bytes"));
  });
  return limits;
}

OomKills count_oom_kills(const std::string& root) {
  std::uint64_t kills = 0;
  each_group(root, "", [&](const std::string& folder) {
    kills = std::max(kills, counter(folder + "/memory.events", "oom_kill"));
  });
  each_group(root, "memory", [&](const std::string& folder) {
    kills = std::max(kills, counter(folder + "/memory.oom_control", "oom_kill"));
  });
  return {kills, counter(root + "/proc/vmstat", "oom_kill")};
}

}  // namespace dtl
