#pragma once
// The functions that a rank's first thread was in, from what gdb or eu-stack printed about it, for
// the failure card. Agents run these tools and send their text as it is. Pure.

#include <string>
#include <vector>

namespace dtl {

// Innermost first. Empty when the text has no frames. Any program may have written the text, so
// names are made printable.
std::vector<std::string> native_frames(const std::string& text);

}  // namespace dtl
