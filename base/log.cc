// One write(2) for each line, so that lines of several processes on one terminal do not mix.
#include "base/log.h"

#include <unistd.h>

#include <atomic>

namespace dtl {
namespace {

// Atomic for readers in other threads; main sets it before there are any.
std::atomic<LogLevel> g_level{LogLevel::kNormal};
std::string g_program = "dtlaunch";

void say(LogLevel needed, std::string_view text) {
  if (g_level.load(std::memory_order_relaxed) < needed) return;
  const std::string line = g_program + ": " + std::string(text) + "\n";
  // An error while writing a log line cannot be reported.
  [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

void set_log_level(LogLevel level) {
  g_level = level;
}
LogLevel log_level() {
  return g_level;
}
void set_program_name(std::string_view name) {
  g_program = name;
}
const std::string& program_name() {
  return g_program;
}
void log_error(std::string_view text) {
  say(LogLevel::kQuiet, text);
}
void log_notice(std::string_view text) {
  say(LogLevel::kNormal, text);
}
void log_verbose(std::string_view text) {
  say(LogLevel::kVerbose, text);
}
void log_debug(std::string_view text) {
  say(LogLevel::kDebug, text);
}

}  // namespace dtl
