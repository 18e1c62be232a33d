#pragma once
// The token of a job, by which its nodes know each other, as this process is given it: the file
// that DTL_TOKEN_FILE names, or DTL_TOKEN.

#include <optional>
#include <string>

namespace dtl {

// A variable's value, out of this process's environment, and with it out of what it starts.
std::optional<std::string> take_variable(const char* name);

// The file that DTL_TOKEN_FILE names; empty: it names none.
std::string job_token_file();
// The token in that file. Throws Error.
std::string read_token_file(const std::string& path, const std::string& where);

// nullopt where neither is set. DTL_TOKEN is out of this process's environment afterwards. Throws
// Error.
std::optional<std::string> take_job_token();

}  // namespace dtl
