// What ranks do: reports of it while they run, and their stacks when they are asked.
#include <algorithm>
#include <iterator>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "agent/job/native_stack.h"
#include "agent/job/session.h"
#include "agent/job/stack_file.h"
#include "agent/processes/kill_tree.h"
#include "base/limits.h"
#include "wire/field_kinds.h"

namespace dtl {
namespace {

BootTime boot_now() {
  return BootTime(boot_time_ms());
}

}  // namespace

// What each rank does that runs; with kept output it is there, too.
awaitable<void> AgentSession::ask_ranks(AskRanks order) {
  constexpr BootTime kLook{10};
  const BootTime until = boot_now() + BootTime(order.patience_ms);
  std::map<std::uint32_t, StackFile> asked;
  const std::span<const Process> processes = scan_processes();  // valid up to the first co_await
  for (const auto& [rank, streams] : streams_) {
    if (streams.pid == 0) continue;
    const auto pid = static_cast<pid_t>(streams.pid);
    StackFile file(witness_->stack_path(rank), pid);
    if (file.ask()) {
      asked.emplace(rank, std::move(file));
    } else {
      connection_.send(Stack{rank, StackAnswer::kCannot, program_of_rank(processes, pid)});
    }
  }
  asio::steady_timer look(context_);
  while (!asked.empty()) {
    look.expires_after(kLook);
    co_await look.async_wait(asio::use_awaitable);
    const bool over = boot_now() >= until;
    for (auto at = asked.begin(); at != asked.end();) {
      const bool answered = at->second.has_answered();
      if (answered || over) tell_stack(at->second.answer(at->first));
      at = answered || over ? asked.erase(at) : std::next(at);
    }
  }
  if (order.native_ms > 0) co_await tell_native_stacks(order.native_ms);
  feed(RanksAnswered{});
}

void AgentSession::tell_stack(const Stack& stack) {
  if (stack.answer == StackAnswer::kTold) {
    streams_[stack.rank].errors->keep("dtlaunch: what this rank did when its time was up:\n" +
                                      stack.text);
  }
  connection_.send(stack);
}

// Debuggers stop who they look at, so they come last; on a thread, as they take their time.
awaitable<void> AgentSession::tell_native_stacks(std::uint32_t patience_ms) {
  std::vector<std::pair<std::uint32_t, pid_t>> ranks;
  for (const auto& [rank, streams] : streams_) {
    if (streams.pid == 0) continue;
    const pid_t pid =
        streams.observer ? streams.observer->process() : static_cast<pid_t>(streams.pid);
    ranks.emplace_back(rank, pid);
  }
  auto answered = std::make_shared<bool>(false);  // shared with what the thread posts
  debugger_ = std::jthread([this, ranks, patience_ms, answered] {
    std::vector<NativeStack> stacks = read_native_stacks(ranks, BootTime(patience_ms));
    asio::post(context_, [this, answered, stacks = std::move(stacks)] {
      for (const NativeStack& stack : stacks) connection_.send(stack);
      *answered = true;
    });
  });
  asio::steady_timer look(context_);
  while (!*answered) {
    look.expires_after(kLookAtRanks);
    co_await look.async_wait(asio::use_awaitable);
  }
}

awaitable<void> AgentSession::report_ranks() {
  asio::steady_timer look(context_);
  const BootTime first = std::min(report_period_, BootTime(kFirstReport));
  for (BootTime next = boot_now() + first; report_period_.count() > 0;) {
    bool has_pages = false;
    for (auto& [rank, streams] : streams_) {
      if (!streams.observer || supervisor_.paused) continue;
      streams.observer->look();
      has_pages = has_pages || streams.observer->has_pages();
    }
    const BootTime at = boot_now();
    if (at >= next) {
      next = at + report_period_;
      if (!supervisor_.paused && supervisor_.state == AgentState::kServing) tell_states();
    }
    look.expires_after(has_pages ? std::min(BootTime(kLookAtRanks), report_period_)
                                 : std::max(next - at, BootTime(1)));
    co_await look.async_wait(asio::use_awaitable);
  }
  reports_ = false;
}

void AgentSession::tell_states() {
  const std::span<const Process> processes = scan_processes();
  const std::vector<TcpConnection> connections = tcp_connections();
  const BootTime at = boot_now();
  RankStates states;
  for (auto& [rank, streams] : streams_) {
    if (streams.pid == 0) continue;
    if (!streams.observer) streams.observer.emplace(static_cast<pid_t>(streams.pid));
    states.ranks.push_back(streams.observer->report(rank, processes, connections, at));
    if (states.ranks.size() == kMaxReports) connection_.send(std::exchange(states, {}));
  }
  if (!states.ranks.empty()) connection_.send(std::move(states));
}

}  // namespace dtl
