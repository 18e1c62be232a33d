// Each function resets its own timer or list first, so that a line is printed once.
#include "launcher/job/telling.h"

#include <fmt/format.h>

#include <csignal>

#include "base/text.h"
#include "launcher/job/machine.h"

namespace dtl::job {
// Explains a long stop now, because the card comes only at its end.
void tell_whom_we_wait_for(Turn& turn) {
  turn.job.patience.reset();
  if (turn.job.state != JobState::kStopping) return;
  std::vector<int> waiting;
  for (std::size_t rank = 0; rank < turn.job.ranks.size(); ++rank) {
    if (!gone(turn.job.ranks[rank])) waiting.push_back(static_cast<int>(rank));
  }
  turn.notice(-1, fmt::format("waiting for rank{} {} to end; SIGKILL comes {:.1f} s after SIGTERM",
                              waiting.size() == 1 ? "" : "s", fold_ranks(waiting),
                              static_cast<double>(stop_grace(turn).count()) / 1000));
}

// Some jobs do this on purpose; in others it explains why nothing moves.
void tell_who_ended_early(Turn& turn) {
  turn.job.early_end.reset();
  if (turn.job.state != JobState::kRunning) return;
  std::vector<int> ended, running;
  for (std::size_t rank = 0; rank < turn.job.ranks.size(); ++rank) {
    (gone(turn.job.ranks[rank]) ? ended : running).push_back(static_cast<int>(rank));
  }
  turn.notice(-1, fmt::format("rank{} {} ended with status 0 {} ago; rank{} {} still run{}",
                              ended.size() == 1 ? "" : "s", fold_ranks(ended),
                              seconds_text(kEarlyEnd), running.size() == 1 ? "" : "s",
                              fold_ranks(running), running.size() == 1 ? "s" : ""));
}

// About ranks that ended by themselves; when we end a rank, we end what it leaves too. Collected
// until the next heartbeat, so that many ranks make one line.
void tell_what_was_left(Turn& turn) {
  if (turn.job.leavers.empty()) return;
  turn.notice(-1, fmt::format("rank{} {} left {} process{} behind; ended",
                              turn.job.leavers.size() == 1 ? "" : "s", fold_ranks(turn.job.leavers),
                              turn.job.left_processes, turn.job.left_processes == 1 ? "" : "es"));
  turn.job.leavers.clear();
  turn.job.left_processes = 0;
}

}  // namespace dtl::job
