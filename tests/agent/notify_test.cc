#include "agent/entrance/notify.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

namespace dtl::notify_test {
namespace {

// A service manager's socket, at a path or, with '@', an abstract name.
Fd manager(const std::string& path) {
  Fd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  if (path[0] == '@') address.sun_path[0] = '\0';
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  EXPECT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  return fd;
}

std::string received(const Fd& fd) {
  char text[256];
  const ssize_t size = ::recv(fd.get(), text, sizeof text, 0);
  return size < 0 ? "nothing" : std::string(text, static_cast<std::size_t>(size));
}

TEST(Notifier, SpeaksToAbstractSocketsAndToFiles) {
  const std::string name = "dtl-notify-" + std::to_string(::getpid());
  for (const std::string& path : {"@" + name, "/tmp/" + name}) {
    const Fd fd = manager(path);
    ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
    const Notifier notifier;
    notifier.send("READY=1\nSTATUS=idle");
    EXPECT_EQ(received(fd), "READY=1\nSTATUS=idle") << path;
    EXPECT_EQ(::getenv("NOTIFY_SOCKET"), nullptr) << "ranks must not speak for the service";
  }
  ::unlink(("/tmp/" + name).c_str());
}

TEST(Notifier, IsQuietWithoutAManager) {
  ::unsetenv("NOTIFY_SOCKET");
  ::setenv("WATCHDOG_USEC", "1000000", 1);
  const Notifier notifier;
  notifier.send("READY=1");
  EXPECT_EQ(notifier.watchdog_interval().count(), 0);
}

TEST(Notifier, ServesAWatchdogTwiceInItsTime) {
  ::setenv("NOTIFY_SOCKET", "@dtl-nobody", 1);
  ::setenv("WATCHDOG_USEC", "3000000", 1);
  ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
  EXPECT_EQ(Notifier().watchdog_interval().count(), 1500000);
  ::setenv("NOTIFY_SOCKET", "@dtl-nobody", 1);
  ::setenv("WATCHDOG_USEC", "3000000", 1);
  ::setenv("WATCHDOG_PID", "1", 1);
  EXPECT_EQ(Notifier().watchdog_interval().count(), 0) << "meant for another process";
}

}  // namespace
}  // namespace dtl::notify_test
