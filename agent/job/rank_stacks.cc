// A rank answers by writing into a file; nothing signals the end. So this polls all files every few
// milliseconds.
#include "agent/job/rank_stacks.h"

#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "agent/job/native_stack.h"
#include "agent/job/stack_file.h"
#include "agent/processes/kill_tree.h"
#include "base/limits.h"

namespace dtl {
namespace {

BootTime asking_time() {
  return BootTime(boot_time_ms());
}

}  // namespace

RankStacks::RankStacks(asio::io_context& context, Connection& connection,
                       const RunningRanks& running, RankStreams& streams,
                       const RankWitness& witness)
    : context_(context),
      connection_(connection),
      running_(running),
      streams_(streams),
      witness_(witness) {}

awaitable<void> RankStacks::ask(AskRanks order) {
  // In milliseconds: short compared with kAskRanks, and rare enough for hundreds of ranks.
  constexpr BootTime kLook{10};
  const BootTime until = asking_time() + BootTime(order.patience_ms);
  std::map<std::uint32_t, StackFile> asked;
  const std::span<const Process> processes = scan_processes();  // valid until the first co_await
  for (const auto& [rank, pid] : running_.processes()) {
    StackFile file(witness_.stack_path(rank), pid);
    if (file.ask()) {
      asked.emplace(rank, std::move(file));
    } else {
      // The program's name tells the user why this rank could not be asked.
      connection_.send(Stack{rank, StackAnswer::kCannot, program_of_rank(processes, pid)});
    }
  }
  asio::steady_timer look(context_);
  while (!asked.empty()) {
    look.expires_after(kLook);
    co_await look.async_wait(asio::use_awaitable);
    const bool over = asking_time() >= until;
    for (auto at = asked.begin(); at != asked.end();) {
      const bool answered = at->second.has_answered();
      if (answered || over) tell(at->second.answer(at->first));
      at = answered || over ? asked.erase(at) : std::next(at);
    }
  }
  if (order.native_ms > 0) co_await tell_native(order.native_ms);
}

void RankStacks::tell(const Stack& stack) {
  if (stack.answer == StackAnswer::kTold) {
    streams_.keep(stack.rank, "dtlaunch: what this rank did when its time was up:\n" + stack.text);
  }
  connection_.send(stack);
}

// A debugger stops the process that it examines, so it comes last. On a thread, as it takes time
// and heartbeats must continue.
awaitable<void> RankStacks::tell_native(std::uint32_t patience_ms) {
  auto answered = std::make_shared<bool>(false);  // shared with the posted handler
  debugger_ = std::jthread([this, ranks = running_.seen_processes(), patience_ms, answered] {
    std::vector<NativeStack> stacks = read_native_stacks(ranks, BootTime(patience_ms));
    asio::post(context_, [this, answered, stacks = std::move(stacks)] {
      for (const NativeStack& stack : stacks) connection_.send(stack);
      *answered = true;
    });
  });
  asio::steady_timer look(context_);
  while (!*answered) {
    // Polled, as a thread cannot resume a coroutine.
    look.expires_after(kLookAtRanks);
    co_await look.async_wait(asio::use_awaitable);
  }
}

}  // namespace dtl
