#pragma once
// NativeFrames: the functions that a rank's first thread was in, from what gdb or eu-stack wrote of
// it, for the failure card. Pure.

#include <string>
#include <vector>

namespace dtl {

// Innermost first. Any program may have written the text; what it says is made printable.
std::vector<std::string> native_frames(const std::string& text);

}  // namespace dtl
