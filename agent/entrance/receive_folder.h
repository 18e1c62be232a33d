#pragma once
// dtagent --receive-folder: takes a folder that dtlaunch brings (--sync, --venv) on standard input;
// base/folders/folder_list.h has the conversation.

namespace dtl {

// Returns when all is in place, or if the host sees the launcher's folder itself. Throws
// Error(kCannotWrite) naming the path; Error(kConfig) if the host lacks the Python of an
// environment; Error(kIo) if the launcher disconnects or sends nothing for a minute.
void receive_folder();

}  // namespace dtl
