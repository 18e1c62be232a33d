// Reads three layouts into one list. Checks only the form: find_misplaced() checks the positions of
// answers, and only for a notice.
#include "trainer/data/squad.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "trainer/data/data_file.h"
#include "trainer/json/json_fault.h"
#include "trainer/pieces/unicode.h"

namespace dtl::trainer {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxSquadBytes = std::size_t{4} << 30;  // SQuAD 2.0 has 42 MB
constexpr std::int64_t kBeyondTexts = std::int64_t{1} << 40;  // no context is this long

// Reads questions one by one until the limit.
class SquadReader {
 public:
  SquadReader(std::string path, std::int64_t limit) : path_(std::move(path)), limit_(limit) {}

  bool full() const { return limit_ >= 0 && static_cast<std::int64_t>(examples_.size()) >= limit_; }
  std::vector<SquadExample> take() { return std::move(examples_); }

  // {"data": [..]}, a list, or one question.
  void read_document(const Json& json) {
    if (json.is_array()) return read_list(json, "");
    if (!json.is_object()) fail("", "it is neither a JSON object nor a list");
    if (json.contains("data")) return read_list(member(json, "data", ""), "data");
    read_question(json, "");
  }

  // A flat question has its own context and title; a nested one inherits them.
  void read_question(const Json& json, const std::string& place) {
    SquadExample example = begin_question(json, text(json, "context", place), place);
    if (has(json, "title")) example.title = text(json, "title", place);
    if (has(json, "answers")) read_answers(json["answers"], example);
    add(std::move(example));
  }

  // place: "data[0]", or ":3" for a line.
  [[noreturn]] void fail(const std::string& place, const std::string& reason,
                         const std::string& hint = "") const {
    const bool whole = place.empty() || place.front() == ':';
    throw Error(Exit::kBadInput,
                fmt::format("{}{}{}: cannot read the questions", path_, whole ? "" : ": ", place),
                hint.empty() ? fmt::format("{}; {}", reason, kLayouts) : reason,
                hint.empty() ? "head -c 400 " + one_shell_word(path_) : hint);
  }
  [[noreturn]] void fail(const std::string& place, const JsonFault& fault) const {
    fail(place, fault.reason);
  }

 private:
  // Call contains() first: operator[] of a const object is undefined for a missing key.
  static bool has(const Json& json, const char* key) {
    return json.is_object() && json.contains(key) && !json[key].is_null();
  }

  const Json& member(const Json& json, const char* key, const std::string& place) const {
    if (!json.is_object()) fail(place, "it is not a JSON object");
    const auto found = json.find(key);
    if (found == json.end()) fail(place, fmt::format("the key '{}' is missing", key));
    return *found;
  }

  const Json& list(const Json& json, const char* key, const std::string& place) const {
    const Json& value = member(json, key, place);
    if (!value.is_array()) fail(place, fmt::format("'{}' is not a list", key));
    return value;
  }

  std::string text(const Json& json, const char* key, const std::string& place) const {
    const Json& value = member(json, key, place);
    if (!value.is_string()) fail(place, fmt::format("'{}' is not a text", key));
    return value.get<std::string>();
  }

  void read_list(const Json& items, const std::string& name) {
    if (!items.is_array()) fail(name, "it is not a list");
    for (std::size_t i = 0; i < items.size() && !full(); ++i) {
      const std::string place = fmt::format("{}[{}]", name, i);
      // Check each element: a list may mix both kinds.
      if (has(items[i], "paragraphs")) {
        read_article(items[i], place);
      } else {
        read_question(items[i], place);
      }
    }
  }

  void read_article(const Json& article, const std::string& place) {
    const std::string title = has(article, "title") ? text(article, "title", place) : "";
    const Json& paragraphs = list(article, "paragraphs", place);
    for (std::size_t i = 0; i < paragraphs.size() && !full(); ++i) {
      const std::string here = fmt::format("{}.paragraphs[{}]", place, i);
      const std::string context = text(paragraphs[i], "context", here);
      const Json& questions = list(paragraphs[i], "qas", here);
      for (std::size_t q = 0; q < questions.size() && !full(); ++q) {
        read_nested_question(questions[q], title, context, fmt::format("{}.qas[{}]", here, q));
      }
    }
  }

  void read_nested_question(const Json& json, const std::string& title, const std::string& context,
                            const std::string& place) {
    SquadExample example = begin_question(json, context, place);
    example.title = title;
    if (has(json, "answers")) read_answers(json["answers"], example);
    add(std::move(example));
  }

  SquadExample begin_question(const Json& json, std::string context,
                              const std::string& place) const {
    SquadExample example;
    const Json& id = member(json, "id", place);
    if (!id.is_string() && !id.is_number_integer()) fail(place, "'id' is not a text");
    // Numbers become text.
    example.id = id.is_string() ? id.get<std::string>() : id.dump();
    example.context = std::move(context);
    example.question = text(json, "question", named(example));
    return example;
  }

  // [{"text", "answer_start"}, ..] or {"text": [..], "answer_start": [..]}.
  void read_answers(const Json& answers, SquadExample& example) const {
    const std::string here = named(example);
    if (answers.is_array()) {
      for (const Json& answer : answers) {
        add_answer(text(answer, "text", here), member(answer, "answer_start", here), here, example);
      }
      return;
    }
    const Json& texts = list(answers, "text", here);
    const Json& starts = list(answers, "answer_start", here);
    if (texts.size() != starts.size()) {
      fail(here,
           fmt::format("it has {} answers and {} answer_starts", texts.size(), starts.size()));
    }
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (!texts[i].is_string()) fail(here, "an answer is not a text");
      add_answer(texts[i].get<std::string>(), starts[i], here, example);
    }
  }

