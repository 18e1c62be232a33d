#pragma once
// Asks the metadata service of this node's cloud, for as long as the agent lives, whether the node
// is about to be taken away (--spot). A service that is absent or hangs costs a socket and nothing
// else. What a notice leads to is the launcher's business.

#include <functional>
#include <string>

#include "agent/cloud/cloud_talk.h"
#include "wire/asio.h"

namespace dtl {

// Both are called on the io_context's thread.
struct NoticeListeners {
  std::function<void(const CloudNotice&)> leaving;  // once
  std::function<void(const std::string&)> say;      // for the user
};

// All three clouds have theirs at this address. Tests pass another endpoint to watch_notices().
asio::ip::tcp::endpoint metadata_service();

// Returns after the first notice. cloud: kAuto takes the first cloud that answers as itself.
awaitable<void> watch_notices(asio::io_context& context, Cloud cloud,
                              asio::ip::tcp::endpoint service, NoticeListeners listeners);

}  // namespace dtl
