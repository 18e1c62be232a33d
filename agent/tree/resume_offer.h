#pragma once
// ResumeOffer: the first message on a stream by which dtlaunch wants to continue a conversation.
// Whoever hears it checks its token.

#include <optional>
#include <string>

#include "wire/asio.h"
#include "wire/byte_stream.h"
#include "wire/messages.h"

namespace dtl {

struct ResumeOffer {
  Resume offer;
  std::string received;  // bytes after it
};

// nullopt: the stream ended, or something else came. The stream outlives the call; a deadline of
// the caller closes it.
awaitable<std::optional<ResumeOffer>> hear_resume(ByteStream& stream);

}  // namespace dtl
