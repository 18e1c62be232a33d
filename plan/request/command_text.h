#pragma once
// Commands as text: lines for users to paste into a shell, and users' arguments in a form that may
// be shown or stored. Messages suggest commands that work on that specific host, over ssh or
// through its scheduler. Pure.

#include <span>
#include <string>
#include <vector>

#include "plan/request/host.h"

namespace dtl {

// How to run a command line on a host by hand. For this machine it is the line itself; otherwise it
// uses ssh with the user, port and address of the hostfile, or the host's scheduler. A pod that
// ends with its job cannot run commands, so there it shows how the pod was set up. The caller must
// quote untrusted parts of `command`.
std::string command_on(const Host& host, const std::string& command);

// Commands for users. Shows the state of a host that does not respond:
std::string state_command(const Host& host);
// what killed a process there:
std::string kills_command(const Host& host);
// why the host rejects our agent's login:
std::string login_command(const Host& host);
// and ends by force whatever a job may have left there.
std::string leftovers_command(const Host& host);

// The arguments with secrets replaced by ***: the value of an option or NAME=value with a
// secret-looking name (--hub_token X, --api-key=X), also within an argument (sh -c 'x --token X');
// a URL's password (http://user:X@host); text after "Authorization:"; and every value in
// `environment` ("NAME=value") with a secret-looking name. For text that leaves the machine or is
// stored in a file, such as the report.
std::vector<std::string> masked_arguments(std::span<const std::string> arguments,
                                          std::span<const std::string> environment);

// The same for a terminal: quoted for a shell, without control bytes.
std::vector<std::string> shown_arguments(std::span<const std::string> arguments,
                                         std::span<const std::string> environment);

// Replaces https://user:password@host by https://user:***@host, anywhere in the text.
std::string without_url_passwords(std::string text);

}  // namespace dtl
