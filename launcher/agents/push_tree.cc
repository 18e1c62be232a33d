// assign() is the rule. A host waits only while another is being fed, and every feeding ends within
// the deadlines of a push, so no host waits forever.
#include "launcher/agents/push_tree.h"

#include <algorithm>
#include <utility>

namespace dtl {
namespace {

constexpr int kRefusals = 2;  // of a seeder in a row; one alone may be the child's fault
// So many failures without a success are a firewall; each success outweighs two later ones.
constexpr int kFirstFailures = 4;

}  // namespace

PushTree::Id PushTree::enter() {
  guests_.emplace_back();
  return guests_.size() - 1;
}

void PushTree::ask(Id host) {
  guests_[host].state = State::kWaiting;
  waiting_.push_back(host);
  assign();
}

PushTree::Feed PushTree::feed_of(Id host) const {
  const Guest& guest = guests_[host];
  if (guest.state == State::kFromLauncher) return {true, std::nullopt};
  if (guest.state != State::kFromSeeder) return {};
  const Guest& seeder = guests_[guest.seeder];
  return {true, Seeder{guest.seeder, seeder.address, seeder.port}};
}

void PushTree::failed(Id host) {
  Guest& guest = guests_[host];
  if (guest.state == State::kFromSeeder) {
    ++guest.failures;
    ++failures_;
    ++guests_[guest.seeder].refusals;  // release() below looks at it
    guest.tried.insert(guest.seeder);
  }
  release(guest, State::kIdle);
  ask(host);
}

void PushTree::fed(Id host) {
  Guest& guest = guests_[host];
  if (guest.state == State::kFromSeeder) {
    ++successes_;
    guests_[guest.seeder].refusals = 0;
  }
  release(guest, State::kFed);
  assign();
}

void PushTree::seeds(Id host, std::string address, std::uint16_t port) {
  guests_[host].address = std::move(address);
  guests_[host].port = port;
  note_room(host);
  fed(host);
}

void PushTree::left(Id host) {
  Guest& guest = guests_[host];
  // The launcher has fed it in vain, so another host takes its place.
  if (guest.state == State::kFromLauncher && roots_ > 0) --roots_;
  release(guest, guest.state == State::kFed ? State::kFed : State::kIdle);
  std::erase(waiting_, host);
  assign();
}

bool PushTree::is_off() const {
  return failures_ >= kFirstFailures + 2 * successes_;
}

bool PushTree::can_seed(const Guest& guest) const {
  return guest.port != 0 && guest.refusals < kRefusals;
}

// The one with the fewest children.
std::optional<PushTree::Id> PushTree::best_seeder(const Guest& guest) const {
  std::optional<Id> best;
  for (const Id id : free_) {
    if (guest.tried.contains(id)) continue;
    if (!best || guests_[id].children < guests_[*best].children) best = id;
  }
  return best;
}

// Whether a seeder is or will be there for it. A seeder without room has children.
bool PushTree::may_hope(const Guest& guest) const {
  return by_launcher_ + by_seeders_ > 0 || best_seeder(guest).has_value();
}

void PushTree::note_room(Id seeder) {
  const Guest& guest = guests_[seeder];
  // A seeder that failed a child gets one at a time, until it has fed one.
  if (can_seed(guest) && guest.children < (guest.refusals == 0 ? kChildren : 1)) {
    free_.insert(seeder);
  } else {
    free_.erase(seeder);
  }
}

void PushTree::release(Guest& guest, State next) {
  if (guest.state == State::kFromLauncher) --by_launcher_;
  if (guest.state == State::kFromSeeder) {
    --by_seeders_;
    --guests_[guest.seeder].children;
    note_room(guest.seeder);
  }
  guest.state = next;
}

void PushTree::assign() {
  std::vector<Id> still;
  for (const Id id : waiting_) {
    Guest& guest = guests_[id];
    const bool alone = is_off() || guest.failures >= kTries;
    const std::optional<Id> seeder = alone ? std::nullopt : best_seeder(guest);
    // Without a tree everything is as it was before there was one: all at once.
    const bool has_room = is_off() || by_launcher_ < kRoots;
    if (seeder) {
      guest.state = State::kFromSeeder;
      guest.seeder = *seeder;
      ++by_seeders_;
      ++guests_[*seeder].children;
      note_room(*seeder);
    } else if (has_room && (alone || roots_ < kRoots || !may_hope(guest))) {
      guest.state = State::kFromLauncher;
      ++by_launcher_;
      ++roots_;
    } else {
      still.push_back(id);
    }
  }
  waiting_ = std::move(still);
}

}  // namespace dtl
