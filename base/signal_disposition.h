#pragma once
// How this process handles a signal. Signals that were ignored at the start stay ignored: whoever
// started us wants that.

namespace dtl {

// True if it is ignored, as under nohup.
bool is_ignored(int signal);

}  // namespace dtl
