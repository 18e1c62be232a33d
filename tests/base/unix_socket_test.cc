#include "base/machine/unix_socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"

namespace dtl::unix_socket_test {
namespace {

class UnixSocket : public testing::Test {
 protected:
  UnixSocket() {
    std::string name = testing::TempDir() + "/sock.XXXXXX";
    folder_ = ::mkdtemp(name.data());
    path_ = folder_ + "/socket";
  }
  ~UnixSocket() override { std::filesystem::remove_all(folder_); }

  std::string error() const {
    try {
      listen_unix(path_);
    } catch (const Error& error) {
      return error.what();
    }
    return "it listens";
  }

  std::string folder_, path_;
};

TEST_F(UnixSocket, ReplacesWhatNobodyListensOn) {
  EXPECT_FALSE(has_listener(path_));
  { const Fd first = listen_unix(path_); }
  EXPECT_FALSE(has_listener(path_));
  const Fd second = listen_unix(path_);
  EXPECT_TRUE(has_listener(path_));
  EXPECT_TRUE(connect_unix(path_).valid());
}

TEST_F(UnixSocket, LeavesABusyListenerAlone) {
  const Fd listening = listen_unix(path_);
  ASSERT_EQ(::listen(listening.get(), 0), 0);  // a queue that fills up quickly
  std::vector<Fd> waiting;
  for (Fd next = connect_unix(path_); next.valid(); next = connect_unix(path_)) {
    waiting.push_back(std::move(next));
    ASSERT_LT(waiting.size(), 100U);
  }
  EXPECT_TRUE(has_listener(path_));
  EXPECT_THAT(error(), testing::HasSubstr("another process listens there"));
  EXPECT_TRUE(std::filesystem::exists(path_));
}

}  // namespace
}  // namespace dtl::unix_socket_test
