#include "agent/pmix/questions.h"

#include <utility>

namespace dtl::pmix {
namespace {

std::vector<Effect> refusal(std::uint32_t node, std::uint32_t number, std::uint32_t failure) {
  std::vector<Effect> effects;
  effects.push_back(Send{PmixGiven{node, number, failure, {}, false}});
  return effects;
}

}  // namespace

std::vector<Effect> Questions::asked(const Asked& question) {
  std::vector<Effect> effects;
  if (question.rank >= places_.ranks.size() || places_.is_here(question.rank)) {
    effects.push_back(EndQuestion{question.id, kNotFound, {}});
    return effects;
  }
  const std::uint32_t number = ++numbers_;
  mine_[number].id = question.id;
  effects.push_back(Send{PmixWanted{question.rank, places_.node, number}});
  return effects;
}

std::vector<Effect> Questions::given(PmixGiven part) {
  std::vector<Effect> effects;
  const auto found = mine_.find(part.number);
  if (found == mine_.end()) return effects;  // the rest of an answer that was too long
  Mine& question = found->second;
  question.data += part.data;
  const bool too_long = question.data.size() > kMaxAnswerBytes;
  if (part.more && !too_long) return effects;
  const std::uint32_t failure = too_long ? kNoResource : part.failure;
  if (failure != 0) question.data.clear();
  effects.push_back(EndQuestion{question.id, failure, std::move(question.data)});
  mine_.erase(found);
  return effects;
}

std::vector<Effect> Questions::wanted(const PmixWanted& question, bool has_ended) {
  if (!places_.is_here(question.rank) || has_ended) {
    return refusal(question.node, question.number, kNotFound);
  }
  others_.emplace(question.rank, question.node, question.number);
  std::vector<Effect> effects;
  effects.push_back(AskRank{question.rank, question.node, question.number});
  return effects;
}

std::vector<Effect> Questions::told(Told answer) {
  if (others_.erase({answer.rank, answer.node, answer.number}) == 0) return {};
  if (answer.failure != 0) return refusal(answer.node, answer.number, answer.failure);
  if (answer.data.size() > kMaxAnswerBytes) {
    return refusal(answer.node, answer.number, kNoResource);
  }
  std::vector<Effect> effects;
  auto parts = cut_into_parts(std::move(answer.data));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    effects.push_back(
        Send{PmixGiven{answer.node, answer.number, 0, std::move(parts[i]), i + 1 < parts.size()}});
  }
  return effects;
}

std::vector<Effect> Questions::ended(std::uint32_t rank) {
  std::vector<Effect> effects;
  for (auto at = others_.lower_bound({rank, 0, 0}); at != others_.end() && std::get<0>(*at) == rank;
       at = others_.erase(at)) {
    const auto [who, node, number] = *at;
    effects.push_back(Send{PmixGiven{node, number, kNotFound, {}, false}});
  }
  return effects;
}

}  // namespace dtl::pmix
