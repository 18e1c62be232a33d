#pragma once
// A world for links that are lost and found again: one launcher, one agent, and a network that
// cuts, drops, delays and delivers old data late, in virtual time, with faults drawn from one seed.
// The same seed gives the same story.

#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "launcher/job/link_search.h"
#include "wire/link_end.h"

namespace dtl::sim {

// The code that the world runs: the product's, unless a test plants a bug.
struct ReconnectRules {
  void (*number)(LinkEnd&, Frame&) = [](LinkEnd& end, Frame& frame) { end.number(frame); };
  void (*took)(LinkEnd&, std::size_t) = [](LinkEnd& end, std::size_t bytes) { end.took(bytes); };
  std::optional<Received> (*receipt)(LinkEnd&) = [](LinkEnd& end) { return end.receipt(true); };
  bool (*acknowledge)(LinkEnd&, std::uint64_t) = [](LinkEnd& end, std::uint64_t received) {
    return end.acknowledge(received);
  };
  ResumeAnswer (*admit)(LinkEnd&, const Resume&, const std::string&) =
      [](LinkEnd& end, const Resume& made, const std::string& token) {
        return end.admit(made, token);
      };
  Resume (*offer)(LinkEnd&, const std::string&,
                  std::uint32_t) = [](LinkEnd& end, const std::string& token,
                                      std::uint32_t attempt) { return end.offer(token, attempt); };
  bool (*counts)(const LinkEnd&, const LinkSearch&, const Resumed&, std::uint32_t) =
      [](const LinkEnd& end, const LinkSearch& search, const Resumed& answer,
         std::uint32_t attempt) { return search.awaits(attempt) && end.is_answer(answer); };
  std::optional<std::vector<Frame>> (*resume)(LinkEnd&, std::uint64_t) =
      [](LinkEnd& end, std::uint64_t received) { return end.resume(received); };
  void (*begin)(LinkSearch&, JobTime) = [](LinkSearch& search, JobTime now) { search.begin(now); };
  std::optional<LinkSearch::Try> (*next_try)(LinkSearch&, JobTime) =
      [](LinkSearch& search, JobTime now) { return search.next_try(now); };
  bool (*is_over)(const LinkSearch&, JobTime) = [](const LinkSearch& search, JobTime now) {
    return search.is_over(now);
  };
  LinkSearch::Verdict (*tried)(LinkSearch&, std::uint32_t, std::optional<ResumeAnswer>, JobTime) =
      [](LinkSearch& search, std::uint32_t attempt, std::optional<ResumeAnswer> answer,
         JobTime now) { return search.tried(attempt, answer, "why", now); };
};

class ReconnectWorld {
 public:
  ReconnectWorld(std::uint64_t seed, const ReconnectRules& rules);
  // Runs until the network works again and both have done what they can, or a promise is broken.
  void run();

  const std::string& complaints() const { return complaints_; }
  const std::string& story() const { return story_; }
  int found() const { return found_; }
  bool gave_up() const { return lost_; }
  bool refused() const { return refused_; }

 private:
  struct Side {
    LinkEnd end;
    FrameReader reader;
    int stream = 0;  // none: -1
    std::deque<Message> waiting;
    std::uint64_t sent = 0, got = 0;  // Heartbeat N is the Nth that is sent
    bool alive = true;
    JobTime heard{0};
  };
  struct Stream {
    std::deque<std::string> to_agent, to_launcher;
    bool broken = false;
    std::uint32_t attempt = 0;
    std::optional<Resume> offer;    // on its way
    std::optional<Resumed> answer;  // the same
    std::optional<JobTime> fails;   // the try has no result, and that is known then
  };

  bool chance(int percent) { return draw(1, 100) <= percent; }
  int draw(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  // Nothing older will arrive.
  std::size_t oldest() const { return streams_.size() < 6 ? 0 : streams_.size() - 6; }
  Stream& stream(int index) { return streams_[static_cast<std::size_t>(index)]; }
  std::deque<std::string>& way_from(const Side& side);
  std::deque<std::string>& way_to(const Side& side);
  void tell(const std::string& what);
  void check(bool holds, const std::string& promise);

  void act();
  void heal();
  void pass(JobTime time);
  void send(Side& side);
  void put(Side& side, const Message& message);
  void deliver(Side& side);
  void break_stream();
  void lose_stream();
  void look();
  void give_up(bool gone);
  void deliver_offer(Stream& one, int index);
  void deliver_answer(Stream& one, int index);
  void deliver_old(bool all);
  bool adopt(Side& side, int index, std::uint64_t other_has);
  void check_end(bool must_be_found);

  std::mt19937_64 random_;
  ReconnectRules rules_;
  JobTime now_{0}, patience_;
  Side launcher_, agent_;
  LinkSearch search_;
  std::vector<Stream> streams_;
  bool cut_ = false, lost_ = false, refused_ = false;
  JobTime lost_at_{0}, last_failure_{-1};
  std::uint32_t last_attempt_ = 0;
  int found_ = 0;
  std::string complaints_, story_;
};

}  // namespace dtl::sim
