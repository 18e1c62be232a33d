#pragma once
// SyncTalk: brings one folder to one host over a stream of dtagent --receive-folder: sends the list
// of what is in it, then the files that the host lacks. One io_context thread. Throws Error, which
// need not name the host.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/folders/folder_list.h"
#include "launcher/streams/agent_stream.h"
#include "plan/request/host.h"

namespace dtl {

struct SyncedPlace {
  std::string folder;     // on the host
  bool is_same = false;   // the host sees the same folder: nothing was brought
  std::size_t files = 0;  // that were sent
  std::uint64_t bytes = 0;
};

// request: must outlive the talk. Calls `progress` whenever bytes have moved.
awaitable<SyncedPlace> sync_folder(AgentStream& stream, const FolderRequest& request, Host host,
                                   std::function<void()> progress);

}  // namespace dtl
