#include "base/files/new_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <utime.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace dtl::new_file_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class NewFileTest : public ::testing::Test {
 protected:
  NewFileTest() {
    char pattern[] = "/tmp/dtl-new-file-XXXXXX";
    folder_ = ::mkdtemp(pattern);
  }
  ~NewFileTest() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void put(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
  }
  std::string text_of(const std::string& name) const { return read_file(path(name), 1 << 20); }
  std::ptrdiff_t files() const {
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator());
  }
  std::string refusal(const std::string& name) const {
    try {
      write_file_atomically(name, "text");
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }

  std::string folder_;
};

TEST_F(NewFileTest, TakesThePlaceOfAnotherOnlyWhenItIsKept) {
  put("report", "old");
  {
    NewFile file(path("report"));
    write_all(file.fd(), "new");
    EXPECT_EQ(text_of("report"), "old");
    EXPECT_EQ(files(), 2);
  }
  EXPECT_EQ(text_of("report"), "old");
  EXPECT_EQ(files(), 1);
  write_private_file_atomically(path("report"), "new");
  EXPECT_EQ(text_of("report"), "new");
  EXPECT_EQ(files(), 1);
  EXPECT_EQ(fs::status(path("report")).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(NewFileTest, LeavesTheUsersOwnFilesAlone) {
  put("report.tmp", "mine");
  put("report.0123456789abcdef.tmp", "mine, too");  // written just now
  write_file_atomically(path("report"), "new");
  EXPECT_EQ(text_of("report.tmp"), "mine");
  EXPECT_EQ(text_of("report.0123456789abcdef.tmp"), "mine, too");
}

TEST_F(NewFileTest, RemovesWhatAKilledProcessLeft) {
  put("report.0123456789abcdef.tmp", "half");
  put("report.0123456789abcdef.tmp.txt", "mine");
  const utimbuf long_ago{std::time(nullptr) - 3600, std::time(nullptr) - 3600};
  ASSERT_EQ(::utime(path("report.0123456789abcdef.tmp").c_str(), &long_ago), 0);
  const NewFile other(path("report"));
  EXPECT_FALSE(fs::exists(path("report.0123456789abcdef.tmp")));
  EXPECT_TRUE(fs::exists(path("report.0123456789abcdef.tmp.txt")));
  EXPECT_EQ(files(), 2);
  // A process that still writes holds a lock, however long ago it began.
  for (const auto& entry : fs::directory_iterator(folder_)) {
    ASSERT_EQ(::utime(entry.path().c_str(), &long_ago), 0);
  }
  const NewFile another(path("report"));
  EXPECT_EQ(files(), 3);
}

TEST_F(NewFileTest, MayHaveALongName) {
  for (const std::size_t length : {200, 234, 235, 255}) {
    const std::string name(length, 'x');
    write_file_atomically(path(name), "new");
    EXPECT_EQ(text_of(name), "new");
    EXPECT_EQ(files(), 1);
    fs::remove(path(name));
  }
}

TEST_F(NewFileTest, IsNotLedElsewhereByLinks) {
  put("precious", "old");
  fs::create_symlink(path("precious"), path("link"));
  write_file_atomically(path("link"), "new");
  EXPECT_EQ(text_of("precious"), "old");
  EXPECT_EQ(text_of("link"), "new");
  fs::create_symlink("/dev/null", path("nothing"));
  write_file_atomically(path("nothing"), "new");
  EXPECT_TRUE(fs::is_symlink(path("nothing")));
}

TEST_F(NewFileTest, WritesToDevicesAndPipesAndReplacesNone) {
  write_file_atomically("/dev/null", "text");
  check_new_file("/dev/null");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(refusal(path("pipe")), HasSubstr("cannot write"));  // the pipe has no reader
  const Fd reader(::open(path("pipe").c_str(), O_RDONLY | O_NONBLOCK));
  check_new_file(path("pipe"));
  write_file_atomically(path("pipe"), "text");
  char bytes[8];
  EXPECT_EQ(::read(reader.get(), bytes, sizeof bytes), 4);
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
  EXPECT_EQ(files(), 1);
}

TEST_F(NewFileTest, WritesToADescriptorWhereItStands) {
  const Fd file(::open(path("log").c_str(), O_WRONLY | O_CREAT, 0600));
  write_all(file.get(), "before ");
  const std::string own = "/proc/self/fd/" + std::to_string(file.get());
  write_file_atomically(own, "one ");
  write_file_atomically("/dev/fd/" + std::to_string(file.get()), "two ");
  write_all(file.get(), "after");
  EXPECT_EQ(text_of("log"), "before one two after");
  EXPECT_THAT(refusal("/dev/fd/9999"), HasSubstr("/dev/fd/9999: cannot write"));
}

TEST_F(NewFileTest, RefusesFoldersAndDisks) {
  EXPECT_THAT(refusal(folder_), HasSubstr("a directory, not a file. Try: ls "));
  EXPECT_THROW(check_new_file(folder_), Error);
  EXPECT_THROW(check_new_file(path("none/report")), Error);
  EXPECT_THROW(check_new_file("/dev/none/report"), Error);
  if (::mknod(path("disk").c_str(), S_IFBLK | 0600, makedev(240, 77)) != 0) {
    GTEST_SKIP() << "nodes of devices cannot be made";
  }
  EXPECT_THAT(refusal(path("disk")), HasSubstr("a disk, not a file"));
  EXPECT_THROW(check_new_file(path("disk")), Error);
}

}  // namespace
}  // namespace dtl::new_file_test
