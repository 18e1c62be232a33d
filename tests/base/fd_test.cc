#include "base/fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

namespace dtl::fd_test {
namespace {

// Reads whatever a full pipe holds and continues writing.
std::string pass_through(GatheredWrite& write, const Pipe& pipe) {
  set_nonblocking(pipe.write_end.get());
  set_nonblocking(pipe.read_end.get());
  std::string seen;
  char buffer[4096];
  for (ssize_t n = 1; write.left() > 0 || n > 0;) {
    const int problem = write.left() > 0 ? write.write_some(pipe.write_end.get()) : 0;
    EXPECT_TRUE(problem == 0 || problem == EAGAIN) << problem;
    n = ::read(pipe.read_end.get(), buffer, sizeof buffer);
    if (n > 0) seen.append(buffer, static_cast<std::size_t>(n));
  }
  return seen;
}

TEST(GatheredWrite, WritesAllPiecesInOrder) {
  std::vector<std::string> pieces;
  std::string all;
  for (int i = 0; i < 3 * IOV_MAX; ++i)
    pieces.emplace_back(static_cast<std::size_t>(i % 100), 'a' + i % 26);
  pieces.emplace_back(300'000, 'z');  // more than a pipe holds
  GatheredWrite write;
  for (const std::string& piece : pieces) {
    write.add(piece);
    all += piece;
  }
  EXPECT_EQ(write.left(), all.size());
  EXPECT_TRUE(pass_through(write, make_pipe()) == all);
}

TEST(GatheredWrite, TellsWhatIsLeftWhenItCannotGoOn) {
  const Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  GatheredWrite write;
  write.add("text");
  EXPECT_EQ(write.write_some(full.get()), ENOSPC);
  EXPECT_EQ(write.left(), 4u);
}

}  // namespace
}  // namespace dtl::fd_test
