#pragma once
// Asks the metadata service of this node's cloud, as long as the agent lives, whether the node is
// to go (--spot). A service that is not there, or hangs, costs a socket and nothing else.

#include <functional>
#include <string>

#include "agent/cloud/cloud_talk.h"
#include "wire/asio.h"

namespace dtl {

struct NoticeListeners {
  std::function<void(const CloudNotice&)> leaving;  // once
  std::function<void(const std::string&)> say;      // for the user
};

// Where each of the three clouds has it.
asio::ip::tcp::endpoint metadata_service();

// Until the first notice. cloud: kAuto is the first one that answers as itself.
awaitable<void> watch_notices(asio::io_context& context, Cloud cloud,
                              asio::ip::tcp::endpoint service, NoticeListeners listeners);

}  // namespace dtl
