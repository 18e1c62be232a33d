#pragma once
// Child: a child process that we talk to over a socket pair, which is its standard input and
// output: local agents, ProxyCommand, and schedulers' programs.

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"

namespace dtl {

// It lives in a session of its own (a ^C at the terminal is ours alone), with no signal blocked or
// ignored. The destructor reaps it if it has ended, but neither ends it nor waits: what it has at
// its other end (ranks to stop) is its own business.
struct Child {
  Child() = default;
  Child(Child&&) = default;
  Child& operator=(Child&&) = default;
  ~Child();

  // "exit status 127", "killed by SIGKILL"; empty while it runs. Reaps it.
  std::string ending();
  void signal(int number) const;  // to it alone, if it was not reaped

  Fd socket;          // its standard input and output
  Fd standard_error;  // its standard error; invalid when it shares ours
  pid_t pid = 0;      // and its session's; not to be used once it was reaped
  Fd process;         // of watch_child()

 private:
  std::string ending_;
};

enum class ChildErrors { kShared, kPiped };

// Starts arguments[0], which is a path. environment: NAME=VALUE each; absent: this process's own,
// without SSH_CONNECTION. input: becomes the child's kInputDescriptor; -1: it has none. Throws
// Error(kOs) when the program cannot be started: no such file, not executable.
Child spawn_child(const std::vector<std::string>& arguments, ChildErrors errors,
                  const std::optional<std::vector<std::string>>& environment = std::nullopt,
                  int input = -1);

}  // namespace dtl
