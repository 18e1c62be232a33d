// PROTOCOL.md is checked against the code: each message has a test vector there, and its bytes are
// what the encoder writes for that message's example.
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "base/fd.h"
#include "base/text.h"
#include "examples.h"
#include "wire/frame.h"

namespace dtl {
namespace {

// Lines "    vector NAME hex hex ..." of PROTOCOL.md; a vector may go on in further such lines.
std::map<std::string, std::string> vectors() {
  std::map<std::string, std::string> found;
  std::istringstream lines(read_file(DTL_PROTOCOL_FILE, 1 << 20));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word, name;
    if (!(words >> word >> name) || word != "vector") continue;
    while (words >> word) found[name] += word;
  }
  return found;
}

std::string wrapped(const std::string& name, const std::string& hex) {
  std::string text;
  for (std::size_t at = 0; at < hex.size(); at += 64) {
    text += "    vector " + name + " " + hex.substr(at, 64) + "\n";
  }
  return text;
}

TEST(Protocol, HasATestVectorForEveryMessage) {
  const auto written = vectors();
  EXPECT_EQ(example_messages().size(), std::variant_size_v<Message>);
  std::string wanted;
  for (const auto& [name, message] : example_messages()) {
    const std::string hex = to_hex(encode_frame(message, 7));
    const auto at = written.find(name);
    if (at == written.end() || at->second != hex) wanted += wrapped(name, hex);
  }
  EXPECT_EQ(wanted, "") << "these lines of PROTOCOL.md are missing or differ";
}

}  // namespace
}  // namespace dtl
