#pragma once
// What becomes of a signal that comes to this process.

namespace dtl {

// True where it is ignored, as under nohup.
bool is_ignored(int signal);

}  // namespace dtl
