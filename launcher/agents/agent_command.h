#pragma once
// The one command that is run on a host through the user's login shell, whichever that is. Pure.

#include <string>
#include <string_view>

#include "launcher/agents/bundle.h"

namespace dtl {

// Throws Error(kConfig) for a path that some login shell would read in its own way.
void check_agent_path(const std::string& path);

// Runs `path` with the arguments, or else dtagent from the PATH there, or else the newest of this
// version from the cache that a push has filled and that is still as it was sent. One that others
// than the user and root can have written is not run: when there is no other, standard error gets a
// line that begins with kRefusal, "PATH: WHY". If the user may not enter a folder on `path` and
// there is no other dtagent, that line is kShutFolder and the folder's path.
std::string agent_command(const std::string& path, const std::string& arguments);
constexpr std::string_view kRefusal = "DTLAUNCH-REFUSED ";
constexpr std::string_view kShutFolder = "DTLAUNCH-SHUT ";

enum class AfterPush { kServe, kSayWhere };

// Looks for programs that fit and that only the user and root can have written, beside `path`, on
// the PATH and, as they were sent, in the cache; where there are none it
// asks for `bundle` (wire/push_marker.h) and takes it. Then it runs dtagent --serve, or says where
// it is. token: new random hexadecimal digits.
std::string push_command(const std::string& path, const Bundle& bundle, const std::string& token,
                         AfterPush after);

// Removes what pushes have left, and says "removed FOLDER" or "none FOLDER" after kPushMarker.
std::string remove_command();

}  // namespace dtl
