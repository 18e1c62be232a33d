#pragma once
// A command as it may be shown, written down, or pasted into a shell. Pure.

#include <span>
#include <string>
#include <vector>

#include "plan/request/host.h"

namespace dtl {

// How to run a command line on a host by hand: as it is for the machine itself, else by ssh with
// the user, port and address of the host file, or by the host's engine. Of a pod that ends with the
// job: what shows how it was set up. What the line has from elsewhere is quoted already.
std::string command_on(const Host& host, const std::string& command);

// What to look at by hand. How a host is that has fallen silent;
std::string state_command(const Host& host);
// who has killed something there;
std::string kills_command(const Host& host);
// why it does not let our agent in;
std::string login_command(const Host& host);
// and what ends by force what a job may have left there.
std::string leftovers_command(const Host& host);

// The arguments with secrets masked: the value of an option or of a NAME=value whose name looks
// secret (--hub_token X, --api-key=X), also within an argument (sh -c 'x --token X'); a URL's
// password (http://user:X@host); what follows "Authorization:"; and every value that also stands in
// `environment` ("NAME=value") under a name that looks secret. They become ***.
std::vector<std::string> masked_arguments(std::span<const std::string> arguments,
                                          std::span<const std::string> environment);

// The same for a terminal: what needs quotes in a shell has them, control bytes are gone.
std::vector<std::string> shown_arguments(std::span<const std::string> arguments,
                                         std::span<const std::string> environment);

// https://user:password@host as https://user:***@host, wherever it stands.
std::string without_url_passwords(std::string text);

}  // namespace dtl
