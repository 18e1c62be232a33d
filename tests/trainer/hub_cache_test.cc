#include "trainer/job/hub_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/error.h"

namespace dtl::trainer::hub_cache_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kCommit = "86b5e0934494bd15c9632b12f734a8a67f723594";

class HubCache : public testing::Test {
 protected:
  HubCache() {
    std::string name = testing::TempDir() + "/hub.XXXXXX";
    folder_ = ::mkdtemp(name.data());
    write("models--google-bert--bert-base-uncased/refs/main", kCommit);
    write(
        "models--google-bert--bert-base-uncased/snapshots/" + std::string(kCommit) + "/config.json",
        "{}");
    write("models--google-bert--bert-base-uncased/snapshots/" + std::string(kCommit) + "/weights",
          "");
  }
  ~HubCache() override { fs::remove_all(folder_); }

  void write(const std::string& path, const std::string& text) const {
    fs::create_directories(fs::path(folder_ + "/" + path).parent_path());
    std::ofstream(folder_ + "/" + path) << text;
  }
  std::string found(const std::string& name, const std::string& revision = "main") const {
    try {
      return find_model({name, revision, folder_},
                        [](const std::string& folder) { return fs::exists(folder + "/weights"); });
    } catch (const Error& error) {
      return error.what();
    }
  }

  std::string folder_;
};

TEST_F(HubCache, FindsTheSnapshotOfABranchAndOfACommit) {
  const std::string snapshot =
      folder_ + "/models--google-bert--bert-base-uncased/snapshots/" + kCommit;
  EXPECT_EQ(found("google-bert/bert-base-uncased"), snapshot);
  EXPECT_EQ(found("google-bert/bert-base-uncased", kCommit), snapshot);
}

TEST_F(HubCache, TakesAFolderFirst) {
  EXPECT_EQ(found(folder_), folder_);
}

TEST_F(HubCache, SaysHowToDownloadWhatItLacks) {
  EXPECT_THAT(
      found("bert-base-uncased"),
      HasSubstr("dttrain downloads nothing. Try: hf download bert-base-uncased --cache-dir "));
  EXPECT_THAT(found("google-bert/bert-base-uncased", "v2"), HasSubstr(" --revision v2"));
  EXPECT_THAT(found("org/model"), HasSubstr("Try: hf download org/model"));
}

// These are names of the hub as well, but hardly meant so.
TEST_F(HubCache, SaysThatAFolderIsMissing) {
  for (const char* name :
       {"model", "out/model", "./no/such/folder", "a/b/c", "../no/bert", "/no/m"}) {
    EXPECT_THAT(found(name),
                HasSubstr(std::string(name) + ": cannot use this model: there is no such folder"));
    EXPECT_THAT(found(name), Not(HasSubstr("hf download")));
  }
  EXPECT_THAT(found(folder_ + "/none"), AllOf(HasSubstr("a model's folder holds config.json, "),
                                              HasSubstr(". Try: dttrain init --help")));
}

TEST_F(HubCache, NamesModelsInFoldersNearby) {
  for (const char* name : {"w/out/model", "w/a", "w/b", "w/c"}) {
    write(std::string(name) + "/config.json", "{}");
  }
  const std::string w = folder_ + "/w/";
  EXPECT_EQ(found(w + "mdel"),
            w + "mdel: cannot use this model: there is no such folder, but there is " + w + "a, " +
                w + "b, " + w +
                "c and 1 more. Try: "
                "--model_name_or_path " +
                w + "a");
  EXPECT_THAT(
      found(w + "out/mdel"),
      HasSubstr("but there is " + w + "out/model. Try: --model_name_or_path " + w + "out/model"));
}

TEST_F(HubCache, WantsTheWeightsAsWell) {
  write("models--b/refs/main", "1");
  write("models--b/snapshots/1/config.json", "{}");
  EXPECT_THAT(found("b"), HasSubstr("has no weights of it; dttrain downloads nothing. Try: hf "
                                    "download b --cache-dir "));
}

TEST_F(HubCache, IsWhereHuggingFaceHubHasIt) {
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"}) {
    ::unsetenv(name);
  }
  ::setenv("HOME", "/h", 1);
  EXPECT_EQ(hub_cache_folder(), "/h/.cache/huggingface/hub");
  ::setenv("XDG_CACHE_HOME", "/x", 1);
  EXPECT_EQ(hub_cache_folder(), "/x/huggingface/hub");
  ::setenv("HF_HOME", "~/f", 1);
  EXPECT_EQ(hub_cache_folder(), "/h/f/hub");
  ::setenv("HF_HUB_CACHE", "/c", 1);
  EXPECT_EQ(hub_cache_folder(), "/c");
}

}  // namespace
}  // namespace dtl::trainer::hub_cache_test
