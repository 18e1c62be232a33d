#include "launcher/keep/kept_json.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "launcher/screen/json_answer.h"

namespace dtl {

std::string kept_json(const std::string& job, std::string_view lines) {
  using Members = nlohmann::ordered_json;
  Members members;
  members["scheduler_job"] = job.empty() ? Members() : Members(job);
  members["hosts"] = Members::array();
  for (const std::string& line : split(lines, '\n')) {
    const std::size_t blank = line.find(' ');
    if (blank == line.npos) continue;  // after the last line
    members["hosts"].push_back(
        {{"host", line.substr(0, blank)}, {"connected", line.substr(blank + 1) == "connected"}});
  }
  return json_answer("kept", members.dump(-1, ' ', false, Members::error_handler_t::replace));
}

}  // namespace dtl
