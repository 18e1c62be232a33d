#pragma once
// Error: dtlaunch's only exception type, for external failures (a file, a host, a peer). It says
// what was attempted, why that failed, what to try next and the exit status. Our own bugs are
// assertions, expected answers are return values. Caught only in main(), at the root of a task and
// at the root of a thread.

#include <cstddef>
#include <exception>
#include <span>
#include <string>
#include <string_view>

namespace dtl {

// Exit statuses (man page dtlaunch(1), EXIT STATUS). A failing rank's own status takes precedence.
// 64 to 78 are those of sysexits.h where one fits, 124 is timeout(1)'s, 126 and 127 are a shell's,
// 130 and 143 are 128 plus the number of SIGINT and SIGTERM.
enum class Exit : int {
  kOk = 0,
  kUsage = 64,
  kBadInput = 65,     // a bad hostfile, data set or checkpoint
  kPeerFailed = 68,   // a rank's status when it ends because another rank failed
  kUnreachable = 69,  // a node cannot be reached or was lost
  kInternal = 70,
  kOs = 71,  // an agent or the operating system failed
  kCannotWrite = 73,
  kIo = 74,
  kTryAgain = 75,
  kVersion = 76,   // dtagent has another version, or sent garbage
  kAuth = 77,      // key refused, or host key changed or unknown
  kConfig = 78,    // the requested interface, port or cores are not available
  kTimeout = 124,  // --timeout passed
  kNotExecutable = 126,
  kNotFound = 127,
  kInterrupted = 130,
  kTerminated = 143,
};

struct TypedOption;

class Error : public std::exception {
 public:
  // attempted, WHERE and WHAT: "node02: cannot start agent"; reason: "connection refused"; hint:
  // "ssh node02 true", may be empty.
  Error(Exit status, std::string attempted, std::string reason, std::string hint = {});

  const char* what() const noexcept override { return message_.c_str(); }
  Exit status() const { return status_; }
  const std::string& attempted() const { return attempted_; }
  const std::string& reason() const { return reason_; }
  const std::string& hint() const { return hint_; }
  int number() const { return number_; }  // errno, from system_error(); else 0

  // The same error with context from the next layer: "node02: " + attempted.
  Error with_context(const std::string& context) const;

 private:
  friend Error system_error(const std::string& attempted, Exit status);
  friend Error cannot_read(const std::string& path);
  friend Error as_typed(const Error& error, std::span<const TypedOption> options);

  Exit status_;
  int number_ = 0;
  std::string attempted_, reason_, hint_, message_;
};

// The shape of every message: "WHERE: WHAT: WHY. Try: COMMAND". The functions below name the place
// of a user's mistake; what() joins the parts.

// The only function that builds it.
std::string message_text(std::string_view where, std::string_view why, std::string_view hint);

// "-np 3x: not a whole number (1 to 65535)". `typed`: the option as typed, with its value. Code
// that does not know that passes the canonical name and the value, and as_typed() replaces them.
Error option_error(std::string typed, std::string why, std::string hint);

// "hosts:2:7"; omits a line or column of 0.
std::string file_place(std::string_view path, std::size_t line, std::size_t column = 0);
// "job.toml:3: unknown key 'rank'"; `what` may be empty.
Error file_error(std::string place, std::string what, std::string why, std::string hint = {});
// "nohosts: cannot read: No such file or directory. Try: ls". Reads errno now.
Error cannot_read(const std::string& path);
Error cannot_read(const std::string& path, std::string why, std::string hint = {});

// An option under its canonical name, and as the user typed it with its value, or its place
// elsewhere ("job.toml:3: ranks = 4"). `typed` is empty if the option is given several times.
struct TypedOption {
  std::string name, typed;
};
// The same error, with each canonical option replaced by its typed form.
Error as_typed(const Error& error, std::span<const TypedOption> options);

// The system's own text for an errno value, e.g. "Permission denied".
std::string errno_text(int error_number);

// The command that shows the limit behind an errno value; empty if no limit is behind it. Run it on
// the host where the call failed.
std::string limit_command(int error_number);

// Error for a failed system call, reading errno now.
Error system_error(const std::string& attempted, Exit status = Exit::kOs);

}  // namespace dtl
