#pragma once
// One question to a metadata service, over plain HTTP as these have it. The one home of
// Boost.Beast.

#include <optional>

#include "agent/cloud/cloud_talk.h"
#include "wire/asio.h"

namespace dtl {

// Straight to the service, whatever proxies are set; nothing is followed. nullopt: no answer, or
// none that is HTTP, within kMetadataPatience.
awaitable<std::optional<MetadataAnswer>> ask_metadata(asio::io_context& context,
                                                      asio::ip::tcp::endpoint service,
                                                      MetadataRequest request);

}  // namespace dtl
