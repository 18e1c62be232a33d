#pragma once
// RankStacks: asks the ranks of this node what they do, before they are signalled: first
// themselves, then a debugger. Owned by the session; one io_context thread, and one of its own for
// the debugger. Knows nothing of why that is asked, and ends nobody.

#include <cstdint>
#include <thread>

#include "agent/job/rank_streams.h"
#include "agent/job/rank_witness.h"
#include "agent/job/running_ranks.h"
#include "agent/job/supervisor.h"
#include "wire/asio.h"
#include "wire/connection.h"

namespace dtl {

class RankStacks {
 public:
  // All references outlive this.
  RankStacks(asio::io_context& context, Connection& connection, const RunningRanks& running,
             RankStreams& streams, const RankWitness& witness);

  // Tells the launcher what each rank does that runs. What a rank says is also kept with its errors
  // (--log-dir). Returns once all have answered or their time is over. At most one at a time.
  awaitable<void> ask(AskRanks order);

 private:
  void tell(const Stack& stack);
  awaitable<void> tell_native(std::uint32_t patience_ms);

  asio::io_context& context_;
  Connection& connection_;
  const RunningRanks& running_;
  RankStreams& streams_;
  const RankWitness& witness_;
  std::jthread debugger_;
};

}  // namespace dtl
