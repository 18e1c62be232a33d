#include "wire/private_socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>

namespace dtl::private_socket_test {
namespace {

using asio::ip::tcp;

bool stays_here(tcp::socket& socket) {
  return (::fcntl(socket.native_handle(), F_GETFD) & FD_CLOEXEC) != 0;
}

TEST(PrivateSocket, IsInheritedByNoProgramWhileItConnectsAndAfterItWasAccepted) {
  asio::io_context context;
  for (const auto& address : {"127.0.0.1", "::1"}) {
    boost::system::error_code missing;
    tcp::acceptor acceptor(context);
    const tcp::endpoint any(asio::ip::make_address(address), 0);
    acceptor.open(any.protocol(), missing);
    if (!missing) acceptor.bind(any, missing);
    if (missing) continue;  // a machine without IPv6
    acceptor.listen();
    tcp::socket caller(context), called(context);
    open_in_this_process(caller, any.protocol());
    ASSERT_TRUE(caller.is_open());
    EXPECT_TRUE(stays_here(caller));
    boost::system::error_code failed = asio::error::would_block;
    caller.async_connect(acceptor.local_endpoint(),
                         [&](boost::system::error_code error) { failed = error; });
    EXPECT_TRUE(stays_here(caller));
    acceptor.accept(called);
    keep_in_this_process(called);
    EXPECT_TRUE(stays_here(called));
    context.run();
    context.restart();
    EXPECT_FALSE(failed) << failed.message();
    EXPECT_TRUE(stays_here(caller));
  }
}

}  // namespace
}  // namespace dtl::private_socket_test
