#pragma once
// Files that decide which hosts and commands a job has: only who may start the job may write them.
// A command of ours runs as who starts the job, too.

#include <cstddef>
#include <string>

namespace dtl {

// The whole file. Throws Error(kBadInput) naming it when it belongs to neither this user nor root,
// when everybody may write it, or when it cannot be read. A pipe is whose it is. kind: "hostfile".
std::string read_trusted_file(const std::string& path, std::size_t limit_bytes,
                              const std::string& kind);

// Throws the same where the first word of a shell command is the path of such a program, plain or
// in quotes. A variable there, or a name that the shell looks for in PATH, is the user's to trust.
// kind: "program of --discover".
void check_trusted_command(const std::string& command, const std::string& kind);

}  // namespace dtl
