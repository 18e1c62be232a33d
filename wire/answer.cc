// An answer has no frames: it is text up to the end of the stream. The marker line carries the
// protocol version, so text of another version is not misread.
#include "wire/answer.h"

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "wire/messages.h"

namespace dtl {
namespace {

constexpr std::string_view kAnswerMarker = "\nDTAGENT-ANSWER ";

}  // namespace

std::string answer_line() {
  return std::string(kAnswerMarker) + std::to_string(kProtocol) + "\n";
}

std::optional<std::string> find_answer(std::string_view received) {
  const std::size_t at = received.find(kAnswerMarker);
  // The end of the line may not have arrived yet.
  const std::size_t end = at == std::string_view::npos ? at : received.find('\n', at + 1);
  if (end == std::string_view::npos) {
    if (at != std::string_view::npos || received.size() < kMaxShellNoiseBytes) return std::nullopt;
    throw Error(Exit::kVersion, "cannot understand the answer", "dtagent's first line is missing");
  }
  const std::string_view number =
      received.substr(at + kAnswerMarker.size(), end - at - kAnswerMarker.size());
  if (number != std::to_string(kProtocol)) {
    throw Error(Exit::kVersion, "cannot understand the answer",
                "its dtagent has protocol " + printable(number.substr(0, 10)) +
                    ", this dtlaunch protocol " + std::to_string(kProtocol),
                "install the same version on both");
  }
  return std::string(received.substr(end + 1));
}

}  // namespace dtl
