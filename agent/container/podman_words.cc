// Ranks enter only the container's user and mount namespaces. So --network and the like do not
// concern them: they make what podman mounts fit the host's namespaces, such as /proc.
#include "agent/container/podman_words.h"

#include <fmt/format.h>

#include <string_view>

namespace dtl {
namespace {

constexpr std::string_view kHolderInside = "/.dtlaunch-holder";

// podman reads --mount as a line of CSV.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string mount(const std::string& from, const std::string& to, std::string_view more = "") {
  return fmt::format("--mount=type=bind,{},{}{}", csv_field("source=" + from),
                     csv_field("destination=" + to), more);
}

}  // namespace

std::vector<std::string> words_to_find_image(const std::string& image) {
  return {"podman", "image", "exists", image};
}

std::vector<std::string> words_to_start(const ContainerWish& wish) {
  std::vector<std::string> words = {
      "podman", "run", "--detach", "--rm", "--pull=never", "--name=" + wish.name,
      // The ranks' output does not pass through the container.
      "--log-driver=none",
      // The holder's link to dtagent.
      "--preserve-fds=1", "--network=host", "--pid=host", "--uts=host",
      // SELinux would keep the container from the host's folders.
      "--security-opt=label=disable",
      // podman's own limits may be higher than this user's, and then the start fails.
      fmt::format("--ulimit=nofile={0}:{0}", wish.most_files),
      fmt::format("--ulimit=nproc={0}:{0}", wish.most_processes),
      // Ranks of a node share memory, also with dtagent.
      mount("/dev/shm", "/dev/shm")};
  for (const std::string& folder : wish.folders) words.push_back(mount(folder, folder));
  words.push_back(mount(wish.holder, std::string(kHolderInside), ",ro=true"));
  words.push_back(fmt::format("--entrypoint={}", kHolderInside));
  words.insert(words.end(), {wish.image, "--hold"});
  return words;
}

}  // namespace dtl
