#pragma once
// Findings for people and as JSON. Pure.

#include <string>
#include <vector>

#include "launcher/doctor/doctor_findings.h"

namespace dtl {

// One finding per paragraph with its fix, at most `columns` wide; what is fine in one line unless
// `verbose`.
std::string doctor_text(const std::vector<Finding>& findings, std::size_t hosts, bool verbose,
                        int columns);

std::string doctor_json(const std::vector<Finding>& findings, const std::vector<Examination>& hosts,
                        const std::vector<Link>& links);

}  // namespace dtl
