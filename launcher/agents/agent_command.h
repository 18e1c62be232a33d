#pragma once
// The one command that dtlaunch runs on a host through the user's login shell. It must mean the
// same to sh, bash, zsh, csh and fish, because nobody knows beforehand which one the user has.
// Pure: it only writes the command. Starts over ssh, --push and `dtlaunch up` run it.

#include <string>
#include <string_view>

#include "launcher/agents/bundle.h"

namespace dtl {

// Throws Error(kConfig) for a path that a login shell may change: not absolute, or with a character
// other than letters, digits and _./+-.
void check_agent_path(const std::string& path);

// The host runs the first of these with the arguments: `path`; dtagent from the PATH there; the
// newest of this version in the push cache, if its hash still matches. It does not run a file that
// anyone but the user and root can have written. If nothing else is found, the command writes
// kRefusal and "PATH: WHY" to standard error. If the user may not enter a folder on `path`, it
// writes kShutFolder and that folder; if there is only a pushed dtagent whose hash does not match,
// kDamaged and its path. Each of these ends with status 126. Status 127: there is no dtagent.
std::string agent_command(const std::string& path, const std::string& arguments);
// agent_link.cc looks for these words at the start of a line of standard error.
constexpr std::string_view kRefusal = "DTLAUNCH-REFUSED ";
constexpr std::string_view kShutFolder = "DTLAUNCH-SHUT ";
constexpr std::string_view kDamaged = "DTLAUNCH-DAMAGED ";

// kServe: exec dtagent --serve in place of the shell. kTakeFolder: the same with --receive-folder,
// where the programs are already. kSayWhere: print its folder.
enum class AfterPush { kServe, kTakeFolder, kSayWhere };

// Looks for suitable programs that only the user and root can have written: beside `path`, on the
// PATH, then in the cache, where their hash must match. If there are none, asks for the bundle of
// the host's architecture (wire/greeting.h) and reads it from standard input.
// peers: what dtagent --receive needs to know so that hosts feed each other; empty: they do not.
// token: new random hexadecimal digits for each push, so that two pushes to one home directory do
// not write into the same folder.
std::string push_command(const std::string& path, const Bundles& bundles, const std::string& token,
                         AfterPush after, const std::string& peers = {});

// Removes all pushed versions and all unfinished pushes from the cache. Says "removed FOLDER" or
// "none FOLDER" after kPushMarker.
std::string remove_command();

}  // namespace dtl
