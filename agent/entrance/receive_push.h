#pragma once
// The node's half of a push: dtagent --receive. The launcher's shell command has put dtagent alone
// into a new folder of the cache and started it there; it takes the other files from standard
// input, checks all of them, and gives the folder its lasting name in one step. So a folder with a
// lasting name is complete, and is never changed again.

#include <span>
#include <string>

namespace dtl {

// folder: of this dtagent, CACHE/.new-*. arguments: NAME FILE:BYTES:SHA256 ..., the first FILE
// being dtagent itself. Writes kPushMarker "send" when it is ready for the others, whose bytes
// follow each other without anything in between. Throws Error(kCannotWrite) naming the path, or
// Error(kIo) when the launcher leaves or what comes is not what was promised; the caller removes
// `folder` then.
void receive_files(const std::string& folder, std::span<const std::string> arguments);

}  // namespace dtl
