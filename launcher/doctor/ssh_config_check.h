#pragma once
// Checks ssh_config(5) for keywords that ssh obeys and libssh silently ignores, where they apply to
// a host of the job; and lists host names for completion. A user whose `ssh host` works must learn
// why dtlaunch's login does not. Pure: the caller reads the files (ssh_config_files.h).

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
  std::string effect;   // its effect, and what to do instead
};

// The files that an Include names. `pattern` is a glob; `from` is the file that has the Include.
using ReadIncluded =
    std::function<std::vector<ConfigText>(const std::string& pattern, const std::string& from)>;

// `host` is the name given to ssh, before a HostName line changes it.
std::vector<IgnoredKeyword> ignored_keywords(const ConfigText& config, const std::string& host,
                                             const ReadIncluded& read_included);

// The names in Host lines, in order and without patterns, including those of included files.
std::vector<std::string> names_in_config(const ConfigText& config,
                                         const ReadIncluded& read_included);

}  // namespace dtl
