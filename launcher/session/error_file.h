#pragma once
// What a rank wrote to $TORCHELASTIC_ERROR_FILE. torch's @record keeps the exception there, as
// JSON. The agent reads the file; here is only its text.

#include <string>
#include <vector>

namespace dtl {

// The last lines of the traceback, or of the message where there is none; at most 20. Empty for
// what cannot be read: any program may write there. Never throws.
std::vector<std::string> traceback_of(const std::string& error_file);

}  // namespace dtl
