#pragma once
// Commands as text: lines for a person to paste into a shell, and arguments of users as they may be
// shown or written down. Messages suggest what will work on that very host, over ssh or by its
// scheduler. Pure.

#include <span>
#include <string>
#include <vector>

#include "plan/request/host.h"

namespace dtl {

// How to run a command line on a host by hand. For this machine it is the line itself; else it goes
// by ssh with the user, port and address of the host file, or by the host's scheduler. A pod that
// ends with its job runs nothing any more, so there it is what shows how the pod was set up. Parts
// of `command` that come from elsewhere must be quoted already.
std::string command_on(const Host& host, const std::string& command);

// What to look at by hand. The state of a host that has fallen silent:
std::string state_command(const Host& host);
// what has killed a process there:
std::string kills_command(const Host& host);
// why the host does not let our agent in:
std::string login_command(const Host& host);
// and what ends by force whatever a job may have left there.
std::string leftovers_command(const Host& host);

// The arguments with secrets masked: the value of an option or of a NAME=value whose name looks
// secret (--hub_token X, --api-key=X), also within an argument (sh -c 'x --token X'); a URL's
// password (http://user:X@host); what follows "Authorization:"; and every value that `environment`
// ("NAME=value") has under a name that looks secret. They become ***. For what leaves the machine
// or stays in a file, such as the report.
std::vector<std::string> masked_arguments(std::span<const std::string> arguments,
                                          std::span<const std::string> environment);

// The same for a terminal: quoted for a shell, without control bytes.
std::vector<std::string> shown_arguments(std::span<const std::string> arguments,
                                         std::span<const std::string> environment);

// https://user:password@host as https://user:***@host, anywhere in the text.
std::string without_url_passwords(std::string text);

}  // namespace dtl
