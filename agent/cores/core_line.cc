#include "agent/cores/core_line.h"

#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "agent/cores/abstract_socket.h"
#include "agent/cores/core_owner.h"
#include "agent/cores/ticket_name.h"
#include "base/error.h"
#include "base/machine/process_handle.h"
#include "base/random.h"
#include "wire/field_kinds.h"

namespace dtl {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kFront = 32;  // places whose agents watch everything before them
constexpr std::size_t kMostWatchers = 2 * kFront;
constexpr milliseconds kFrontLook{1000},
    kBlindLook{200};  // without and with a kernel without pidfds
constexpr milliseconds kLookPerPlace{250}, kRarestLook{60'000};
// Those in front look first, and nobody looks without end if something cannot be watched.
constexpr milliseconds kAfterEnd{2}, kLeastPause{10}, kLongestTurn{2000};

bool is_one_of(const std::vector<std::string>& list, const std::string& one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

bool has_pidfds() {
  static const bool has = watch_process(1).valid();
  return has;
}

// When that is, of CLOCK_BOOTTIME; 0: any moment. The same moment differs by the rounding.
constexpr milliseconds kSameStart{2500};
milliseconds start_time(std::uint64_t starts_s) {
  return starts_s == 0 ? milliseconds(0) : boot_clock() + std::chrono::seconds(starts_s);
}

milliseconds next_look(std::size_t position) {
  if (position < kFront) return has_pidfds() ? kFrontLook : kBlindLook;
  return std::min(kLookPerPlace * static_cast<int>(std::min<std::size_t>(position, 100'000)),
                  kRarestLook);
}

// The other side keeps its end open for as long as it wants to know.
bool is_closed(const Fd& connection) {
  char byte = 0;
  return ::recv(connection.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

}  // namespace

CoreLine::CoreLine(asio::io_context& context, TaskGroup& tasks, std::string job_id,
                   NodeTopology topology, std::function<void(CoresSeen)> tell)
    : context_(context),
      tasks_(tasks),
      job_id_(std::move(job_id)),
      topology_(std::move(topology)),
      tell_(std::move(tell)),
      timer_(context) {}

CoresSeen CoreLine::take(TakeTicket order) {
  const Fd before = std::move(ticket_);  // until there is the new one: nobody must miss the job
  leave();
  CoresSeen answer;
  blocked_until_ = start_time(order.blocked_s);
  if (order.arrival_ms == 0) order.arrival_ms = static_cast<std::uint64_t>(wall_clock().count());
  answer.arrival_ms = order.arrival_ms;
  order_ = std::move(order);
  try {
    bind_ticket();
    View view = look();
    watch(view);
    answer.claims = std::move(view.claims);
    answer.starts_s = view.starts_s;
  } catch (const Error& error) {
    answer.problem = error.what();
    answer.problem.resize(std::min(answer.problem.size(), kMaxNameBytes));
  }
  told_free_ = free_cpus(answer.claims);
  told_start_ = start_time(answer.starts_s);
  in_line_ = std::make_shared<bool>(true);
  tasks_.spawn(run(in_line_));
  return answer;
}

void CoreLine::leave() {
  if (in_line_) *std::exchange(in_line_, nullptr) = false;
  order_.reset();
  ticket_.reset();
  watchers_.clear();
  watched_.clear();
  timer_.cancel();
}

void CoreLine::pause(bool paused) {
  if (!order_ || paused != ticket_.valid()) return;
  if (paused) {
    ticket_.reset();
    watchers_.clear();
    return;
  }
  try {
    bind_ticket();
  } catch (const Error&) {
    // Tried again in a second.
  }
}

std::vector<CoreClaim> CoreLine::taken() {
  if (!order_) return taken_on_node(topology_, job_id_);
  try {
    return look().claims;
  } catch (const Error&) {
    return {};
  }
}

void CoreLine::answer() {
  if (!ticket_.valid()) return;
  std::erase_if(watchers_, is_closed);
  while (watchers_.size() < kMostWatchers) {
    Fd connection = accept_one(ticket_);
    if (!connection.valid()) return;
    watchers_.push_back(std::move(connection));
  }
  // More than that are turned away; their agents look from time to time without a connection.
  accept_waiting(ticket_);
}

void CoreLine::bind_ticket() {
  const TicketName name{job_id_,
                        order_->arrival_ms,
                        order_->runs_s,
                        RandomNumbers()(),
                        static_cast<int>(order_->cores),
                        order_->cpus,
                        blocked_until_};
  Fd ticket = bind_abstract(write_ticket_name(name));
  listen_abstract(ticket);
  ticket_ = std::move(ticket);
}

CoreLine::View CoreLine::look() {
  const auto began = std::chrono::steady_clock::now();
  const auto sockets = job_sockets_here();
  View view;
  const auto seen = claims_of_others(sockets, topology_.allowed, job_id_);
  view.claims = claims_on_node(sockets, topology_.allowed, job_id_);
  const std::vector<std::string>& around = order_->around;
  std::erase_if(view.claims, [&](const CoreClaim& each) { return is_one_of(around, each.job_id); });
  for (const SeenClaim& claim : seen) {
    if (claim.holder && !claim.says.shared) view.holders.push_back(*claim.holder);
  }
  Ticket own;
  own.job_id = job_id_;
  own.arrival_ms = order_->arrival_ms;
  own.runs_s = order_->runs_s;
  std::vector<Ticket> tickets = tickets_.look(sockets, topology_.allowed, job_id_, wall_clock());
  std::erase_if(tickets, [&](const Ticket& each) {
    return is_one_of(around, each.job_id) || !goes_before(each, own);
  });
  view.position = tickets.size();
  std::vector<std::string> nearest;
  const std::size_t watched = view.position < kFront ? view.position : 1;
  for (std::size_t back = 1; back <= watched; ++back) {
    nearest.push_back(tickets[tickets.size() - back].job_id);
  }
  for (const NamedSocket& socket : sockets) {
    const auto name = socket.listens ? read_ticket_name(socket.name, 0) : std::nullopt;
    if (name && is_one_of(nearest, name->job_id)) view.before.push_back(socket);
  }
  own.cores = static_cast<int>(order_->cores);
  own.cpus = order_->cpus;
  view.starts_s = std::min<std::uint64_t>(earliest_start_here(topology_, view.claims, tickets, own),
                                          kMaxRunSeconds);
  for (CoreClaim& kept : keep_for_waiting(topology_, view.claims, tickets, &own)) {
    view.claims.push_back(std::move(kept));
  }
  if (view.claims.size() > kMaxClaims) view.claims.resize(kMaxClaims);
  look_time_ = std::chrono::ceil<milliseconds>(std::chrono::steady_clock::now() - began);
  return view;
}

void CoreLine::watch(const View& view) {
  watched_.clear();
  woken_ = false;
  for (const NamedSocket& socket : view.before) {
    Fd connection = connect_abstract(socket.name);
    if (!connection.valid()) woken_ = true;  // it has ended meanwhile
    wake_at(std::move(connection));
  }
  if (view.position >= kFront || !has_pidfds()) return;
  for (const pid_t holder : view.holders) {
    Fd process = watch_process(holder);
    if (!process.valid()) woken_ = true;
    wake_at(std::move(process));
  }
}

void CoreLine::wake_at(Fd watched) {
  if (!watched.valid()) return;
  watched_.push_back(std::make_unique<asio::posix::stream_descriptor>(context_, watched.release()));
  watched_.back()->async_wait(asio::posix::stream_descriptor::wait_read,
                              [this](const boost::system::error_code& problem) {
                                if (problem) return;  // not watched any more
                                woken_ = true;
                                timer_.cancel();
                              });
}

awaitable<void> CoreLine::run(std::shared_ptr<bool> in_line) {
  std::size_t position = 0;
  const auto sleep = [this](milliseconds time) -> awaitable<void> {
    timer_.expires_after(time);
    boost::system::error_code woken;
    co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  };
  while (*in_line) {
    co_await sleep(woken_ ? kLeastPause : next_look(position));
    if (!*in_line) co_return;
    if (woken_ && position > 0) {
      const auto turn = std::max(kAfterEnd, look_time_) * static_cast<int>(position);
      co_await sleep(std::min(turn, kLongestTurn));
      if (!*in_line) co_return;
    }
    if (!ticket_.valid()) continue;  // paused
    try {
      View view = look();
      watch(view);
      position = view.position;
      CpuSet free = free_cpus(view.claims);
      const milliseconds start = start_time(view.starts_s);
      if (free == told_free_ && std::chrono::abs(start - told_start_) < kSameStart) continue;
      told_free_ = std::move(free);
      told_start_ = start;
      tell_(CoresSeen{order_->arrival_ms, std::move(view.claims), {}, view.starts_s});
    } catch (const Error&) {
      // Of a single look: the next one may succeed.
    }
  }
}

CpuSet CoreLine::free_cpus(const std::vector<CoreClaim>& claims) const {
  CpuSet free = topology_.allowed;
  for (const CoreClaim& claim : claims) {
    if (!claim.shared) free = free - claim.cpus;
  }
  return free;
}

}  // namespace dtl
