#pragma once
// Files that decide a job's hosts and commands, and programs that dtlaunch itself runs. Only users
// who may start the job may write them; otherwise another user of the machine could run commands as
// this one.

#include <cstddef>
#include <string>

namespace dtl {

// Reads the whole file, limit_bytes at most. Throws Error(kBadInput) that names the file if it
// belongs to neither this user nor root, if everybody may write it, or if it cannot be read. Does
// not check pipes. kind: "hostfile", for messages.
std::string read_trusted_file(const std::string& path, std::size_t limit_bytes,
                              const std::string& kind);

// Applies the same rules to the path, plain or quoted, at the start of a shell command. Also
// refuses a file below a folder that everybody may write, unless it is sticky. Does not check
// variables and names on PATH, which only the shell can resolve. kind: "program of --discover".
void check_trusted_command(const std::string& command, const std::string& kind);

}  // namespace dtl
