#pragma once
// Reads the token of a job, by which its nodes authenticate each other: from the file in
// DTL_TOKEN_FILE, or from DTL_TOKEN. Whoever knows it passes for a node of the job, so it must not
// stay in an environment that ranks inherit. launcher/join/token.h checks the token.

#include <optional>
#include <string>

namespace dtl {

// Returns a variable's value and removes it from this process's environment, and so from those of
// its later children. nullopt: not set. Call it while no other thread reads the environment.
std::optional<std::string> take_variable(const char* name);

// The value of DTL_TOKEN_FILE; empty: not set.
std::string job_token_file();
// The token in that file, which only this user or root may have written. where: its name in
// messages. Throws Error.
std::string read_token_file(const std::string& path, const std::string& where);

// The file overrides the variable; nullopt if neither is set. Always removes DTL_TOKEN from this
// process's environment. Throws Error.
std::optional<std::string> take_job_token();

}  // namespace dtl
