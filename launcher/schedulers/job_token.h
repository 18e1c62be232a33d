#pragma once
// The token of a job, by which its nodes know each other, as this process is given it: the file
// that DTL_TOKEN_FILE names, or DTL_TOKEN. Whoever knows it passes for a node of the job, so it
// does not stay in an environment that ranks inherit. What a good token looks like is
// launcher/join/token.h's business.

#include <optional>
#include <string>

namespace dtl {

// A variable's value, which is taken out of this process's environment, and with it out of what it
// starts later. nullopt: it is not set. To be called while no other thread reads the environment.
std::optional<std::string> take_variable(const char* name);

// The file that DTL_TOKEN_FILE names; empty: it names none.
std::string job_token_file();
// The token in that file, which only this user or root may have written. where: how messages call
// it. Throws Error.
std::string read_token_file(const std::string& path, const std::string& where);

// The file wins over the variable; nullopt where neither is set. DTL_TOKEN is out of this process's
// environment afterwards, in any case. Throws Error.
std::optional<std::string> take_job_token();

}  // namespace dtl
