// kRefused ends that node. kComeAgain is for conditions that pass: a place that is not free yet, or
// a start of the job that the scheduler is just ending.
#include "launcher/join/join_seat.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "wire/messages.h"

namespace dtl {
namespace {

SeatAnswer refuse(std::string why) {
  return {std::nullopt, {JoinFrame::Kind::kRefused, std::move(why)}};
}

// Jobs without a scheduler's name have an empty one.
std::string quoted_job(const std::string& job) {
  return job.empty() ? std::string("no job of a scheduler") : fmt::format("job '{}'", job);
}

SeatAnswer not_now(std::string why) {
  return {std::nullopt, {JoinFrame::Kind::kComeAgain, std::move(why)}};
}

// The node's earlier place, unless another node has taken it since. That node keeps the place: its
// agent may run already, and two nodes must never have the same ranks.
SeatAnswer judge_return(const JoinSeat& before, const std::vector<SeatState>& seats) {
  const bool known =
      before.place < seats.size() && before.generation <= seats[before.place].generation;
  if (!known) return refuse("it says that it sat where nobody did");
  const SeatState& seat = seats[before.place];
  if (before.generation < seat.generation) {
    return refuse(fmt::format(
        "{} has come in its place since: it is of generation {} there, this is generation {}",
        seat.name, before.generation, seat.generation));
  }
  return {before.place, {}, true};
}

SeatAnswer judge_name(const ExpectedNodes& expected, const JoinHello& hello) {
  const auto at = std::find(expected.names.begin(), expected.names.end(), hello.name);
  if (at == expected.names.end()) {
    return refuse(fmt::format("no node of the job is called '{}'", hello.name));
  }
  return {static_cast<std::size_t>(at - expected.names.begin()), {}};
}

SeatAnswer judge_rank(const ExpectedNodes& expected, const JoinHello& hello) {
  if (hello.rank < expected.first_rank || hello.rank >= expected.first_rank + expected.count) {
    return refuse(hello.rank < 0
                      ? std::string("it does not say which node of the job it is")
                      : fmt::format("no node {} comes to this job: it has {}, from 0 on",
                                    hello.rank,
                                    plural(expected.first_rank + expected.count, "node")));
  }
  return {static_cast<std::size_t>(hello.rank - expected.first_rank), {}};
}

// The place that this node, or one of its name, had before. Otherwise its wish if the place was
// never used; otherwise any unused place. Reusing a place is the last choice, because its lost
// agent may still run.
SeatAnswer judge_wish(const ExpectedNodes& expected, const JoinHello& hello,
                      const std::vector<SeatState>& seats) {
  const auto first = [&](auto fits) -> std::optional<std::size_t> {
    const auto at = std::find_if(seats.begin(), seats.end(), fits);
    if (at == seats.end()) return std::nullopt;
    return static_cast<std::size_t>(at - seats.begin());
  };
  const auto is_new = [](const SeatState& seat) { return seat.generation == 0; };
  auto place = first([&](const SeatState& seat) { return seat.name == hello.name; });
  if (!place) {
    const auto wished = static_cast<std::size_t>(hello.rank - expected.first_rank);
    const bool may = hello.rank >= expected.first_rank && wished < seats.size();
    if (may && is_new(seats[wished])) place = wished;
  }
  if (!place) place = first(is_new);
  if (!place) place = first([](const SeatState& seat) { return !seat.taken; });
  if (!place) {
    const int all = expected.first_rank + expected.count;
    return not_now(fmt::format("the job has {}, and takes no more", plural(all, "node")));
  }
  return {place, {}};
}

SeatAnswer judge_place(const ExpectedNodes& expected, const JoinHello& hello,
                       const std::vector<SeatState>& seats) {
  if (!expected.names.empty()) return judge_name(expected, hello);
  return expected.by_wish ? judge_wish(expected, hello, seats) : judge_rank(expected, hello);
}

}  // namespace

SeatAnswer judge_hello(const ExpectedNodes& expected, const JoinHello& hello,
                       const std::vector<SeatState>& seats) {
  if (hello.protocol != kProtocol || hello.version != DTL_VERSION) {
    return refuse(fmt::format(
        "it is version {} (protocol {}), the job's dtlaunch is version {} (protocol {}); install "
        "the same version on both",
        hello.version, hello.protocol, DTL_VERSION, kProtocol));
  }
  if (hello.job != expected.job) {
    return refuse(fmt::format("it belongs to {}, this is {}", quoted_job(hello.job),
                              quoted_job(expected.job)));
  }
  // From an earlier start: the scheduler restarted all nodes, and this one missed it.
  if (hello.restart < expected.restart) {
    return refuse(fmt::format(
        "the scheduler has started the job again since: it is of start {}, this is start {}",
        hello.restart, expected.restart));
  }
  // The other way round: this room is from the earlier start; the node's room will follow.
  if (hello.restart > expected.restart) {
    return not_now(fmt::format("the scheduler is ending start {} of the job", expected.restart));
  }
  // A seat in another room does not count: the node is new here.
  if (hello.before && hello.before->room == expected.room) {
    return judge_return(*hello.before, seats);
  }
  SeatAnswer answer = judge_place(expected, hello, seats);
  if (answer.place && seats[*answer.place].taken) {
    return not_now(hello.name + " has come already");
  }
  return answer;
}

}  // namespace dtl
