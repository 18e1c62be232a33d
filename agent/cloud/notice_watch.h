#pragma once
// Asks this node's cloud whether the node will be taken away (--spot), while the agent lives. A
// service that is absent or hangs costs only a socket. The launcher decides what follows from a
// notice.

#include <functional>
#include <string>

#include "agent/cloud/cloud_talk.h"
#include "wire/asio.h"

namespace dtl {

// Called on the io_context's thread.
struct NoticeListeners {
  std::function<void(const CloudNotice&)> leaving;  // once
  std::function<void(const std::string&)> say;      // for the user
};

// All three clouds use this address. Tests pass another endpoint to watch_notices().
asio::ip::tcp::endpoint metadata_service();

// Returns after the first notice. cloud: kAuto takes the first cloud whose answer is valid.
awaitable<void> watch_notices(asio::io_context& context, Cloud cloud,
                              asio::ip::tcp::endpoint service, NoticeListeners listeners);

}  // namespace dtl
