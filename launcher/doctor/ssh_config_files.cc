// A file that is too large or unreadable counts as empty. doctor warns about the lines that it
// sees; ssh itself reports the rest.
#include "launcher/doctor/ssh_config_files.h"

#include <glob.h>

#include "base/error.h"
#include "base/fd.h"

namespace dtl {

ConfigText read_ssh_config_file(const std::string& path) {
  try {
    return {path, read_file(path, 1 << 20)};
  } catch (const Error&) {
    return {path, {}};
  }
}

ReadIncluded ssh_config_includes(const std::string& home) {
  return [home](const std::string& pattern, const std::string& from) {
    std::string path = pattern;
    if (path.starts_with("~/")) path.replace(0, 1, home);
    // ssh reads a relative Include from ~/.ssh or /etc/ssh, the folder of the including file.
    if (!path.starts_with('/')) path = from.substr(0, from.rfind('/') + 1) + path;
    std::vector<ConfigText> found;
    glob_t matches{};
    // An Include without a match is not an error for ssh either.
    if (::glob(path.c_str(), 0, nullptr, &matches) == 0) {
      for (std::size_t i = 0; i < matches.gl_pathc; ++i) {
        found.push_back(read_ssh_config_file(matches.gl_pathv[i]));
      }
    }
    ::globfree(&matches);
    return found;
  };
}

}  // namespace dtl
