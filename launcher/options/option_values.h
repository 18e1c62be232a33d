#pragma once
// Values of options that the command line and the job file share, as types. Pure.

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
  const Starter* starter = nullptr;         // kScheduler
  std::optional<std::size_t> program = {};  // of Starter::programs; absent: any of them

  bool is_ssh() const { return how == How::kSsh; }
  bool is_fork() const { return how == How::kFork; }
};

// The values of -launcher and --port-range. Throw Error(kUsage).
AgentStart parse_agent_start(const std::string& text);
// "USR1", "SIGUSR2"; 0: "none". Throws Error(kUsage).
int parse_notice_signal(const std::string& text);

PortRange parse_port_range(const std::string& text);

// "22", "0077": octal, as umask(1) takes it. Throws Error(kUsage).
std::uint32_t parse_umask(const std::string& text);

// "4", which is from 4 to 4, or "MIN:MAX", as torchrun writes it. Empty: `range` has it; else what
// is wrong.
std::string read_range(const std::string& text, SizeRange& range);

}  // namespace dtl
