#include "launcher/request/waiting.h"

#include <algorithm>

#include "base/text.h"

namespace dtl {
namespace {

constexpr std::size_t kMostNames = 4;  // of hosts in a command, before they are folded

}  // namespace

std::string typed_name(const CommandLine& line, std::string_view canonical) {
  const auto found = std::find_if(
      line.given.begin(), line.given.end(),
      [&](const TypedOption& option) { return option.name == canonical && !option.typed.empty(); });
  return found == line.given.end() ? std::string(canonical) : found->typed;
}

void settle_waiting(const CommandLine& line, Placement& placement,
                    std::vector<std::string>& notices) {
  if (!placement.waits) return;
  const bool beside = placement.share_cores || placement.oversubscribe;
  if (!line.dry_run && !beside) return;
  placement.waits = false;
  // dtlaunch submit without --wait. For a dry run its notice is that of --detach.
  const bool submitted = !line.is_given("--wait");
  if (line.dry_run && submitted) return;
  const std::string what = submitted ? "submit" : typed_name(line, "--wait");
  if (line.dry_run) {
    notices.push_back(what + ": left out: --dry-run does not wait");
    return;
  }
  const std::string other =
      typed_name(line, placement.share_cores ? "--share-cores" : "--oversubscribe");
  notices.push_back(what + ": the job does not wait: with " + other + " it starts beside others");
}

std::string queue_command(const CommandLine& line, const Request& request) {
  const std::string command = "dtlaunch queue";
  if (!line.hostfile.empty()) return command + " -f " + one_shell_word(line.hostfile);
  // Without hosts the command asks this machine.
  if (request.hosts.empty()) return command;
  std::vector<std::string> names;
  for (const Host& host : request.hosts) names.push_back(host.name);
  std::string list = names.size() <= kMostNames ? join(names, ",") : fold_hosts(names);
  std::erase(list, ' ');
  return command + " -hosts " + one_shell_word(list);
}

}  // namespace dtl
