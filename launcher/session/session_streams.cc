// The ranks' standard streams, on the launcher's side: credit for what has been shown, and who gets
// standard input.

#include <fmt/format.h>

#include <algorithm>

#include "launcher/session/session_shell.h"

namespace dtl {

// Given back in quarters of the window, so that small lines do not cost a message each.
void SessionShell::give_credit(const std::vector<Credit>& credits) {
  const std::uint32_t enough = console_.rules(job_.ranks.size()).window / 4;
  shown_.resize(job_.ranks.size());
  for (const Credit& credit : credits) {
    if (credit.rank >= shown_.size()) continue;
    Node& from = node(job_.ranks[credit.rank].node);
    from.unshown_bytes -= std::min<std::size_t>(credit.bytes, from.unshown_bytes);
    std::uint32_t& shown = shown_[credit.rank];
    shown += credit.bytes;
    const auto& connection = from.connection;
    if (shown < enough || !connection) continue;
    connection->send(Credit{credit.rank, shown});
    if (credit.rank < skips_.size()) skips_[credit.rank] = 0;
    shown = 0;
  }
}

// What agents send is bounded by the credit that they get; one that sends more is not ours.
void SessionShell::count_output(int index, const Output& output) {
  constexpr std::size_t kMargin = 16 << 20;  // as much as a connection may have queued
  const std::size_t ranks = job_.ranks.size();
  std::size_t& unshown = node(index).unshown_bytes;
  unshown += output.bytes.size();
  if (unshown <= kMargin + ranks * console_.rules(ranks).window) return;
  throw Error(Exit::kVersion, "it sends more output than it may", "");
}

void SessionShell::count_skip(const Skipped& skipped) {
  constexpr int kMost =
      8;  // two pipes, each once before and once after news of credit; and as many
  skips_.resize(job_.ranks.size());
  if (++skips_[skipped.rank] <= kMost) return;
  throw Error(Exit::kVersion, "it says again and again that it skipped output", "");
}

void SessionShell::show_notice(int index, const std::string& text) {
  NoticeBudget& budget = node(index).notices;
  if (const auto shown = budget.admit(text, now())) {
    say_about(index, *shown);
  } else if (budget.left_out() == 1) {
    say_about(index, "too many notices; from here on some are only counted");
  }
}

// On a writer's thread.
void SessionShell::output_failed(Stream stream, int problem, std::size_t lost) {
  constexpr std::int64_t kBetweenMs = 60'000;
  const auto at = static_cast<std::size_t>(stream == Stream::kStderr);
  unwritten_->bytes[at] += lost;
  if (unwritten_->first_error[at] == 0) unwritten_->first_error[at] = problem;
  const std::int64_t now_ms = now().count();
  std::atomic<std::int64_t>& told_ms = unwritten_->told_ms[at];  // this thread alone writes it
  if (told_ms >= 0 && now_ms < told_ms + kBetweenMs) return;
  told_ms = now_ms;
  asio::post(context_, [this, stream, problem] { console_.say(unwritten_text(stream, problem)); });
}

// What labels may say of a rank.
void SessionShell::introduce(const Started& started, int index) {
  if (started.rank >= job_.ranks.size() || job_.ranks[started.rank].node != index || !plan_) return;
  LabelFacts facts;
  facts.pid = started.pid;
  facts.host = host_name(index);
  for (const NodePlan& planned : plan_->nodes) {
    for (const RankPlan& rank : planned.ranks) {
      if (rank.rank == static_cast<int>(started.rank)) facts.program = rank.program;
    }
  }
  console_.set_rank(static_cast<int>(started.rank), std::move(facts));
}

// A rank that has ended, or reads no more, gets no more: nothing would hold back what goes there.
void SessionShell::send_input(const Stdin& input) {
  for (std::size_t rank = 0; rank < input_of_.size(); ++rank) {
    if (!reads_input(rank)) continue;
    const auto& connection = node(job_.ranks[rank].node).connection;
    if (!connection) continue;
    Stdin part = input;
    part.rank = static_cast<std::uint32_t>(rank);
    connection->send(part);
  }
}

// The slowest of the ranks that read decides.
void SessionShell::input_taken(const StdinTaken& taken) {
  if (taken.rank >= input_of_.size()) return;
  input_of_[taken.rank].taken += taken.bytes;
  count_input();
}

void SessionShell::input_closed(const StdinClosed& closed) {
  if (closed.rank >= input_of_.size()) return;
  input_of_[closed.rank].read = closed.read;
  count_input();
}

void SessionShell::count_input() {
  std::optional<std::size_t> least;
  for (std::size_t rank = 0; rank < input_of_.size(); ++rank) {
    const std::size_t taken = input_of_[rank].taken;
    if (reads_input(rank)) least = std::min(least.value_or(taken), taken);
  }
  if (!least) return input_.stop();  // nobody is left to read for
  if (*least <= input_counted_) return;
  input_.taken(*least - input_counted_);
  input_counted_ = *least;
}

// Of a lost agent's rank nobody knows how much it has read of what it had taken.
std::size_t SessionShell::input_used() const {
  std::size_t used = 0;
  for (const RankInput& input : input_of_) {
    used = std::max<std::size_t>(used, input.read.value_or(input.taken));
  }
  return used;
}

// The rank that gets it may have it from an agent that is our child.
bool SessionShell::input_is_handed_over() const {
  if (options_.stdin_for.mode != InputMode::kOne) return false;
  const auto rank = static_cast<std::size_t>(options_.stdin_for.rank);
  if (rank >= job_.ranks.size()) return false;
  const auto& stream = nodes_[static_cast<std::size_t>(job_.ranks[rank].node)].stream;
  return stream && stream->has_our_input();
}

bool SessionShell::gets_input(int rank) const {
  return options_.stdin_for.mode == InputMode::kAll ||
         (options_.stdin_for.mode == InputMode::kOne && rank == options_.stdin_for.rank);
}

bool SessionShell::reads_input(std::size_t rank) const {
  return gets_input(static_cast<int>(rank)) && !input_of_[rank].read &&
         job_.ranks[rank].phase <= RankPhase::kStarted;
}

}  // namespace dtl
