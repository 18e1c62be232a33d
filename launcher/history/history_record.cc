// The status follows from the launcher's process: a killed launcher cannot record its end.
#include "launcher/history/history_record.h"

#include <fmt/format.h>
#include <unistd.h>

namespace dtl {
namespace {

// "BOOT-NAMESPACE" without the namespace.
std::string boot_of(const std::string& space) {
  return space.substr(0, space.rfind('-'));
}

}  // namespace

HistoryStatus status_of(const HistoryRecord& record) {
  if (record.took_ms) return HistoryStatus::kEnded;
  if (is_running(record.process)) return HistoryStatus::kRunning;
  const std::string here = identify(::getpid()).space;
  const bool is_other_space = record.process.space != here;
  // The file belongs to this host, so another boot is an earlier one.
  if (is_other_space && boot_of(record.process.space) == boot_of(here)) {
    return HistoryStatus::kUnknown;
  }
  return HistoryStatus::kLost;
}

std::string status_text(const HistoryRecord& record, HistoryStatus status) {
  switch (status) {
    case HistoryStatus::kRunning:
      return "running";
    case HistoryStatus::kWaiting:
      return "waiting";
    case HistoryStatus::kLost:
      return "lost";
    case HistoryStatus::kUnknown:
      return "unknown";
    case HistoryStatus::kEnded:
      break;
  }
  // Both have the status 124, and ranks may exit with that, too.
  if (record.cause == "timeout" || record.cause == "hang") return record.cause;
  return fmt::format("exit {}", record.exit_status);
}

bool has_failed(const HistoryRecord& record, HistoryStatus status) {
  return status == HistoryStatus::kLost ||
         (status == HistoryStatus::kEnded && record.exit_status != 0);
}

}  // namespace dtl
