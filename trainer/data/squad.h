#pragma once
// Questions with contexts and answers, from the JSON of SQuAD 1.1 and 2.0.

#include <cstdint>
#include <string>
#include <vector>

namespace dtl::trainer {

struct SquadAnswer {
  std::string text;
  std::int64_t start = 0;  // in the context, in Unicode code points; -1: the file has less than 0
};

struct SquadExample {
  std::string id, title, context, question;
  std::vector<SquadAnswer> answers;  // none: the context has no answer (SQuAD 2.0), or not known
};

// Three layouts: the official one ({"data": [{"title", "paragraphs": [{"context", "qas":
// [..]}]}]}), and run_qa's flat one, an object of {id, title, context, question, answers: {text:
// [..], answer_start: [..]}} for each question, in {"data": [..]}, in a list, or one on each line.
// Throws Error(kBadInput) naming the file and the question's id (or line, or place) for a missing
// key, an id that occurs twice. Answers may be anywhere. limit < 0: all questions.
std::vector<SquadExample> read_squad(const std::string& path, std::int64_t limit);

// Questions whose first answer, the one that is learnt, is not in the context at its start. As with
// run_qa, the words there are learnt, or none outside the context.
struct MisplacedAnswers {
  std::int64_t count = 0;
  std::string first;  // "question 'q7': 'b' is not at 2, where it says 'c'"
};
MisplacedAnswers find_misplaced(const std::vector<SquadExample>& examples);

}  // namespace dtl::trainer
