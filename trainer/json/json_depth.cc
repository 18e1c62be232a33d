// Counts brackets outside strings. The parser reports invalid JSON later.
#include "trainer/json/json_depth.h"

namespace dtl::trainer {
namespace {

constexpr int kMaxDepth = 100;

}  // namespace

bool nests_too_deep(std::string_view json) {
  int depth = 0;
  bool in_text = false;
  for (std::size_t at = 0; at < json.size(); ++at) {
    const char c = json[at];
    // Skip the character after a backslash: it may be a quote.
    if (in_text && c == '\\') ++at;
    if (c == '"') in_text = !in_text;
    if (in_text) continue;
    if ((c == '[' || c == '{') && ++depth > kMaxDepth) return true;
    if (c == ']' || c == '}') --depth;
  }
  return false;
}

}  // namespace dtl::trainer
