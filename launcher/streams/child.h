#pragma once
// Child: a child process whose standard input and output are a socket pair to us: local agents,
// ProxyCommand, and schedulers' programs.

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"

namespace dtl {

// Runs in its own session, so ^C on the terminal reaches only us, with no signal blocked or
// ignored. The destructor reaps it if it has ended, but neither ends it nor waits: an agent may
// still have to stop its ranks.
struct Child {
  Child() = default;
  Child(Child&&) = default;
  Child& operator=(Child&&) = default;
  ~Child();

  // "exit status 127", "killed by SIGKILL"; empty while it runs. Reaps it.
  std::string ending();
  void signal(int number) const;  // to this process only, if not reaped

  Fd socket;          // its standard input and output
  Fd standard_error;  // invalid if it shares ours
  pid_t pid = 0;      // and session id; not valid after reaping
  Fd process;         // from watch_child()

 private:
  std::string ending_;
};

enum class ChildErrors { kShared, kPiped };

// Starts arguments[0], a path. environment: NAME=VALUE each; absent: this process's environment
// without SSH_CONNECTION. input: becomes the child's kInputDescriptor; -1: none. Throws Error(kOs)
// if the program cannot be started: no such file, not executable.
Child spawn_child(const std::vector<std::string>& arguments, ChildErrors errors,
                  const std::optional<std::vector<std::string>>& environment = std::nullopt,
                  int input = -1);

}  // namespace dtl
