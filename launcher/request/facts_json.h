#pragma once
// What --version, --show-limits and --show-scheduler print with --json: dtlaunch-json(7). Pure.

#include <string>
#include <vector>

#include "base/library.h"
#include "launcher/options/limits_text.h"
#include "plan/schedulers/evidence.h"

namespace dtl {

std::string version_json(const std::vector<LibraryPlace>& libraries);
std::string limits_json(const std::vector<LimitFact>& facts);
std::string scheduler_json(const SchedulerEvidence& evidence);

}  // namespace dtl
