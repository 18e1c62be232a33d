#pragma once
// What ssh_config(5) says: keywords that ssh obeys and libssh silently ignores, where they apply to
// a host that is used; and the names of hosts. A user whose `ssh host` works must learn why
// dtlaunch's login does not. Completion uses the names. Pure: the caller reads the files
// (ssh_config_files.h).

#include <functional>
#include <string>
#include <vector>

namespace dtl {

// A file's contents; path is for messages and for relative Includes.
struct ConfigText {
  std::string path, text;
};

// One line of a file that ssh obeys and libssh does not.
struct IgnoredKeyword {
  std::string where;    // "/root/.ssh/config:3"
  std::string keyword;  // "HostKeyAlias"
  std::string effect;   // what that means, and what to do instead
};

// The files that an Include names. `pattern` is a glob; `from` is the file that has the Include.
using ReadIncluded =
    std::function<std::vector<ConfigText>(const std::string& pattern, const std::string& from)>;

// `host` is the name that ssh would be given, and not what a HostName line makes of it.
std::vector<IgnoredKeyword> ignored_keywords(const ConfigText& config, const std::string& host,
                                             const ReadIncluded& read_included);

// The names that Host lines give, in order and without patterns. Included files count.
std::vector<std::string> names_in_config(const ConfigText& config,
                                         const ReadIncluded& read_included);

}  // namespace dtl
