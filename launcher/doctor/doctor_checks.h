#pragma once
// What is wrong with single hosts, and where hosts differ that should be alike. Internal to
// doctor_findings.cc. Pure.

#include <vector>

#include "launcher/doctor/doctor_findings.h"

namespace dtl {

void check_each_host(const std::vector<Examination>& hosts, std::vector<Finding>& findings);
void check_equality(const std::vector<Examination>& hosts, std::vector<Finding>& findings);

}  // namespace dtl
