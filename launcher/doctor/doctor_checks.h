#pragma once
// What is wrong with single hosts, and where hosts differ that should be alike. Internal to
// doctor_findings.cc, which decides the order. Pure.

#include <vector>

#include "launcher/doctor/doctor_findings.h"

namespace dtl {

// Both add to `findings`. Hosts that are not up are left out, but for their ssh_config.
void check_each_host(const std::vector<Examination>& hosts, std::vector<Finding>& findings);
void check_equality(const std::vector<Examination>& hosts, std::vector<Finding>& findings);

}  // namespace dtl
