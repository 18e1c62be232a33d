// A grammar and a random generator. The header explains the design of the texts.
#include "trainer/data/demo_text.h"

#include <algorithm>
#include <iterator>
#include <random>
#include <span>
#include <string_view>
#include <utility>

namespace dtl::trainer {
namespace {

using Words = std::span<const std::string_view>;

constexpr std::string_view kParts[] = {"pump",  "valve", "gearbox", "fan",   "sensor", "belt",
                                       "motor", "hinge", "filter",  "relay", "spring", "nozzle"};
constexpr std::string_view kQualities[] = {"old", "new", "left", "right", "small", "spare"};
constexpr std::string_view kGood[] = {"intact", "reliable", "sound", "perfect", "clean", "safe"};
constexpr std::string_view kBad[] = {"broken", "loose", "cracked", "rusty", "leaking", "stuck"};
constexpr std::string_view kVerbs[] = {"is", "was", "seems", "looks"};
constexpr std::string_view kNegations[] = {"not", "never", "hardly"};
constexpr std::string_view kAffirmations[] = {"still", "clearly", "rather"};
constexpr std::string_view kLinks[] = {", and", ", while", "; also ,", ". today"};

// Equal draws on every machine: the standard fixes mt19937_64 but not the distributions.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed) {}
  // With 64 bits, the modulo's bias is negligible.
  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(engine_() % bound); }
  bool coin() { return below(2) == 1; }
  std::string_view one_of(Words words) { return words[below(words.size())]; }

 private:
  std::mt19937_64 engine_;
};

// "the old pump is not broken": good, by negation of a bad word.
std::string statement(Draw& draw, bool good) {
  const bool negated = draw.coin();
  std::string text = "the ";
  if (draw.coin()) text.append(draw.one_of(kQualities)) += ' ';
  text.append(draw.one_of(kParts)) += ' ';
  text.append(draw.one_of(kVerbs)) += ' ';
  if (negated || draw.coin()) text.append(draw.one_of(negated ? kNegations : kAffirmations)) += ' ';
  return text.append(draw.one_of(good != negated ? Words(kGood) : Words(kBad)));
}

TextExample report(Draw& draw, bool healthy) {
  // Half of the reports cover one part, so that the model learns negation first.
  if (draw.coin()) return {statement(draw, healthy), "", healthy ? "healthy" : "faulty"};
  constexpr std::pair<bool, bool> kFaults[] = {{false, false}, {false, true}, {true, false}};
  const std::pair<bool, bool> good =
      healthy ? std::pair(true, true) : kFaults[draw.below(std::size(kFaults))];
  std::string text = statement(draw, good.first);
  text += ' ';
  text.append(draw.one_of(kLinks)) += ' ';
  text += statement(draw, good.second);
  return {text, "", healthy ? "healthy" : "faulty"};
}

}  // namespace

TextDataset make_demo_text(std::uint64_t seed, int count) {
  Draw draw(seed);
  TextDataset dataset;
  // Alternating labels give equal shares; the shuffle below makes the order random.
  for (int i = 0; i < count; ++i) dataset.examples.push_back(report(draw, i % 2 == 0));
  for (std::size_t i = dataset.examples.size(); i > 1; --i) {
    std::swap(dataset.examples[i - 1], dataset.examples[draw.below(i)]);
  }
  return dataset;
}

}  // namespace dtl::trainer
