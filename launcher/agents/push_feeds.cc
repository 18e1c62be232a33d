// A host that waits holds a timer, which each change of the tree cancels if it has decided.
#include "launcher/agents/push_feeds.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "base/random.h"
#include "base/sha256.h"
#include "base/text.h"
#include "launcher/agents/agent_start.h"

namespace dtl {
namespace {

constexpr std::size_t kPushPieceBytes = 1 << 20;
constexpr std::size_t kTicketBytes = 16;

// The SHA-256 of each piece of all files but dtagent, one after another.
std::string piece_sums(const Bundle& bundle) {
  std::string sums;
  std::size_t in_piece = 0;
  auto sum = std::make_unique<Sha256>();
  const auto end_piece = [&] {
    sums += " " + sum->hex();
    sum = std::make_unique<Sha256>();
    in_piece = 0;
  };
  for (std::size_t i = 1; i < bundle.files.size(); ++i) {
    std::string_view left = bundle.files[i].bytes;
    while (!left.empty()) {
      const std::string_view part = left.substr(0, kPushPieceBytes - in_piece);
      sum->add(part);
      in_piece += part.size();
      left.remove_prefix(part.size());
      if (in_piece == kPushPieceBytes) end_piece();
    }
  }
  if (in_piece > 0) end_piece();
  return sums;
}

// A timer is in the list as long as it exists, also if its coroutine is destroyed.
class Listed {
 public:
  using List = std::map<PushTree::Id, asio::steady_timer*>;
  Listed(List& list, PushTree::Id id, asio::steady_timer& timer) : list_(list), id_(id) {
    list_[id_] = &timer;
  }
  ~Listed() { list_.erase(id_); }
  Listed(const Listed&) = delete;
  Listed& operator=(const Listed&) = delete;

 private:
  List& list_;
  PushTree::Id id_;
};

}  // namespace

PushFeeds::PushFeeds(PortRange ports)
    : word_(ports.high == 0 ? "peers" : fmt::format("peers={}-{}", ports.low, ports.high)),
      ticket_(to_hex(random_bytes(kTicketBytes, "draw a ticket"))) {}

void PushFeeds::Alike::wake() {
  for (const auto& [id, timer] : waiting) {
    if (tree.feed_of(id).is_decided) timer->cancel();
  }
}

PushFeeds::Guest::Guest(PushFeeds& feeds, const Bundle& bundle, std::string name)
    : feeds_(feeds),
      bundle_(bundle),
      alike_(feeds.alike_[bundle.architecture]),
      id_(alike_.tree.enter()) {
  alike_.names.push_back(std::move(name));
}

PushFeeds::Guest::~Guest() {
  alike_.tree.left(id_);
  alike_.wake();
}

awaitable<PushTree::Feed> PushFeeds::Guest::wait_for_feed(std::function<void()> progress) {
  if (!has_asked_) {
    has_asked_ = true;
    alike_.tree.ask(id_);
  }
  asio::steady_timer timer(co_await asio::this_coro::executor);
  for (;;) {
    PushTree::Feed feed = alike_.tree.feed_of(id_);
    if (feed.is_decided) co_return feed;
    timer.expires_after(kPushStall / 3);
    const Listed listed(alike_.waiting, id_, timer);
    boost::system::error_code cancelled;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, cancelled));
    progress();
  }
}

void PushFeeds::Guest::failed() {
  alike_.tree.failed(id_);
  alike_.wake();
}

void PushFeeds::Guest::fed() {
  alike_.tree.fed(id_);
  alike_.wake();
}

void PushFeeds::Guest::seeds(std::string address, std::uint16_t port) {
  alike_.tree.seeds(id_, std::move(address), port);
  alike_.wake();
}

const std::string& PushFeeds::Guest::name_of(const PushTree::Seeder& seeder) const {
  return alike_.names[seeder.id];
}

const std::string& PushFeeds::Guest::pieces() {
  if (alike_.pieces.empty()) {
    alike_.pieces =
        fmt::format("pieces {} {}{}\n", kPushPieceBytes, feeds_.ticket_, piece_sums(bundle_));
  }
  return alike_.pieces;
}

std::shared_ptr<PushFeeds> make_push_feeds(const std::vector<Host>& hosts, PortRange ports) {
  const auto far =
      std::count_if(hosts.begin(), hosts.end(), [](const Host& host) { return !is_local(host); });
  if (far <= static_cast<std::ptrdiff_t>(PushFeeds::kFewHosts)) return nullptr;
  return std::make_shared<PushFeeds>(ports);
}

}  // namespace dtl
