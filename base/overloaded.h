#pragma once
// std::visit with one function per alternative: an alternative without a function does not compile.
//
//   const Overloaded step{[](const Stop& stop) { ... }, [](const OneOf<Kill, Finish> auto&) {}};
//   std::visit(step, event);

#include <type_traits>

namespace dtl {

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

template <class T, class... Of>
concept OneOf = (std::is_same_v<T, Of> || ...);

}  // namespace dtl
