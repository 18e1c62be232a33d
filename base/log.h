#pragma once
// Log lines of a program on standard error: "dtlaunch: node02: ...". Level and name are mutable
// globals; main sets them before it starts threads. Thread-safe: each line is one write(2). plan,
// wire and ring are libraries: except for ring's programs they never log, but return their results.

#include <string>
#include <string_view>

namespace dtl {

enum class LogLevel { kQuiet, kNormal, kVerbose, kDebug };

void set_log_level(LogLevel level);
LogLevel log_level();
void set_program_name(std::string_view name);  // printed before every line
const std::string& program_name();

void log_error(std::string_view text);    // always
void log_notice(std::string_view text);   // kNormal and up
void log_verbose(std::string_view text);  // kVerbose and up (-v)
void log_debug(std::string_view text);    // kDebug (-vv)

}  // namespace dtl
