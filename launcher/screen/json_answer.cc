// Members arrive as text, because the type of a JSON value must not be in headers.
#include "launcher/screen/json_answer.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace dtl {
namespace {

using Answer = nlohmann::ordered_json;  // keeps the order of the members

Answer with_schema(std::string_view kind, const std::string& members) {
  Answer answer;
  answer["schema"] = fmt::format("dtlaunch-{}/1", kind);
  answer.update(Answer::parse(members));
  return answer;
}

// Text from hosts may not be UTF-8; `replace` writes U+FFFD where the default would throw.
std::string text_of(const Answer& answer) {
  return answer.dump(2, ' ', false, Answer::error_handler_t::replace) + "\n";
}

}  // namespace

std::string json_answer(std::string_view kind, const std::string& members) {
  return text_of(with_schema(kind, members));
}

std::string json_answer(std::string_view kind, const std::string& members,
                        const std::vector<Unreachable>& unreachable) {
  Answer answer = with_schema(kind, members);
  answer["unreachable"] = Answer::array();
  for (const Unreachable& each : unreachable) {
    answer["unreachable"].push_back({{"host", each.host}, {"error", each.error}});
  }
  return text_of(answer);
}

}  // namespace dtl
