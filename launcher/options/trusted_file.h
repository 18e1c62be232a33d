#pragma once
// Files that decide which hosts and commands a job has, and the programs that dtlaunch itself runs.
// Only those who may start the job may write them; otherwise another user of the machine could have
// commands run as this one.

#include <cstddef>
#include <string>

namespace dtl {

// Reads the whole file, limit_bytes at most. Throws Error(kBadInput) naming it when it belongs to
// neither this user nor root, when everybody may write it, or when it cannot be read. Pipes are not
// checked. kind: "hostfile", for messages.
std::string read_trusted_file(const std::string& path, std::size_t limit_bytes,
                              const std::string& kind);

// Throws the same where a shell command begins with the path of such a program, plain or in quotes,
// or of one below a folder that everybody may write and that is not sticky. Variables, and names
// that the shell looks up in PATH, are not checked: only the shell knows what they lead to. kind:
// "program of --discover".
void check_trusted_command(const std::string& command, const std::string& kind);

}  // namespace dtl
