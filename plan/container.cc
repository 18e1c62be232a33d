#include "plan/container.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/text.h"
#include "plan/request/command_text.h"

namespace dtl {
namespace {

// hosts: those with this answer.
[[noreturn]] void refuse(const std::string& image, const ContainerAnswer& answer,
                         const std::vector<std::string>& hosts) {
  const std::string what = fmt::format("{}: --container {}", fold_hosts(hosts), image);
  const std::size_t blank = answer.text.find(' ');
  const std::string word = answer.text.substr(0, blank);
  const std::string rest =
      blank == std::string::npos ? "" : printable(std::string(trim(answer.text.substr(blank))));
  if (word == kNoPodman) {
    throw Error(Exit::kConfig, what, "this host has no podman", "apt-get install podman, there");
  }
  if (word == kNoImage) {
    throw Error(Exit::kConfig, what, "podman does not have this image there",
                command_on(answer.host, "podman pull " + one_shell_word(image)));
  }
  throw Error(Exit::kConfig, what, rest.empty() ? "podman cannot start it" : rest,
              command_on(answer.host, "podman run --rm " + one_shell_word(image) + " true"));
}

}  // namespace

std::string parse_image(std::string_view text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("._-/:@+").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (!text.empty() && plain && std::isalnum(static_cast<unsigned char>(text.front())) != 0) {
    return std::string(text);
  }
  throw option_error(fmt::format("--container {}", text), "not the name of an image",
                     "podman images");
}

std::vector<std::string> container_folders(const Request& request) {
  std::vector<std::string> folders;
  for (const Program& program : request.programs) {
    const std::string& folder = program.working_directory;
    if (folder == "/") {
      throw option_error("--container", "the working folder would hide the image's files: it is /",
                         "-wdir with the folder of your files");
    }
    if (std::find(folders.begin(), folders.end(), folder) == folders.end()) {
      folders.push_back(folder);
    }
  }
  return folders;
}

void judge_container(const std::string& image, const std::vector<ContainerAnswer>& answers) {
  for (const ContainerAnswer& answer : answers) {
    if (!answer.told) {
      throw Error(Exit::kVersion, fmt::format("{}: --container {}", answer.host.name, image),
                  "dtagent there does not know this option", "dtlaunch --push");
    }
    if (answer.text.empty()) continue;
    std::vector<std::string> hosts;
    for (const ContainerAnswer& other : answers) {
      if (other.text == answer.text) hosts.push_back(other.host.name);
    }
    refuse(image, answer, hosts);
  }
}

}  // namespace dtl
