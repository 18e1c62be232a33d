#pragma once
// The text of what a rank wrote to $TORCHELASTIC_ERROR_FILE: torch's @record stores the exception
// there as JSON. The agent reads the file.

#include <string>
#include <vector>

namespace dtl {

// The last lines of the traceback, or of the message if there is none; at most 20. Empty if the
// file cannot be parsed: any program may write it. Never throws.
std::vector<std::string> traceback_of(const std::string& error_file);

}  // namespace dtl
