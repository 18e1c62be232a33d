#pragma once
// Findings as text for people and as JSON for programs. Pure: the caller writes.

#include <string>
#include <vector>

#include "launcher/doctor/doctor_findings.h"

namespace dtl {

// One finding per paragraph with its fix, at most `columns` wide (40 at least). Without `verbose`,
// all that is fine goes into one line. With `color` the word "error" is red and what to try is
// bold; the text and its lines are the same.
std::string doctor_text(const std::vector<Finding>& findings, std::size_t hosts, bool verbose,
                        int columns, bool color);

// Scripts read the names of the fields, so these must stay.
std::string doctor_json(const std::vector<Finding>& findings, const std::vector<Examination>& hosts,
                        const std::vector<Link>& links);

}  // namespace dtl
