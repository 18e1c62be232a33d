#pragma once
// Typed values of options, shared by all tables of options: the command line, the job file and the
// subcommands parse the same text in the same way. The errors name the option. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "plan/request/request.h"
#include "plan/schedulers/scheduler.h"

namespace dtl {

// -launcher: how agents start on the hosts.
struct AgentStart {
  enum class How {
    kSsh,        // over ssh, but here for names of this machine
    kFork,       // all of them here, for any host name
    kScheduler,  // by a scheduler's starter
  };
  How how = How::kSsh;
  const Starter* starter = nullptr;         // kScheduler only
  std::optional<std::size_t> program = {};  // index in Starter::programs; absent: any

  bool is_ssh() const { return how == How::kSsh; }
  bool is_fork() const { return how == How::kFork; }
};

// A value of -launcher. Does not check that this job's scheduler has the starter: only the job's
// surroundings tell. Throws Error(kUsage).
AgentStart parse_agent_start(const std::string& text);

// What an old name of --scheduler means. what: "option is called --scheduler".
struct RenamedScheduler {
  std::string why;    // also says so if the value is not a scheduler: "tcp" was an engine, too
  std::string value;  // for the new name: the value, or the nearest one; empty: there is none
};
RenamedScheduler renamed_scheduler(std::string_view what, const std::string& value);

// The signal by which a scheduler says that the job's time is nearly over: "USR1", "SIGUSR2"; 0 for
// "none". No other signal can be chosen. Throws Error(kUsage).
int parse_notice_signal(const std::string& text);

// "20000:20099" or "20000-20099", both ends included. A single port is an error. Throws
// Error(kUsage).
PortRange parse_port_range(const std::string& text);

// "22", "0077": octal, as umask(1) takes it. Throws Error(kUsage).
std::uint32_t parse_umask(const std::string& text);

// "200M", "2G", "2GiB": from 1 MiB to 1 TiB. Sets `bytes` and returns empty, or returns what is
// wrong.
std::string read_size(const std::string& text, std::int64_t& bytes);

// "4" (from 4 to 4) or "MIN:MAX", torchrun's form. Sets `range` and returns empty, or returns what
// is wrong.
std::string read_range(const std::string& text, SizeRange& range);
constexpr std::string_view kRangeBackwards = "the range begins above its end";

constexpr double kMaxSeconds = 366.0 * 24 * 3600;  // of options that take seconds
// A number of seconds, fractions included, in milliseconds, the unit of a job's clocks. Sets `time`
// and returns empty, or returns what is wrong. Throws Error(kUsage) for "5m", with "300" as the
// hint.
std::string read_seconds(const std::string& text, std::string_view option, double low, double high,
                         JobTime& time);

// The number of a signal: "TERM", "SIGTERM", "15"; nullopt if there is no such signal. Real-time
// signals have only numbers.
std::optional<int> signal_by_name(std::string_view text);

}  // namespace dtl
