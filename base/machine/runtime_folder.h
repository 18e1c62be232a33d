#pragma once
// The user's private folders for sockets and records: nobody else can enter them, so only this user
// can connect there. Programs only, never libraries for ranks.

#include <string>
#include <vector>

namespace dtl {

// The first of these that only this user can enter, created with mode 0700 if missing:
// $XDG_RUNTIME_DIR/dtlaunch and /run/user/UID/dtlaunch (for logins without PAM), if the folder or
// its parent is private; ~/.local/state/dtlaunch/run-HOST, or below $XDG_STATE_HOME; and
// /tmp/dtlaunch-UID, which anybody may have taken. Skips a folder if its sockets' paths would be
// too long. Throws Error(kConfig) with the reason for each if there is none.
std::string runtime_folder();

// Why there is none; empty if there is one.
std::string runtime_problem();

// /tmp/dtlaunch-UID and its problem; empty if it does not exist or is private.
std::string taken_runtime_folder();

// A folder below runtime_folder(), created in the same way: runtime_subfolder("jobs").
std::string runtime_subfolder(const std::string& name);

// All of these places that exist and are private, the best first. A search must check each: another
// process may have had another environment.
std::vector<std::string> runtime_folders();
constexpr const char* kServiceSocket = "agent.socket";  // in one of these: dtagent --service

// The name of `dtlaunch up`'s socket in one of these. job: the scheduler's number of the job whose
// nodes it keeps agents on; empty if it keeps ssh connections.
std::string holder_socket(const std::string& job = {});
// The paths of all that exist, whether anybody listens or not.
std::vector<std::string> holder_sockets();
constexpr const char* kLinksFolder = "links";  // sockets of agents without a launcher, by link

// The folder for the kept output of detached jobs: $XDG_STATE_HOME/dtlaunch, else
// ~/.local/state/dtlaunch, else a folder in /tmp. Does not create it.
std::string state_folder();

// Creates a folder with mode 0700, and its parents; checks that only this user can enter it.
void make_private_folder(const std::string& path);

// True if it is a folder (not a link) that belongs to this user and that nobody else can enter.
bool is_private_folder(const std::string& path);

}  // namespace dtl
