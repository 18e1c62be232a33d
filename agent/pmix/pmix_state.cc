#include "agent/pmix/pmix_state.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace dtl::pmix {
namespace {

constexpr std::size_t kMaxText = 1000;  // bytes of what a rank says
constexpr std::size_t kMaxLines = 16;   // that a rank may say

std::string shorten(std::string_view text) {
  std::size_t taken = std::min(text.size(), kMaxText);
  std::string safe = printable(text.substr(0, taken));
  while (safe.size() > kMaxText) safe = printable(text.substr(0, --taken));
  return safe;
}

// Open MPI's texts have several lines, in a frame of dashes.
std::string one_line(std::string_view text) {
  std::string line;
  for (const std::string_view each : split(text, '\n')) {
    const std::string_view words = trim(each);
    if (words.find_first_not_of('-') == std::string_view::npos) continue;
    if (!line.empty()) line += ' ';
    line += words;
  }
  return shorten(line);
}

}  // namespace

PmixState::PmixState(const ServePmix& job)
    : places_(find_places(job)), collectives_(places_), questions_(places_) {
  for (const std::uint32_t rank : places_.here()) ranks_[rank];
}

std::vector<Effect> PmixState::happened(Upcall upcall) {
  const Overloaded handle{
      [&](const Connected& one) { return connected(one.rank); },
      [&](const Finalised& one) {
        const auto found = ranks_.find(one.rank);
        if (found != ranks_.end()) found->second.phase = Phase::kFinalised;
        return std::vector<Effect>{};
      },
      [&](Aborted& abort) { return aborted(std::move(abort)); },
      [&](Entered& collective) { return collectives_.entered(std::move(collective)); },
      [&](const Asked& question) { return questions_.asked(question); },
      [&](Told& answer) { return questions_.told(std::move(answer)); },
      [&](Said& line) { return said(std::move(line)); },
  };
  return std::visit(handle, upcall);
}

std::vector<Effect> PmixState::received(Message message) {
  const Overloaded handle{
      [&](PmixFenced& part) { return collectives_.fenced(std::move(part)); },
      [&](PmixWanted& question) {
        const auto found = ranks_.find(question.rank);
        return questions_.wanted(question, found != ranks_.end() && found->second.ended);
      },
      [&](PmixGiven& part) { return questions_.given(std::move(part)); },
      [&](Exited& exit) { return exited(exit); },
      [&](auto&) -> std::vector<Effect> {
        throw Error(Exit::kVersion, "dtagent", "sent a message that is not for dtpmix");
      },
  };
  return std::visit(handle, message);
}

// A rank may run several MPI programs, one after the other.
std::vector<Effect> PmixState::connected(std::uint32_t rank) {
  std::vector<Effect> effects;
  const auto found = ranks_.find(rank);
  if (found == ranks_.end()) return effects;
  found->second.phase = Phase::kConnected;
  tell_who_left(effects);
  return effects;
}

// Not acknowledged: the rank waits in PMIx_Abort until dtagent ends all ranks together. If it ended
// earlier by itself, the others would report broken connections.
std::vector<Effect> PmixState::aborted(Aborted abort) {
  std::vector<Effect> effects;
  const auto found = ranks_.find(abort.rank);
  if (found != ranks_.end() && !found->second.aborted) {
    found->second.aborted = true;
    const std::string text = abort.text == "N/A" ? "" : shorten(abort.text);  // Open MPI 4's
    effects.push_back(Send{MpiNews{abort.rank, MpiEvent::kAborted, abort.code, text}});
  }
  return effects;
}

std::vector<Effect> PmixState::said(Said said) {
  std::vector<Effect> effects;
  const auto found = ranks_.find(said.rank);
  std::string line = one_line(said.text);
  if (found != ranks_.end() && !line.empty() && found->second.said.size() < kMaxLines &&
      found->second.said.insert(line).second) {
    effects.push_back(Send{Notice{"rank " + std::to_string(said.rank) + ": " + line}});
  }
  if (said.id != 0) effects.push_back(Acknowledge{said.id});
  return effects;
}

// Tells the launcher if the rank has left: between MPI_Init and MPI_Finalize, or before MPI_Init,
// in which the other ranks then wait for ever. Ending the job is the launcher's part.
std::vector<Effect> PmixState::exited(const Exited& exit) {
  const auto found = ranks_.find(exit.rank);
  if (found == ranks_.end() || found->second.ended) return {};
  Rank& rank = found->second;
  rank.ended = true;
  std::vector<Effect> effects = questions_.ended(exit.rank);
  if (exit.code == 0 && exit.signal == 0 && !rank.aborted) {  // else its failure says more
    if (rank.phase == Phase::kConnected) {
      effects.push_back(Send{MpiNews{exit.rank, MpiEvent::kLeft, 0, {}}});
    } else if (rank.phase == Phase::kUnused && !gone_) {
      gone_ = exit.rank;
    }
  }
  effects.push_back(Deregister{exit.rank});
  tell_who_left(effects);
  return effects;
}

void PmixState::tell_who_left(std::vector<Effect>& effects) {
  if (!gone_ || collectives_.all_met()) return;
  const bool others_wait = std::any_of(ranks_.begin(), ranks_.end(), [](const auto& each) {
    return each.second.phase == Phase::kConnected && !each.second.ended;
  });
  if (!others_wait) return;
  effects.push_back(Send{MpiNews{*gone_, MpiEvent::kLeft, 1, {}}});
  gone_.reset();
}

}  // namespace dtl::pmix
