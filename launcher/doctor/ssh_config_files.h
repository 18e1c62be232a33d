#pragma once
// The user's and the system's ssh_config(5), and the files that they include.

#include <string>

#include "launcher/doctor/ssh_config_check.h"

namespace dtl {

// Without a text when it cannot be read.
ConfigText read_ssh_config_file(const std::string& path);

// Reads what an Include names, with its patterns; `home` is what ~ stands for.
ReadIncluded ssh_config_includes(const std::string& home);

}  // namespace dtl
