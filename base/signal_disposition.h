#pragma once
// What this process does with a signal that comes to it. Signals that are ignored at the start stay
// ignored: whoever started us wants it so.

namespace dtl {

// True where it is ignored, as under nohup.
bool is_ignored(int signal);

}  // namespace dtl