  static constexpr const char* kLayouts = "the layout must be SQuAD's, nested or flat";

  void add_answer(std::string answer, const Json& start, const std::string& place,
                  SquadExample& example) const {
    if (!start.is_number_integer()) fail(place, "an answer_start is not a whole number");
    // get<int64_t> of a number above 2^63 would be negative.
    const bool huge = start.is_number_unsigned() && start.get<std::uint64_t>() > kBeyondTexts;
    const std::int64_t begin = huge ? kBeyondTexts : start.get<std::int64_t>();
    example.answers.push_back(
        {std::move(answer), std::clamp<std::int64_t>(begin, -1, kBeyondTexts)});
  }

  void add(SquadExample example) {
    if (!ids_.insert(example.id).second) {
      fail(named(example), "the id occurs twice", "an id of its own for each question");
    }
    examples_.push_back(std::move(example));
  }

  static std::string named(const SquadExample& example) {
    return fmt::format("question '{}'", example.id);
  }

  std::string path_;
  std::int64_t limit_;
  std::vector<SquadExample> examples_;
  std::unordered_set<std::string> ids_;
};

std::string_view first_line(std::string_view bytes) {
  return trim(bytes.substr(0, bytes.find('\n')));
}

// One question per line: the first line is a complete object, and more lines follow.
bool is_by_line(std::string_view bytes) {
  const std::string_view line = first_line(bytes);
  return line.size() < trim(bytes).size() && line.starts_with('{') && Json::accept(line);
}

void read_lines(std::string_view bytes, SquadReader& reader) {
  std::size_t number = 0;
  for (std::size_t at = 0; at < bytes.size() && !reader.full();) {
    const std::size_t end = std::min(bytes.find('\n', at), bytes.size());
    const std::string_view line = trim(bytes.substr(at, end - at));
    at = end + 1;
    ++number;
    if (line.empty()) continue;
    const std::string place = fmt::format(":{}", number);
    const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (json.is_discarded()) reader.fail(place, find_json_fault(line));
    if (!json.is_object()) reader.fail(place, "it is not a JSON object on one line");
    reader.read_question(json, place);
  }
}

Json parse_whole(std::string_view bytes, const SquadReader& reader) {
  if (trim(bytes).empty()) reader.fail("", "the file is empty");
  Json json = Json::parse(bytes, nullptr, /*allow_exceptions=*/false);
  if (!json.is_discarded()) return json;
  const JsonFault fault = find_json_fault(bytes);
  const auto end = bytes.begin() + static_cast<std::ptrdiff_t>(fault.at);
  reader.fail(fmt::format(":{}", 1 + std::count(bytes.begin(), end, '\n')), fault);
}

// The text of the context at the answer's position.
std::string text_at(const SquadExample& example, const SquadAnswer& answer) {
  const std::string& context = example.context;
  std::size_t begin = 0;
  if (answer.start < 0) return "";
  for (std::int64_t i = 0; i < answer.start && begin < context.size(); ++i) {
    next_code_point(context, begin);
  }
  std::size_t end = begin;
  for (std::size_t i = count_code_points(answer.text); i > 0 && end < context.size(); --i) {
    next_code_point(context, end);
  }
  return context.substr(begin, end - begin);
}

// Quotes a text for a message.
std::string quoted_text(const std::string& text) {
  constexpr std::size_t kMost = 40;
  const std::u32string characters = code_points(text);
  std::string shown;
  for (const char32_t c : characters.substr(0, kMost)) append_utf8(shown, c);
  return fmt::format("'{}{}'", printable(shown), characters.size() > kMost ? ".." : "");
}

}  // namespace

std::vector<SquadExample> read_squad(const std::string& path, std::int64_t limit) {
  const std::string file = read_data_file(path, kMaxSquadBytes);
  std::string_view bytes = file;
  if (bytes.starts_with("\xEF\xBB\xBF")) bytes.remove_prefix(3);
  SquadReader reader(path, limit);
  if (is_by_line(bytes)) {
    read_lines(bytes, reader);
  } else {
    reader.read_document(parse_whole(bytes, reader));
  }
  std::vector<SquadExample> examples = reader.take();
  if (examples.empty()) {
    throw Error(Exit::kBadInput, fmt::format("{}: cannot use the questions", path),
                limit == 0 ? "none were asked for" : "there are none");
  }
  return examples;
}

// Checks only the first answer, since training uses only that (squad_features.cc).
MisplacedAnswers find_misplaced(const std::vector<SquadExample>& examples) {
  MisplacedAnswers found;
  for (const SquadExample& example : examples) {
    if (example.answers.empty()) continue;
    const SquadAnswer& answer = example.answers.front();
    const std::string there = text_at(example, answer);
    if (answer.start >= 0 && there == answer.text) continue;
    if (++found.count > 1) continue;
    found.first = fmt::format(
        "question '{}': {} is not at {}, {}", printable(example.id), quoted_text(answer.text),
        answer.start,
        there.empty() ? "which is outside its context" : "where it says " + quoted_text(there));
  }
  return found;
}

}  // namespace dtl::trainer
