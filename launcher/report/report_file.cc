// Only its user may read the file, which has commands, paths and an environment. It is written as a
// whole, so nobody reads half of it.
#include "launcher/report/report_file.h"

#include "base/error.h"
#include "base/files/new_file.h"
#include "base/log.h"
#include "launcher/report/report.h"

namespace dtl {

int write_report(const std::string& path, const JobResult& result, const JobSeries& series,
                 int status) {
  if (path.empty()) return status;
  try {
    write_private_file_atomically(path, report_json(result, series));
  } catch (const Error& error) {
    log_error(error.what());
    return status != 0 ? status : static_cast<int>(error.status());
  }
  return status;
}

}  // namespace dtl
