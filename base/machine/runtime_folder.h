#pragma once
// The user's private folders for sockets and records: nobody else can enter them, so whoever speaks
// there is this user. Programs only, never libraries for ranks.

#include <string>
#include <vector>

namespace dtl {

// The first of these that is this user's alone, made with mode 0700 when it is missing:
// $XDG_RUNTIME_DIR/dtlaunch, /run/user/UID/dtlaunch (which a login without PAM does not name), both
// where that folder is there; ~/.local/state/dtlaunch/run-HOST, or below $XDG_STATE_HOME; and
// /tmp/dtlaunch-UID, which anybody may have taken. One whose sockets would have too long a path is
// passed by. Throws Error(kConfig) with the reason of each when there is none.
std::string runtime_folder();

// Why there is none; empty when there is one.
std::string runtime_problem();

// /tmp/dtlaunch-UID and what is wrong with it; empty when it is not there, or this user's alone.
std::string taken_runtime_folder();

// A folder below runtime_folder(), made in the same way: runtime_subfolder("jobs").
std::string runtime_subfolder(const std::string& name);

// All of those places that are there and this user's alone, the best first. A search has to look
// into each: another process may have had another environment.
std::vector<std::string> runtime_folders();
constexpr const char* kServiceSocket = "agent.socket";  // in one of these: dtagent --service

// The name of the socket of `dtlaunch up`, in one of these; job: the scheduler's number of the job
// whose nodes it keeps an agent on, empty where it keeps connections over ssh.
std::string holder_socket(const std::string& job = {});
// The paths of those that are there, whether anybody listens or not.
std::vector<std::string> holder_sockets();
constexpr const char* kLinksFolder = "links";  // sockets where agents can be found again, by link

// The folder of the kept output of detached jobs: $XDG_STATE_HOME/dtlaunch, else
// ~/.local/state/dtlaunch, else a folder in /tmp. Not made.
std::string state_folder();

// Makes a folder with mode 0700, and its parents; checks that it is this user's alone.
void make_private_folder(const std::string& path);

// True for a folder (no link to one) that belongs to this user and that nobody else can enter.
bool is_private_folder(const std::string& path);

}  // namespace dtl
