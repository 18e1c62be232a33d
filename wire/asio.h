#pragma once
// The one door to Boost.Asio. Boost 1.74's awaitable.hpp uses std::exchange without including
// <utility> (chriskohlhoff/asio issue 944), hence this order.

#include <utility>
//
#include <boost/asio.hpp>

namespace dtl {

namespace asio = boost::asio;
using asio::awaitable;

}  // namespace dtl
