#pragma once
// Files that decide which hosts and commands a job has: only who may start the job may write them.
// The same holds for a program that dtlaunch itself runs.

#include <cstddef>
#include <string>

namespace dtl {

// The whole file. Throws Error(kBadInput) naming it when it belongs to neither this user nor root,
// when everybody may write it, or when it cannot be read. A pipe is whose it is. kind: "hostfile".
std::string read_trusted_file(const std::string& path, std::size_t limit_bytes,
                              const std::string& kind);

// Throws the same if a shell command begins with the path of such a program, plain or in quotes, or
// of one below a folder that everybody may write and that is not sticky.
// Variables, and names that the shell looks up in PATH, are not checked.
// kind: "program of --discover".
void check_trusted_command(const std::string& command, const std::string& kind);

}  // namespace dtl
