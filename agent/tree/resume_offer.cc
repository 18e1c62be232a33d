#include "agent/tree/resume_offer.h"

#include <utility>

#include "base/error.h"
#include "wire/frame.h"

namespace dtl {

awaitable<std::optional<ResumeOffer>> hear_resume(ByteStream& stream) {
  std::optional<Message> message;
  FrameReader reader;
  try {
    while (!message) {
      std::string bytes = co_await stream.read();
      if (bytes.empty()) break;
      reader.feed(std::move(bytes));
      message = reader.next();
    }
  } catch (const Error&) {
    message.reset();  // not our launcher
  }
  auto* offer = message ? std::get_if<Resume>(&*message) : nullptr;
  if (offer == nullptr) co_return std::nullopt;
  co_return ResumeOffer{std::move(*offer), reader.take_rest()};
}

}  // namespace dtl
