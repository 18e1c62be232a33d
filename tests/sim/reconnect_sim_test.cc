// Thousands of links that are lost and found again, in virtual time, and the same with planted bugs
// that must be found. DTL_SIM_SEED=n runs one story, DTL_SIM_RUNS=n that many.

#include <gtest/gtest.h>

#include <algorithm>

#include "base/limits.h"
#include "tests/sim/reconnect_world.h"
#include "tests/sim/seeds.h"

namespace dtl::sim::reconnect_sim_test {
namespace {

using Answer = std::optional<ResumeAnswer>;
using Verdict = LinkSearch::Verdict;

TEST(ReconnectSimulation, EveryLinkKeepsItsPromises) {
  const Seeds seeds = chosen_seeds();
  int most_found = 0;
  bool gave_up = false, refused = false;
  for (std::uint64_t seed = seeds.first; seed < seeds.end; ++seed) {
    ReconnectWorld world(seed, {});
    world.run();
    ASSERT_EQ(world.complaints(), "") << "seed " << seed << "\n" << world.story();
    most_found = std::max(most_found, world.found());
    gave_up |= world.gave_up();
    refused |= world.refused();
  }
  if (!seeds.are_many()) return;
  EXPECT_GE(most_found, 3) << "no link is found again three times";
  EXPECT_TRUE(gave_up && refused) << "no search is given up, or nobody is refused";
}

struct Mutant {
  const char* name;
  ReconnectRules rules;
};

template <class Rule>
void plant(std::vector<Mutant>& all, const char* name, Rule ReconnectRules::*where, Rule rule) {
  all.push_back({name, {}});
  all.back().rules.*where = rule;
}

void add_wrong_counts(std::vector<Mutant>& all) {
  using R = ReconnectRules;
  plant(
      all, "nothing is kept", &R::number, +[](LinkEnd& end, Frame& frame) {
        end.number(frame);
        end.acknowledge(end.sent());
      });
  plant(
      all, "a number is left out", &R::number, +[](LinkEnd& end, Frame& frame) {
        Frame other = frame;
        if (end.sent() % 16 == 15) end.number(other);
        end.number(frame);
      });
  plant(
      all, "what comes is not counted", &R::took, +[](LinkEnd& end, std::size_t bytes) {
        if (end.received() != 5) end.took(bytes);
      });
  plant(
      all, "what comes is counted twice", &R::took, +[](LinkEnd& end, std::size_t bytes) {
        end.took(bytes);
        if (end.received() % 8 == 7) end.took(bytes);
      });
  plant(
      all, "a receipt for one more", &R::receipt, +[](LinkEnd& end) {
        auto receipt = end.receipt(true);
        if (receipt) ++receipt->frames;
        return receipt;
      });
  plant(
      all, "no receipt ever", &R::receipt, +[](LinkEnd&) { return std::optional<Received>(); });
  plant(
      all, "a receipt is good for everything", &R::acknowledge,
      +[](LinkEnd& end, std::uint64_t) { return end.acknowledge(end.sent()); });
  plant(
      all, "receipts are not heeded", &R::acknowledge,
      +[](LinkEnd&, std::uint64_t) { return true; });
}

void add_wrong_offers(std::vector<Mutant>& all) {
  using R = ReconnectRules;
  plant(
      all, "any token will do", &R::admit,
      +[](LinkEnd& end, const Resume& offer, const std::string&) {
        return end.admit(offer, offer.token);
      });
  plant(
      all, "an old offer will do", &R::admit,
      +[](LinkEnd& end, const Resume& offer, const std::string& token) {
        const ResumeAnswer answer = end.admit(offer, token);
        return offer.token == token ? ResumeAnswer::kResumed : answer;
      });
  plant(
      all, "only the first offer will do", &R::admit,
      +[](LinkEnd& end, const Resume& offer, const std::string& token) {
        return offer.attempt > 1 ? ResumeAnswer::kRefused : end.admit(offer, token);
      });
  plant(
      all, "an offer that forgets what has come", &R::offer,
      +[](LinkEnd& end, const std::string& token, std::uint32_t attempt) {
        Resume offer = end.offer(token, attempt);
        offer.received = 0;
        return offer;
      });
  plant(
      all, "an offer that says too much has come", &R::offer,
      +[](LinkEnd& end, const std::string& token, std::uint32_t attempt) {
        Resume offer = end.offer(token, attempt);
        ++offer.received;
        return offer;
      });
  plant(
      all, "offers that all have one number", &R::offer,
      +[](LinkEnd& end, const std::string& token, std::uint32_t) { return end.offer(token, 1); });
  plant(
      all, "answers to old offers count", &R::counts,
      +[](const LinkEnd&, const LinkSearch&, const Resumed& answer, std::uint32_t) {
        return answer.answer == ResumeAnswer::kResumed;
      });
  plant(
      all, "no answer counts", &R::counts,
      +[](const LinkEnd&, const LinkSearch&, const Resumed&, std::uint32_t) { return false; });
}

void add_wrong_rests(std::vector<Mutant>& all) {
  using R = ReconnectRules;
  using Frames = std::optional<std::vector<Frame>>;
  plant(
      all, "nothing is sent again", &R::resume, +[](LinkEnd& end, std::uint64_t received) {
        Frames frames = end.resume(received);
        if (frames) frames->clear();
        return frames;
      });
  plant(
      all, "the last frame is not sent again", &R::resume,
      +[](LinkEnd& end, std::uint64_t received) {
        Frames frames = end.resume(received);
        if (frames && !frames->empty()) frames->pop_back();
        return frames;
      });
  plant(
      all, "what comes again is in another order", &R::resume,
      +[](LinkEnd& end, std::uint64_t received) {
        Frames frames = end.resume(received);
        if (frames) std::reverse(frames->begin(), frames->end());
        return frames;
      });
  plant(
      all, "the numbers begin anew", &R::resume, +[](LinkEnd& end, std::uint64_t received) {
        Frames frames = end.resume(received);
        std::uint32_t number = 0;
        if (frames) {
          for (Frame& frame : *frames) set_frame_sequence(frame, number++);
        }
        return frames;
      });
}

void add_wrong_searches(std::vector<Mutant>& all) {
  using R = ReconnectRules;
  plant(
      all, "each word of the loss begins the time anew", &R::begin,
      +[](LinkSearch& search, JobTime now) {
        search.end();
        search.begin(now);
      });
  plant(
      all, "attempts are numbered anew", &R::begin, +[](LinkSearch& search, JobTime now) {
        if (!search.searching()) search = LinkSearch(search.patience());
        search.begin(now);
      });
  plant(
      all, "no pause between tries", &R::next_try, +[](LinkSearch& search, JobTime now) {
        return search.next_try(now + JobTime(kLongestRejoinPause));
      });
  plant(
      all, "a try that outlasts the search", &R::next_try, +[](LinkSearch& search, JobTime now) {
        auto attempt = search.next_try(now);
        if (attempt) attempt->until = now + JobTime(kRejoinDeadline);
        return attempt;
      });
  plant(
      all, "no try at all", &R::next_try,
      +[](LinkSearch&, JobTime) { return std::optional<LinkSearch::Try>(); });
  plant(
      all, "the search is never over", &R::is_over,
      +[](const LinkSearch&, JobTime) { return false; });
  plant(
      all, "the search is over too early", &R::is_over,
      +[](const LinkSearch& search, JobTime now) { return search.is_over(now + 3s); });
}

void add_wrong_results(std::vector<Mutant>& all) {
  using R = ReconnectRules;
  plant(
      all, "an agent that is gone is looked for", &R::tried,
      +[](LinkSearch& search, std::uint32_t attempt, Answer answer, JobTime now) {
        if (answer == ResumeAnswer::kGone) answer.reset();
        return search.tried(attempt, answer, "", now);
      });
  plant(
      all, "no answer is taken for death", &R::tried,
      +[](LinkSearch& search, std::uint32_t attempt, Answer answer, JobTime now) {
        if (!answer || answer == ResumeAnswer::kRefused) answer = ResumeAnswer::kGone;
        return search.tried(attempt, answer, "", now);
      });
  plant(
      all, "one failure ends all tries", &R::tried,
      +[](LinkSearch& search, std::uint32_t attempt, Answer answer, JobTime now) {
        return answer ? search.tried(attempt, answer, "", now) : Verdict::kGoOn;
      });
}

std::vector<Mutant> mutants() {
  std::vector<Mutant> all;
  for (auto* part : {add_wrong_counts, add_wrong_offers, add_wrong_rests, add_wrong_searches,
                     add_wrong_results}) {
    part(all);
  }
  return all;
}

TEST(ReconnectSimulation, SeesEveryPlantedMistake) {
  const std::vector<Mutant> all = mutants();
  ASSERT_GE(all.size(), 20U);
  for (const Mutant& mutant : all) {
    std::uint64_t seed = 1;
    std::string seen;
    for (; seen.empty() && seed <= 20000; ++seed) {
      ReconnectWorld world(seed, mutant.rules);
      world.run();
      seen = world.complaints();
    }
    EXPECT_NE(seen, "") << "not seen within 20,000 seeds: " << mutant.name;
  }
}

}  // namespace
}  // namespace dtl::sim::reconnect_sim_test
