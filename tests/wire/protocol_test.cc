// Checks PROTOCOL.md against the code: each message has a test vector, which must equal the
// encoding of that message's example.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <type_traits>

#include "base/fd.h"
#include "base/text.h"
#include "examples.h"
#include "frame_bytes.h"
#include "tests/support/folders.h"
#include "wire/fields.h"
#include "wire/frame.h"

namespace dtl::protocol_test {
namespace {

// Lines "    vector NAME hex hex ..." of PROTOCOL.md; further such lines continue a vector.
std::map<std::string, std::string> vectors() {
  std::map<std::string, std::string> found;
  std::istringstream lines(read_file(test::source_path("wire/PROTOCOL.md"), 1 << 20));
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
    const std::string hex = to_hex(frame_bytes(message, 7));
    const auto at = written.find(name);
    if (at == written.end() || at->second != hex) wanted += wrapped(name, hex);
  }
  EXPECT_EQ(wanted, "") << "these lines of PROTOCOL.md are missing or differ";
}

// Records what fields() reports for a message, in PROTOCOL.md's words: "rank u32", "bytes
// text(65536)".
class FieldNotes {
 public:
  template <class T>
  void number(const char* field, const T&, std::uint64_t) {
    note(field, fmt::format("u{}", 8 * sizeof(T)));
  }
  void flag(const char* field, bool) { note(field, "flag"); }
  void real(const char* field, double) { note(field, "f64"); }
  void text(const char* field, const std::string&, std::size_t most_bytes) {
    note(field, most_bytes == kMaxNameBytes   ? "name"
                : most_bytes == kMaxTextBytes ? "words"
                                              : fmt::format("text({})", most_bytes));
  }
  void c_text(const char* field, const std::string& value, std::size_t most_bytes) {
    text(field, value, most_bytes);
  }
  void bytes(const char* field, const std::string& value, std::size_t most_bytes) {
    text(field, value, most_bytes);
  }
  void tail(const char* field, const std::string& value, std::size_t most_bytes) {
    text(field, value, most_bytes);
  }
  // An element with a single field of the same name is not a structure: "cpus list(9) of u32".
  template <class T, class Each>
  void list(const char* field, const std::vector<T>&, std::size_t most, std::size_t, Each each) {
    FieldNotes element;
    const T example{};
    each(element, example);
    const std::string all = fmt::format("{} list({}) of", field, most);
    const std::string& first = element.lines.at(0);
    const std::string own = std::string(field) + " ";
    if (element.lines.size() == 1 && first.starts_with(own)) {
      lines.push_back(all + " " + first.substr(own.size()));
    } else {
      lines.push_back(all);
      lines.insert(lines.end(), element.lines.begin(), element.lines.end());
    }
  }

  std::vector<std::string> lines;

 private:
  void note(const char* field, const std::string& kind) {
    lines.push_back(std::string(field) + " " + kind);
  }
};

// The fields of a PROTOCOL.md row in the same words. "a, b: names" means two fields, and text in
// brackets after a kind is an explanation.
std::vector<std::string> fields_of_cell(std::string cell) {
  cell = std::regex_replace(cell, std::regex(R"(\((?![0-9]+\))[^()]*(\([^()]*\)[^()]*)*\))"), "");
  std::vector<std::string> lines;
  for (const std::string& group : split(cell, ';')) {
    const bool names = group.ends_with(": names");
    const std::string items = std::regex_replace(names ? group.substr(0, group.rfind(':')) : group,
                                                 std::regex("[{}]"), ",");
    for (const std::string& item : split(items, ',')) {
      std::string text = std::regex_replace(std::string(trim(item)), std::regex(" +"), " ");
      if (!text.empty() && text != "-") lines.push_back(names ? text + " name" : text);
    }
  }
  return lines;
}

struct Row {
  std::string number;
  std::vector<std::string> fields;
};

// Rows "| 9 | Started | agent | rank u32, pid u32 |".
std::map<std::string, Row> rows() {
  std::map<std::string, Row> found;
  std::istringstream lines(read_file(test::source_path("wire/PROTOCOL.md"), 1 << 20));
  const std::regex row(R"(\| ([0-9]+) \| ([A-Z]\w+) \| \w+ \| (.*) \|)");
  std::smatch part;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_match(line, part, row)) found[part[2]] = {part[1], fields_of_cell(part[3])};
  }
  return found;
}

TEST(Protocol, ListsTheNumberAndTheFieldsOfEveryMessage) {
  const auto written = rows();
  EXPECT_EQ(written.size(), std::variant_size_v<Message>);
  for (const auto& example : example_messages()) {
    const auto& name = example.first;  // clang 14: a structured binding cannot be captured
    const auto& message = example.second;
    const auto row = written.find(name);
    ASSERT_NE(row, written.end()) << name;
    std::visit(
        [&](const auto& each) {
          using M = std::decay_t<decltype(each)>;
          FieldNotes notes;
          fields(notes, each);
          EXPECT_EQ(row->second.number, std::to_string(kMessageType<M>)) << name;
          EXPECT_EQ(row->second.fields, notes.lines) << name;
        },
        message);
  }
}

// dtlaunch-protocol(7) describes each: ".It Start", ".It Reach , Reached".
TEST(Protocol, HasEveryMessageInTheManPage) {
  std::set<std::string> shown, wanted;
  std::istringstream lines(read_file(test::source_path("man/dtlaunch-protocol.7"), 1 << 20));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(".It ")) continue;
    for (const std::string& word : split(line.substr(4), ' ')) {
      if (word != ",") shown.insert(word);
    }
  }
  for (const auto& [name, message] : example_messages()) wanted.insert(name);
  EXPECT_EQ(shown, wanted);
}

}  // namespace
}  // namespace dtl::protocol_test
