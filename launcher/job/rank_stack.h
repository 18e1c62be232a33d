#pragma once
// RankStack: what a rank says about itself when it is asked: the stacks of Python's faulthandler,
// in which dtring names the collective that it waits in (python/dtring/_stacks.py). Pure.

#include <string>
#include <vector>

namespace dtl {

struct StackFrame {
  std::string file;
  int line = 0;  // 0: unknown
  std::string function;

  bool operator==(const StackFrame&) const = default;
};

struct RankStack {
  std::string collective;          // "all_reduce"; empty: none is known
  std::string details;             // "all_reduce of 4.0 MiB of float32"
  std::string since;               // "10:13:02"; empty: unknown
  std::vector<StackFrame> frames;  // of the main thread, innermost first
};

// Any program may have written the text; names are made printable. Never throws. Empty members: the
// text does not say.
RankStack parse_stack(const std::string& text);

// True for the user's own script or package: not the interpreter's, not an installed package's, not
// dtring's.
bool is_users(const StackFrame& frame);

// The innermost frame that is the user's, or the innermost one; nullptr when there is none.
const StackFrame* where(const RankStack& stack);

// As in Python's tracebacks: File "/home/me/train.py", line 31, in main
std::string frame_text(const StackFrame& frame);

}  // namespace dtl
