#pragma once
// The one command that dtlaunch runs on a host through the user's login shell. It must mean the
// same to sh, bash, zsh, csh and fish, because nobody knows beforehand which one the user has.
// Pure: it only writes the command. Starting over ssh, --push and `dtlaunch up` run it.

#include <string>
#include <string_view>

#include "launcher/agents/bundle.h"

namespace dtl {

// Throws Error(kConfig) for a path that a login shell may change: not absolute, or with a character
// other than letters, digits and _./+-.
void check_agent_path(const std::string& path);

// The host runs the first of these with the arguments: `path`; dtagent from the PATH there; the
// newest of this version in the cache that a push has filled, if it is still as it was sent.
// A file that others than the user and root can have written is not run. If nothing else is found,
// the command writes kRefusal and "PATH: WHY" on standard error. If the user may not enter a folder
// on `path`, it writes kShutFolder and that folder. Both end with exit status 126; 127 means that
// there is no dtagent.
std::string agent_command(const std::string& path, const std::string& arguments);
// agent_link.cc looks for these words at the start of a line of standard error.
constexpr std::string_view kRefusal = "DTLAUNCH-REFUSED ";
constexpr std::string_view kShutFolder = "DTLAUNCH-SHUT ";

// kServe: dtagent --serve runs in the place of the shell. kSayWhere: its folder is printed.
enum class AfterPush { kServe, kSayWhere };

// Looks for programs that fit and that only the user and root can have written: beside `path`, on
// the PATH, then in the cache, where they must be as they were sent. If there are none, it asks for
// `bundle` (wire/push_marker.h) and takes it from standard input.
// token: new random hexadecimal digits for each push, so that two pushes to one home directory do
// not write into the same folder.
std::string push_command(const std::string& path, const Bundle& bundle, const std::string& token,
                         AfterPush after);

// Removes all pushed versions and all unfinished pushes from the cache. Says "removed FOLDER" or
// "none FOLDER" after kPushMarker.
std::string remove_command();

}  // namespace dtl
