#pragma once
// RankStacks: gets the stacks of this node's ranks before they are signalled: first from the ranks,
// then from a debugger. Owned by the session; one io_context thread, plus one for the debugger.
// Does not know why stacks are wanted, and ends no rank.

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

  // Sends the launcher the stack of each running rank. Also keeps a rank's answer with its errors
  // (--log-dir). Returns when all have answered or timed out. At most one call at a time.
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
