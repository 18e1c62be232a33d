#pragma once
// Asks a metadata service one question, over plain HTTP as these services have it. Knows nothing of
// clouds but a header of Google's. The only user of Boost.Beast, which costs 10 s to compile.

#include <optional>

#include "agent/cloud/cloud_talk.h"
#include "wire/asio.h"

namespace dtl {

// Connects to the service itself, whatever proxies are set, and follows no redirect. nullopt: no
// answer within kMetadataPatience, or one that is not HTTP.
awaitable<std::optional<MetadataAnswer>> ask_metadata(asio::io_context& context,
                                                      asio::ip::tcp::endpoint service,
                                                      MetadataRequest request);

}  // namespace dtl
