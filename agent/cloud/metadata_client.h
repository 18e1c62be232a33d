#pragma once
// Asks a metadata service one question, over plain HTTP. Knows nothing of clouds except a header of
// Google's. Only its source includes Boost.Beast, which takes 10 s to compile.

#include <optional>

#include "agent/cloud/cloud_talk.h"
#include "wire/asio.h"

namespace dtl {

// Connects directly, ignoring proxies, and follows no redirect. nullopt: no answer within
// kMetadataPatience, or the answer is not HTTP.
awaitable<std::optional<MetadataAnswer>> ask_metadata(asio::io_context& context,
                                                      asio::ip::tcp::endpoint service,
                                                      MetadataRequest request);

}  // namespace dtl
