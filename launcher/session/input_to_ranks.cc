// A rank is a reader until it closes its input or ends. Without readers this process reads nothing,
// so the rest stays for the shell that started dtlaunch.
#include "launcher/session/input_to_ranks.h"

#include <unistd.h>

#include <algorithm>

namespace dtl {

InputToRanks::InputToRanks(asio::io_context& context, const SessionOptions& options, const Job& job,
                           SessionNodes& nodes)
    : options_(options),
      job_(job),
      nodes_(nodes),
      input_(context, options.input,
             options.streams.stdin_for.mode == InputMode::kAll ? StandardInput::Ahead::kWindow
                                                               : StandardInput::Ahead::kAsRanksRead,
             [this](Stdin message) { send(message); }),
      // A rank that has the descriptor itself moves this offset too; see finish().
      began_(::lseek(options.input, 0, SEEK_CUR)) {}

bool InputToRanks::begin(std::size_t ranks) {
  if (options_.streams.stdin_for.mode == InputMode::kNone || is_handed_over()) return false;
  readers_.resize(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    if (gets(static_cast<int>(rank))) reading_.emplace(0, rank);
  }
  return true;
}

// A rank that has ended or stopped reading gets no more: it gives no credit that limits the input.
void InputToRanks::send(const Stdin& input) {
  for (const auto& [taken, rank] : reading_) {
    if (!reads(rank)) continue;
    Stdin part = input;
    part.rank = static_cast<std::uint32_t>(rank);
    send_to(nodes_, job_.ranks[rank].node, std::move(part));
  }
}

// The slowest rank that still reads sets the pace.
void InputToRanks::taken(const StdinTaken& taken) {
  if (taken.rank >= readers_.size()) return;
  Reader& reader = readers_[taken.rank];
  const bool counts = reading_.erase({reader.taken, taken.rank}) > 0;
  reader.taken += taken.bytes;
  if (counts) reading_.emplace(reader.taken, taken.rank);
  count();
}

void InputToRanks::closed(const StdinClosed& closed) {
  if (closed.rank >= readers_.size()) return;
  readers_[closed.rank].read = closed.read;
  count();
}

void InputToRanks::count() {
  while (!reading_.empty() && !reads(reading_.begin()->second)) reading_.erase(reading_.begin());
  if (reading_.empty()) return input_.stop();  // nobody is left to read for
  const std::size_t least = reading_.begin()->first;
  // A slower reader that ends may raise the least by much at once; it never falls.
  if (least <= counted_) return;
  input_.taken(least - counted_);
  counted_ = least;
}

// The furthest of all readers: bytes that one rank has used cannot be given back. How much a lost
// agent's rank has read of its input is unknown.
std::size_t InputToRanks::used() const {
  std::size_t used = 0;
  for (const Reader& reader : readers_) {
    used = std::max<std::size_t>(used, reader.read.value_or(reader.taken));
  }
  return used;
}

void InputToRanks::finish(SessionResult& result) {
  result.lost_input_bytes = input_.give_back(used());
  result.input_bytes = input_.bytes_read();
  if (const off_t place = ::lseek(options_.input, 0, SEEK_CUR); place > began_) {
    result.input_bytes = static_cast<std::size_t>(place - began_);  // a rank may have read it
  }
}

// A local agent is our child and may give its rank the descriptor itself.
bool InputToRanks::is_handed_over() const {
  if (options_.streams.stdin_for.mode != InputMode::kOne) return false;
  const auto rank = static_cast<std::size_t>(options_.streams.stdin_for.rank);
  if (rank >= job_.ranks.size()) return false;
  const auto& stream = nodes_[static_cast<std::size_t>(job_.ranks[rank].node)].stream;
  return stream && stream->has_our_input();
}

bool InputToRanks::gets(int rank) const {
  return options_.streams.stdin_for.mode == InputMode::kAll ||
         (options_.streams.stdin_for.mode == InputMode::kOne &&
          rank == options_.streams.stdin_for.rank);
}

bool InputToRanks::reads(std::size_t rank) const {
  return gets(static_cast<int>(rank)) && !readers_[rank].read &&
         job_.ranks[rank].phase <= RankPhase::kStarted;
}

}  // namespace dtl
