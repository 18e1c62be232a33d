#include "wire/user_listener.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <ctime>
#include <filesystem>

namespace dtl::user_listener_test {
namespace {

using namespace std::chrono_literals;

class UserListenerTest : public testing::Test {
 protected:
  UserListenerTest() {
    std::string name = "/tmp/dtl-listener-XXXXXX";
    folder_ = ::mkdtemp(name.data());
    address_.sun_family = AF_UNIX;
    const std::string path = folder_ + "/s";
    std::memcpy(address_.sun_path, path.c_str(), path.size() + 1);
    ::getrlimit(RLIMIT_NOFILE, &limit_);
  }
  ~UserListenerTest() override {
    ::setrlimit(RLIMIT_NOFILE, &limit_);
    std::filesystem::remove_all(folder_);
  }

  Fd listening() const {
    Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address_), sizeof address_), 0);
    EXPECT_EQ(::listen(fd.get(), 8), 0);
    return fd;
  }
  Fd connect() const {
    Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address_), sizeof address_),
              0);
    return fd;
  }

  std::string folder_;
  sockaddr_un address_{};
  rlimit limit_{};
};

// Without a pause, this loop would use a whole core for the 300 ms.
TEST_F(UserListenerTest, OutOfDescriptorsWaitsAndTakesThePeerOnceThereAreSome) {
  asio::io_context context;
  std::vector<Fd> peers;
  UserListener listener(context, [&](Fd peer) { peers.push_back(std::move(peer)); });
  listener.start(listening());
  const Fd client = connect();
  const Fd highest(::dup(client.get()));
  rlimit few = limit_;
  few.rlim_cur = static_cast<rlim_t>(highest.get()) + 1;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  int rounds = 0;
  const auto end = std::chrono::steady_clock::now() + 300ms;
  while (std::chrono::steady_clock::now() < end) rounds += static_cast<int>(context.run_for(10ms));
  EXPECT_TRUE(peers.empty());
  EXPECT_LE(rounds, 20);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit_), 0);
  const auto patience = std::chrono::steady_clock::now() + 20s;
  while (peers.empty() && std::chrono::steady_clock::now() < patience) context.run_for(10ms);
  EXPECT_EQ(peers.size(), 1U);
  listener.close();
}

}  // namespace
}  // namespace dtl::user_listener_test
