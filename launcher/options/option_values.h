#pragma once
// Values of options as types, for what the tables of options share: the command line, the job file
// and the subcommands read the same text in the same way. The errors name the option. Pure.

#include <cstdint>
#include <optional>
#include <string>

#include "plan/request/request.h"
#include "plan/schedulers/scheduler.h"

namespace dtl {

// -launcher: how agents come to life on the hosts.
struct AgentStart {
  enum class How {
    kSsh,        // here for names that mean this machine, over ssh on all others
    kFork,       // all of them here, whatever the hosts' names
    kScheduler,  // by a scheduler's own programs
  };
  How how = How::kSsh;
  const Starter* starter = nullptr;         // kScheduler alone
  std::optional<std::size_t> program = {};  // of Starter::programs; absent: any of them

  bool is_ssh() const { return how == How::kSsh; }
  bool is_fork() const { return how == How::kFork; }
};

// A value of -launcher. Whether this job's scheduler has the starter is not asked here: that is
// known only once the job's surroundings are. Throws Error(kUsage).
AgentStart parse_agent_start(const std::string& text);
// The signal by which a scheduler says that the job's time is nearly over: "USR1", "SIGUSR2"; 0 for
// "none". No other signal can be chosen. Throws Error(kUsage).
int parse_notice_signal(const std::string& text);

// "20000:20099" or "20000-20099", both ends included. One port alone is refused. Throws
// Error(kUsage).
PortRange parse_port_range(const std::string& text);

// "22", "0077": octal, as umask(1) takes it. Throws Error(kUsage).
std::uint32_t parse_umask(const std::string& text);

// "4", which is from 4 to 4, or "MIN:MAX", as torchrun writes it. Empty: `range` has it; else what
// is wrong.
std::string read_range(const std::string& text, SizeRange& range);

}  // namespace dtl
