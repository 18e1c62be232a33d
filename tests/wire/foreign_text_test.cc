// Every text field of every message from an agent is escaped when it is decoded.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "base/text.h"
#include "examples.h"
#include "frame_bytes.h"
#include "hostile_text.h"
#include "wire/frame.h"

namespace dtl::foreign_text_test {
namespace {

Message decoded(const Message& message) {
  FrameReader reader;
  reader.feed(frame_bytes(message, 0));
  return reader.next().value();
}

template <class M>
constexpr bool is_agents = AgentsMessage<M>;

TEST(ForeignText, IsPrintableInEveryFieldOfAnAgentsMessage) {
  int texts = 0;
  for (const auto& [name, example] : example_messages()) {
    Message message = decoded(hostile(example, 0));
    const bool agents = std::visit([]<class M>(const M&) { return is_agents<M>; }, message);
    const std::string expected = agents ? printable(kHostileText) : kHostileText;
    const std::string& of = name;
    walk_texts(message, 0, [&](const char* field, std::string& text) {
      EXPECT_EQ(text, expected) << of << "." << field;
      if (agents) ++texts;
    });
  }
  EXPECT_GE(texts, 17);  // the walk has visited text fields
}

TEST(ForeignText, LeavesWhatIsNotForPeopleAlone) {
  const auto output = decoded(Output{0, Stream::kStdout, kHostileText});
  EXPECT_EQ(std::get<Output>(output).bytes, kHostileText);
  Evidence evidence;
  evidence.error_file = kHostileText;
  EXPECT_EQ(std::get<Evidence>(decoded(evidence)).error_file, kHostileText);
}

}  // namespace
}  // namespace dtl::foreign_text_test
