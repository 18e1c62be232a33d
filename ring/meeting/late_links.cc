// Handshakes open and close descriptors all the time. Each step makes a new epoll of those that are
// open now: a forked child could hold a closed one's socket open, and with it its events.
#include "ring/meeting/late_links.h"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "ring/common/comm_error.h"
#include "ring/common/descriptors.h"

namespace dtl::ring {
namespace {

// How long a lower rank waits before it knocks. In a collective the higher rank connects by itself,
// and mostly at once.
constexpr auto kKnockAfter = std::chrono::milliseconds(5);

std::uint32_t epoll_events(short events) {
  return ((events & POLLIN) != 0 ? std::uint32_t{EPOLLIN} : 0) |
         ((events & POLLOUT) != 0 ? std::uint32_t{EPOLLOUT} : 0);
}

}  // namespace

LateLinks::LateLinks(std::unique_ptr<Identity> identity, std::vector<PeerInfo> infos,
                     Acceptor acceptor, std::vector<Caller> callers, const Settings& settings)
    : identity_(std::move(identity)),
      members_(*identity_),
      acceptor_(std::move(acceptor)),
      builder_(members_, settings.streams, kKnockAfter),
      settings_(settings) {
  members_.infos = std::move(infos);
  for (Caller& caller : callers) builder_.admit(std::move(caller));
  // Their handshakes are over, so no descriptor will wake step() for them.
  has_wants_ = !callers.empty();
  watch();
}

void LateLinks::want(int peer, Lane lane) {
  if (!builder_.want(peer, lane)) return;
  // Also those wanted before, which may not have opened theirs yet.
  provide_descriptors(
      builder_.missing_streams(),
      fmt::format("{}: cannot connect to {}", members_.name(identity_->rank), members_.name(peer)));
  has_wants_ = true;
}

void LateLinks::call(int rank) {
  line_.emplace(*identity_, rank, Stream::kControl, std::vector{*members_.of(rank).address});
  has_wants_ = true;
}

void LateLinks::admit(Caller caller, News& news) {
  if (caller.hello.stream != Stream::kControl) return builder_.admit(std::move(caller));
  const int from = caller.hello.from;
  // A parent is always a lower rank, so only a higher one has a reason to call.
  if (from <= identity_->rank || from >= identity_->world) return;
  news.lines.push_back({from, std::move(caller.channel)});
}

void LateLinks::make_line(News& news) {
  if (!line_) return;
  if (Channel channel = line_->step(); channel.valid()) {
    news.lines.push_back({line_->to(), std::move(channel)});
  } else if (line_->is_refused()) {
    news.uncalled = line_->to();
  } else {
    return;
  }
  line_.reset();
}

void LateLinks::watch() {
  watch_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
  // Out of descriptors, it looks by itself until the program has closed some.
  looks_at_ = watch_.valid() ? Clock::time_point::max() : Clock::now() + kShortagePause;
  if (!watch_.valid()) return;
  std::vector<pollfd> set;
  acceptor_.add_to_poll(set);
  builder_.add_to_poll(set);
  if (line_) line_->add_to_poll(set);
  for (const pollfd& entry : set) {
    epoll_event event{};
    event.events = epoll_events(entry.events);
    event.data.fd = entry.fd;
    if (::epoll_ctl(watch_.get(), EPOLL_CTL_ADD, entry.fd, &event) != 0) {
      throw CommError(DT_E_SYS, "cannot watch a connection", errno_text(errno));
    }
  }
}

LateLinks::News LateLinks::step() {
  News news;
  has_wants_ = false;
  try {
    for (Caller& caller : acceptor_.step()) admit(std::move(caller), news);
    make_line(news);
    for (const Line& line : news.lines) {
      send_without_delay(line.channel.fd());
      notice_dead_hosts(line.channel.fd(), settings_.silence);
    }
    news.made = builder_.step();
    news.refusals = builder_.take_refusals();
    news.failure = look_at_time();
    watch();
  } catch (const CommError& error) {
    // The caller drives all operations and tells the user's calls; an exception would end its
    // thread.
    news.failure = Failure{error.dt_status(), identity_->rank, error.what()};
  }
  return news;
}

Clock::time_point LateLinks::deadline() const {
  const auto since = builder_.waits_since();
  return since == Clock::time_point::max() ? since : since + settings_.timeout;
}

std::optional<LateLinks::Failure> LateLinks::look_at_time() const {
  if (Clock::now() < deadline()) return std::nullopt;
  const auto delay = builder_.longest();
  return Failure{
      DT_E_PEER, delay->peer,
      fmt::format("{}: no connection within {} ms: {} {}", members_.name(identity_->rank),
                  settings_.timeout.count(), members_.name(delay->peer), delay->reason)};
}

Clock::time_point LateLinks::due() const {
  if (has_wants_) return {};  // long ago; a difference to min() would overflow
  const auto line_due = line_ ? line_->due() : Clock::time_point::max();
  return std::min({acceptor_.due(), builder_.due(), line_due, deadline(), looks_at_});
}

}  // namespace dtl::ring
