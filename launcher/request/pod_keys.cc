// Finds the folder by its three files. Only launcher/ssh reads the key itself.
#include "launcher/request/pod_keys.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace dtl {
namespace {

bool has_file(const std::string& folder, const char* name) {
  return ::access((folder + "/" + name).c_str(), R_OK) == 0;
}

bool has_key(const std::string& folder) {
  return has_file(folder, "id_rsa") && has_file(folder, "id_rsa.pub");
}

// The home that ssh uses: from the user database. $HOME is only for users that it lacks, as in
// containers.
std::string home_of_user() {
  std::array<char, 4096> buffer;
  passwd entry{};
  passwd* found = nullptr;
  ::getpwuid_r(::getuid(), &entry, buffer.data(), buffer.size(), &found);
  if (found != nullptr) return found->pw_dir;
  const char* home = std::getenv("HOME");
  return home != nullptr ? home : "/";
}

// Decodes "\040" (a blank): the kernel writes blanks, tabs, newlines and backslashes as three octal
// digits; see proc(5), mountinfo.
std::string unescaped(const std::string& word) {
  std::string text;
  for (std::size_t i = 0; i < word.size(); ++i) {
    unsigned value = 0;
    int digits = 0;
    if (word[i] == '\\') {
      while (digits < 3 && i + 1 < word.size() && word[i + 1] >= '0' && word[i + 1] <= '7') {
        value = value * 8 + static_cast<unsigned>(word[++i] - '0');
        ++digits;
      }
    }
    text += digits == 0 ? word[i] : static_cast<char>(value);
  }
  return text;
}

std::vector<std::string> mounted_folders() {
  constexpr std::size_t kFolder = 4;  // the fifth word of a line
  std::ifstream file("/proc/self/mountinfo");
  std::vector<std::string> folders;
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> words = split(line, ' ');
    if (words.size() > kFolder) folders.push_back(unescaped(words[kFolder]));
  }
  return folders;
}

}  // namespace

std::string find_pod_keys(const Variables& environment) {
  for (const auto& [name, value] : environment) {
    if (name != "DTL_SSH_KEYS" || value.empty()) continue;
    if (has_key(value)) return value;
    throw Error(Exit::kConfig, fmt::format("DTL_SSH_KEYS={}", printable(value)),
                "id_rsa and id_rsa.pub cannot be read there", "ls -l $DTL_SSH_KEYS");
  }
  const std::string own = home_of_user() + "/.ssh";
  // authorized_keys distinguishes a shared key from a user's own: pods accept each other by it.
  if (has_key(own) && has_file(own, "authorized_keys")) return own;
  for (const std::string& folder : mounted_folders()) {
    if (has_key(folder) && has_file(folder, "authorized_keys")) return folder;
  }
  return {};
}

std::string pod_keys_of_launcher(const Variables& environment) {
  // The operator sets it in its launcher.
  const std::pair<std::string, std::string> role("K_MPI_JOB_ROLE", "launcher");
  const bool here = std::find(environment.begin(), environment.end(), role) != environment.end();
  return here ? find_pod_keys(environment) : std::string();
}

}  // namespace dtl
