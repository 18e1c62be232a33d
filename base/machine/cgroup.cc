// Finds the files of /proc and /sys that hold a group's limits. Only reads, and knows nothing of
// jobs.
#include "base/machine/cgroup.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>
#include <vector>

#include "base/fd.h"
#include "base/text.h"

namespace dtl {
namespace {

// The whole file of /proc or /sys; empty if it cannot be read.
std::string text_of(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  // Not read_file(), which throws: an absent file means that there is no limit.
  char piece[8192];
  ssize_t size = 0;
  while (file.valid() && (size = ::read(file.get(), piece, sizeof piece)) > 0) {
    text.append(piece, static_cast<std::size_t>(size));
  }
  return text;
}

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words = split(trim(line), ' ');
  std::erase(words, "");
  return words;
}

std::optional<double> number(const std::string& text) {
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc() || value <= 0) return std::nullopt;  // "max", -1, missing
  return value;
}

std::string first_line(const std::string& path) {
  const std::string text = text_of(path);
  return text.substr(0, text.find('\n'));
}

// Where a hierarchy is mounted, and which of its groups is there ("/" or, in a container, ours).
struct Mount {
  std::string folder, group;
};

// The hierarchies that this process is in. root is prepended to every path.
class Hierarchies {
 public:
  explicit Hierarchies(const std::string& root)
      : root_(root),
        mounts_(split(text_of(root + "/proc/self/mountinfo"), '\n')),
        groups_(split(text_of(root + "/proc/self/cgroup"), '\n')) {}

  // Calls look() with the folder of our group and of each group above it. controller: "cpu" or
  // "memory" for version 1, empty for version 2.
  void each_group(const std::string& controller,
                  const std::function<void(const std::string&)>& look) const {
    const auto mount = find_mount(controller);
    if (!mount) return;
    std::string group = group_of(controller);
    // In a container /proc/self/cgroup may name the group as the host sees it, while the mount
    // shows only part of the tree.
    if (mount->group != "/" && group.starts_with(mount->group)) {
      group.erase(0, mount->group.size());
    }
    while (!group.empty() && group != "/") {
      look(root_ + mount->folder + group);
      group.erase(group.rfind('/'));
    }
    // The root of the mount: in a container it may have limits.
    look(root_ + mount->folder);
  }

 private:
  // If several are mounted on one folder, the last one is visible; otherwise takes the first.
  std::optional<Mount> find_mount(const std::string& controller) const {
    std::optional<Mount> found;
    for (const std::string& line : mounts_) {
      // mountinfo in proc(5): field 4 is the root, 5 the mount point; after the dash come type,
      // source and options.
      if (line.find(" - cgroup") == std::string::npos) continue;
      const std::vector<std::string> words = words_of(line);
      const auto dash = std::find(words.begin(), words.end(), "-");
      if (words.size() < 5 || words.end() - dash < 4) continue;
      const std::vector<std::string> options = split(dash[3], ',');
      const bool matches = controller.empty()
                               ? dash[1] == "cgroup2"
                               : dash[1] == "cgroup" && std::find(options.begin(), options.end(),
                                                                  controller) != options.end();
      if (matches && (!found || found->folder == words[4])) found = Mount{words[4], words[3]};
    }
    return found;
  }

  std::string group_of(const std::string& controller) const {
    for (const std::string& line : groups_) {
      const std::vector<std::string> parts = split(line, ':');  // number:controllers:path
      if (parts.size() < 3) continue;
      const std::vector<std::string> controllers = split(parts[1], ',');
      if (controller.empty() ? parts[1].empty()
                             : std::find(controllers.begin(), controllers.end(), controller) !=
                                   controllers.end()) {
        return line.substr(parts[0].size() + parts[1].size() + 2);
      }
    }
    return "/";
  }

  std::string root_;
  std::vector<std::string> mounts_, groups_;  // lines
};

// The number after `name` in a file of lines "name number".
std::uint64_t counter(const std::string& path, const std::string& name) {
  const std::string text = "\n" + text_of(path);
  const std::size_t at = text.find("\n" + name + " ");
  if (at == std::string::npos) return 0;
  const std::size_t begin = at + name.size() + 2;
  const std::string value = text.substr(begin, text.find('\n', begin) - begin);
  return static_cast<std::uint64_t>(number(value).value_or(0));
}

template <class T>
void tighten(T& limit, double candidate) {
  const auto value = static_cast<T>(candidate);
  if (limit == 0 || value < limit) limit = value;
}

}  // namespace

CgroupLimits read_cgroup_limits(const std::string& root) {
  constexpr double kNoMemoryLimit = 1e18;  // version 1 uses about 2^63 for no limit
  const Hierarchies hierarchies(root);
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
  hierarchies.each_group("", [&](const std::string& folder) {
    const auto words = words_of(first_line(folder + "/cpu.max"));
    if (words.size() == 2) quota(words[0], words[1]);
    memory(first_line(folder + "/memory.max"));
  });
  hierarchies.each_group("cpu", [&](const std::string& folder) {
    quota(first_line(folder + "/cpu.cfs_quota_us"), first_line(folder + "/cpu.cfs_period_us"));
  });
  hierarchies.each_group("memory", [&](const std::string& folder) {
    memory(first_line(folder + "/memory.limit_in_bytes"));
  });
  return limits;
}

OomKills count_oom_kills(const std::string& root) {
  const Hierarchies hierarchies(root);
  std::uint64_t kills = 0;
  hierarchies.each_group("", [&](const std::string& folder) {
    // Version 2 also counts the groups below, so the largest number is the sum.
    kills = std::max(kills, counter(folder + "/memory.events", "oom_kill"));
  });
  hierarchies.each_group("memory", [&](const std::string& folder) {
    kills = std::max(kills, counter(folder + "/memory.oom_control", "oom_kill"));
  });
  return {kills, counter(root + "/proc/vmstat", "oom_kill")};
}

}  // namespace dtl
