#pragma once
// PushTree: decides who feeds which host of a push. The launcher feeds the first few; a host that
// has the programs feeds two others at a time, until all have them. Pure: no clock, no socket. A
// host that stops or cannot be reached is found out by those that it should feed, and they get
// another; in the end the launcher feeds them, so a push never fails because of the tree. One
// thread.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace dtl {

class PushTree {
 public:
  using Id = std::size_t;

  // The launcher feeds this many at a time, and no more while others can.
  static constexpr std::size_t kRoots = 4;
  static constexpr std::size_t kChildren = 2;  // of a host, at a time
  static constexpr int kTries = 2;             // with other hosts, before the launcher feeds a host

  struct Seeder {
    Id id = 0;
    std::string address;
    std::uint16_t port = 0;
  };
  struct Feed {
    bool is_decided = false;       // false: wait
    std::optional<Seeder> seeder;  // none: the launcher
  };

  Id enter();                   // a host that may lack the programs
  void ask(Id host);            // it lacks them
  Feed feed_of(Id host) const;  // after ask()
  void failed(Id host);         // its seeder did not give it everything; it asks again
  // It has everything; `seeds`: and gives it to others from now on.
  void fed(Id host);
  void seeds(Id host, std::string address, std::uint16_t port);
  void left(Id host);   // its push is over, well or not; a seeder stays one
  bool is_off() const;  // hosts do not reach each other, so the launcher feeds all

 private:
  enum class State { kIdle, kWaiting, kFromLauncher, kFromSeeder, kFed };
  struct Guest {
    State state = State::kIdle;
    Id seeder = 0;
    int failures = 0;
    std::set<Id> tried;
    // As a seeder:
    std::string address;
    std::uint16_t port = 0;
    std::size_t children = 0;
    int refusals = 0;  // children in a row that it failed
  };
  bool can_seed(const Guest& guest) const;
  std::optional<Id> best_seeder(const Guest& guest) const;
  bool may_hope(const Guest& guest) const;
  void note_room(Id seeder);
  void release(Guest& guest, State next);
  void assign();

  std::vector<Guest> guests_;
  std::vector<Id> waiting_;           // in the order in which they asked
  std::set<Id> free_;                 // seeders with room for a child
  std::size_t by_launcher_ = 0;       // being fed by it now
  std::size_t by_seeders_ = 0;        // being fed by others now
  std::size_t roots_ = 0;             // that the launcher feeds or has fed
  int successes_ = 0, failures_ = 0;  // of seeders
};

}  // namespace dtl
