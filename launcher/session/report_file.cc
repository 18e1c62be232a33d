#include "launcher/session/report_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "launcher/session/report.h"

namespace dtl {

void check_report_can_be_written(const std::string& path) {
  const std::string temporary = path + ".tmp";
  ::unlink(temporary.c_str());
  const Fd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.valid()) {
    throw system_error(fmt::format("cannot write report '{}'", path), Exit::kCannotWrite);
  }
  ::unlink(temporary.c_str());
}

int write_report(const std::string& path, const JobResult& result, int status) {
  if (path.empty()) return status;
  try {
    write_private_file_atomically(path, report_json(result));
  } catch (const Error& error) {
    log_error(error.what());
    return status != 0 ? status : static_cast<int>(error.status());
  }
  return status;
}

}  // namespace dtl
