// Each rank has a window (Console::rules). Its agent knows it too, and both sides count the same
// bytes.
#include "launcher/session/output_credit.h"

#include <algorithm>

#include "base/error.h"

namespace dtl {

std::optional<std::string> Unwritten::add(Stream stream, int problem, std::size_t lost,
                                          JobTime now) {
  // A full disk fails every write, so one line per minute is enough.
  constexpr std::int64_t kBetweenMs = 60'000;
  const auto at = static_cast<std::size_t>(stream == Stream::kStderr);
  bytes[at] += lost;
  // The line at the end of the session shows the first error.
  if (first_error[at] == 0) first_error[at] = problem;
  std::atomic<std::int64_t>& told = told_ms[at];  // this thread alone writes it
  if (told >= 0 && now.count() < told + kBetweenMs) return std::nullopt;
  told = now.count();
  return unwritten_text(stream, problem);
}

// Returns credit in quarters of the window, so that small lines do not cost a message each.
void OutputCredit::give_back(const std::vector<Credit>& credits) {
  const std::uint32_t enough = console_.rules(job_.ranks.size()).window / 4;
  // The number of ranks is known only after placement.
  shown_.resize(job_.ranks.size());
  for (const Credit& credit : credits) {
    if (credit.rank >= shown_.size()) continue;
    SessionNode& from = nodes_[static_cast<std::size_t>(job_.ranks[credit.rank].node)];
    from.unshown_bytes -= std::min<std::size_t>(credit.bytes, from.unshown_bytes);
    std::uint32_t& shown = shown_[credit.rank];
    shown += credit.bytes;
    if (shown < enough || !from.connection) continue;
    from.connection->send(Credit{credit.rank, shown});
    // With new credit a rank may fall behind and skip output again.
    if (credit.rank < skips_.size()) skips_[credit.rank] = 0;
    shown = 0;
  }
}

// Agents send no more than their credit.
void OutputCredit::count(int node, const Output& output) {
  constexpr std::size_t kMargin = 16 << 20;  // as much as a connection may have queued
  const std::size_t ranks = job_.ranks.size();
  std::size_t& unshown = nodes_[static_cast<std::size_t>(node)].unshown_bytes;
  unshown += output.bytes.size();
  if (unshown <= kMargin + ranks * console_.rules(ranks).window) return;
  throw Error(Exit::kVersion, "it sends more output than it may", "");
}

void OutputCredit::count(const Skipped& skipped) {
  // Two pipes, each once before and once after new credit arrives; doubled for safety.
  constexpr int kMost = 8;
  skips_.resize(job_.ranks.size());
  if (++skips_[skipped.rank] <= kMost) return;
  throw Error(Exit::kVersion, "it says again and again that it skipped output", "");
}

}  // namespace dtl
