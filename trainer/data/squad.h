#pragma once
// Questions with contexts and answers, from the JSON of SQuAD 1.1 and 2.0.

#include <cstdint>
#include <string>
#include <vector>

namespace dtl::trainer {

struct SquadAnswer {
  std::string text;
  std::int64_t start = 0;  // in the context, in Unicode code points; -1: negative in the file
};

struct SquadExample {
  std::string id, title, context, question;
  std::vector<SquadAnswer> answers;  // empty: no answer in the context (SQuAD 2.0), or unknown
};

// Accepts three layouts: the official one ({"data": [{"title", "paragraphs": [{"context", "qas":
// [..]}]}]}); and run_qa's flat one, an object of {id, title, context, question, answers: {text:
// [..], answer_start: [..]}} per question, in {"data": [..]}, in a list, or one per line. Throws
// Error(kBadInput) naming the file and the question's id (or line, or place) for a missing key or a
// duplicate id. Does not check positions of answers. limit < 0: all questions.
std::vector<SquadExample> read_squad(const std::string& path, std::int64_t limit);

// Questions whose first answer is not in the context at its start. As in run_qa, training uses the
// words at that place, or none if it is outside the context.
struct MisplacedAnswers {
  std::int64_t count = 0;
  std::string first;  // "question 'q7': 'b' is not at 2, where it says 'c'"
};
MisplacedAnswers find_misplaced(const std::vector<SquadExample>& examples);

}  // namespace dtl::trainer
