#pragma once
// Reads the user's and the system's ssh_config(5), and the files that they include. Only this part
// of the check touches the file system.

#include <string>

#include "launcher/doctor/ssh_config_check.h"

namespace dtl {

// The text is empty when the file cannot be read: most users have none.
ConfigText read_ssh_config_file(const std::string& path);

// Expands an Include with its patterns. `home` replaces "~".
ReadIncluded ssh_config_includes(const std::string& home);

}  // namespace dtl
