#include "base/overloaded.h"

#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace dtl::overloaded_test {
namespace {

struct Stop {};
struct Kill {};
struct Finish {};

// Whether std::visit compiles with these functions for every one of these alternatives.
template <class Functions, class... Alternatives>
constexpr bool kTakes = (std::is_invocable_v<Functions, const Alternatives&> && ...);

const Overloaded whole{[](const Stop&) { return std::string("stop"); },
                       [](const OneOf<Kill, Finish> auto&) { return std::string("other"); }};
using Whole = decltype(whole);
static_assert(kTakes<Whole, Stop, Kill, Finish>);

// An alternative is missing: as a single function, and in a list of alternatives.
const Overloaded without_stop{[](const OneOf<Kill, Finish> auto&) {}};
static_assert(kTakes<decltype(without_stop), Kill, Finish>);
static_assert(!kTakes<decltype(without_stop), Stop, Kill, Finish>);

const Overloaded without_finish{[](const Stop&) {}, [](const OneOf<Kill> auto&) {}};
static_assert(!kTakes<decltype(without_finish), Stop, Kill, Finish>);

// Only the exact type counts as an alternative, not one that converts to it.
static_assert(OneOf<Kill, Stop, Kill>);
static_assert(!OneOf<int, long, short>);
static_assert(!OneOf<const Kill, Stop, Kill>);

TEST(Overloaded, CallsTheFunctionOfTheAlternative) {
  using Event = std::variant<Stop, Kill, Finish>;
  EXPECT_EQ(std::visit(whole, Event{Stop{}}), "stop");
  EXPECT_EQ(std::visit(whole, Event{Kill{}}), "other");
  EXPECT_EQ(std::visit(whole, Event{Finish{}}), "other");
}

}  // namespace
}  // namespace dtl::overloaded_test
