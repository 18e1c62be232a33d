#pragma once
// The user's private folders for sockets and records: who is in them is this user, and nobody else.
// Programs only, never libraries for ranks.

#include <string>
#include <vector>

namespace dtl {

// /tmp/dtlaunch-UID, made with mode 0700 when it is missing. Not in $XDG_RUNTIME_DIR: that folder
// goes away at the last logout, which jobs outlive, and a login over ssh may not have it at all.
// Throws Error(kConfig) when it is not a folder of this user's alone.
std::string runtime_folder();

// A folder below it, made in the same way: runtime_subfolder("jobs").
std::string runtime_subfolder(const std::string& name);

// Where the kept output of detached jobs lies: $XDG_STATE_HOME/dtlaunch, else
// ~/.local/state/dtlaunch, else a folder below runtime_folder(). Not made.
std::string state_folder();

// Where dtagent --service may listen, the best place first: $XDG_RUNTIME_DIR, /run/user/UID (which
// a login without PAM does not name), and runtime_folder(). Only the folders that exist and are
// this user's alone.
std::vector<std::string> service_folders();
constexpr const char* kServiceSocket = "agent.socket";  // in one of these

// Makes a folder with mode 0700, and its parents; checks that it is this user's alone.
void make_private_folder(const std::string& path);

// True for a folder (no link to one) that belongs to this user and that nobody else can enter.
bool is_private_folder(const std::string& path);

}  // namespace dtl
