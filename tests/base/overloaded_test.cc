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

// Whether std::visit with these functions compiles, for every alternative of these.
template <class Functions, class... Alternatives>
constexpr bool kTakes = (std::is_invocable_v<Functions, const Alternatives&> && ...);

const Overloaded whole{[](const Stop&) { return std::string("stop"); },
                       [](const OneOf<Kill, Finish> auto&) { return std::string("other"); }};
using Whole = decltype(whole);
static_assert(kTakes<Whole, Stop, Kill, Finish>);

// A forgotten alternative: by name, and in the list of those that are all alike.
const Overloaded without_stop{[](const OneOf<Kill, Finish> auto&) {}};
static_assert(kTakes<decltype(without_stop), Kill, Finish>);
static_assert(!kTakes<decltype(without_stop), Stop, Kill, Finish>);

const Overloaded without_finish{[](const Stop&) {}, [](const OneOf<Kill> auto&) {}};
static_assert(!kTakes<decltype(without_finish), Stop, Kill, Finish>);

// What converts to an alternative is none.
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
