#pragma once
// The node's half of a push: dtagent --receive. The launcher's shell command has put dtagent alone
// into a new folder of the cache and started it there. It reads the other files from standard
// input, checks all of them, and renames the folder to its final name in one step. So a folder with
// a final name is complete, and never changes again.

#include <span>
#include <string>

namespace dtl {

// folder: this dtagent's, CACHE/.new-*. arguments: NAME [peers[=LOW-HIGH]] FILE:BYTES:SHA256 ...;
// the first FILE is dtagent itself. Writes kPushMarker "send" when it is ready for the other files,
// which follow without separators. With "peers", hosts feed each other (push_peers.h). Throws
// Error(kCannotWrite) naming the path, or Error(kIo) if the launcher disconnects or a checksum
// differs; the caller then removes `folder`.
void receive_files(const std::string& folder, std::span<const std::string> arguments);

}  // namespace dtl
