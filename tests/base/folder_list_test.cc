#include "base/folders/folder_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace dtl::folder_list_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

FolderRequest odd_request() {
  FolderRequest request{"/home/ann/my work", ".dtlaunch-proof.7.ab.node1", "synced-work-1",
                        "/usr/bin/python3.11", "3.11"};
  request.entries = {
      {EntryKind::kFile, "a file with\na line end", 0755, 12, 1'700'000'000'123'456'789},
      {EntryKind::kFile, "-n", 0600, 0, 0},
      {EntryKind::kFile, "\xff\xfe", 0644, 5'000'000'000, 1},
      {EntryKind::kLink, "deep/down/link", 0, 0, 0, "../a file with\na line end"},
      {EntryKind::kEmptyFolder, "empty one"},
  };
  return request;
}

TEST(FolderList, ComesBackAsItWasWithAnyNames) {
  const FolderRequest request = odd_request();
  EXPECT_EQ(parse_folder_request(folder_request_text(request)), request);
}

TEST(FolderList, RefusesAListThatEndsTooEarly) {
  const std::string text = folder_request_text(odd_request());
  // A shorter list of whole entries is a list as well.
  for (std::size_t size = 0; size < text.size(); ++size) {
    try {
      const FolderRequest part = parse_folder_request(text.substr(0, size));
      EXPECT_EQ(folder_request_text(part), text.substr(0, size));
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Exit::kIo);
    }
  }
  EXPECT_THROW(parse_folder_request(text.substr(0, text.size() - 1)), Error);
}

TEST(FolderList, RefusesPathsThatLeaveTheFolder) {
  for (const char* path : {"", "/etc/passwd", "..", "../a", "a/../../b", "a//b", "./a", "a/.", "a/",
                           ".dtlaunch-sync", ".dtlaunch-sync/record", ".dtlaunch-proof.1.a.b"}) {
    EXPECT_FALSE(is_inner_path(path)) << path;
    FolderRequest request = odd_request();
    request.entries[0].path = path;
    EXPECT_THROW(parse_folder_request(folder_request_text(request)), Error) << path;
  }
  EXPECT_FALSE(is_inner_path(std::string("a\0b", 3)));
  EXPECT_TRUE(is_inner_path("..a/b.."));
}

TEST(FolderList, RefusesNamesThatArePaths) {
  for (const char* name : {"../proof", "..", "a/b"}) {
    FolderRequest request = odd_request();
    request.proof = name;
    EXPECT_THROW(parse_folder_request(folder_request_text(request)), Error) << name;
    request = odd_request();
    request.elsewhere = name;
    EXPECT_THROW(parse_folder_request(folder_request_text(request)), Error) << name;
  }
  FolderRequest request = odd_request();
  request.root = "relative";
  EXPECT_THROW(parse_folder_request(folder_request_text(request)), Error);
}

bool out(const std::string& path, const std::string& target) {
  return leads_out({EntryKind::kLink, path, 0, 0, 0, target});
}

TEST(FolderList, KnowsLinksThatLeadOut) {
  EXPECT_FALSE(out("a", "b"));
  EXPECT_FALSE(out("x/a", "../b"));
  EXPECT_FALSE(out("x/y/a", "../../b/c"));
  EXPECT_FALSE(out("a", "x/../b"));
  EXPECT_TRUE(out("a", "/data"));
  EXPECT_TRUE(out("a", "../b"));
  EXPECT_TRUE(out("x/a", "../../b"));
  EXPECT_TRUE(out("x/a", "../../x/a2"));
}

TEST(FolderList, NamesMissingEntriesInRanges) {
  EXPECT_EQ(wanted_text({}), "none");
  EXPECT_EQ(wanted_text({0, 1, 2, 4, 7, 8}), "0-2,4,7-8");
  EXPECT_THAT(parse_wanted("none", 3), IsEmpty());
  EXPECT_THAT(parse_wanted("0-2,4,7-8", 9), ElementsAre(0, 1, 2, 4, 7, 8));
  // A host must not be able to ask for anything twice, or for what is not in the list.
  for (const char* text : {"", "3", "0-3", "2,1", "1-0", "0,0", "-1", "0-", "a", "0 1"}) {
    EXPECT_THROW(parse_wanted(text, 3), Error) << text;
  }
  EXPECT_THROW(parse_wanted("0", 0), Error);
}

}  // namespace
}  // namespace dtl::folder_list_test
