// The text of manifests and the names in them. tests/e2e/kube.sh tests whole manifests.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "launcher/kube/kube_names.h"
#include "launcher/kube/manifest.h"
#include "launcher/kube/yaml.h"

namespace dtl::kube_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::string written(const std::string& text) {
  return yaml_of(nlohmann::json{{"x", text}}.dump());
}

TEST(Yaml, QuotesWhatCouldBeTakenForSomethingElse) {
  EXPECT_EQ(written("train.py"), "x: train.py\n");
  EXPECT_EQ(written("--lr=2e-5"), "x: --lr=2e-5\n");
  EXPECT_EQ(written("registry.example/a:1"), "x: registry.example/a:1\n");
  for (const char* word :
       {"",     "8",          "16Gi",     "1e3",  "true", "No", "null", "-",   "--",
        "-1",   ".5",         "a: b",     "a #b", "*a",   "&a", "!a",   "[a]", "{a}",
        "a,b",  "%a",         "@a",       "x:",   "~",    "?",  "yes",  "y",   "On",
        "0x10", "2026-11-28", "12:30:45", "<<",   "---a", "#a"}) {
    EXPECT_EQ(written(word), std::string("x: \"") + word + "\"\n");
  }
  EXPECT_EQ(written("a\"b\\c\td\x01"), "x: \"a\\\"b\\\\c\\td\\u0001\"\n");
  EXPECT_EQ(written("é"), "x: \"é\"\n");
}

TEST(Yaml, WritesScriptsAsBlocks) {
  EXPECT_EQ(written("set -e\n\nif a; then\n  b: #c\nfi\n"),
            "x: |\n  set -e\n\n  if a; then\n    b: #c\n  fi\n");
  EXPECT_EQ(written("a\n\tb"), "x: |-\n  a\n  \tb\n");
  EXPECT_EQ(yaml_of(R"({"args": ["-c", "a\nb\n"]})"), "args:\n- -c\n- |\n  a\n  b\n");
  for (const char* text : {" a\nb", "\na", "a\n\n", "a\r\nb"}) {  // a block would lose some
    EXPECT_THAT(written(text), testing::MatchesRegex("x: \"[^\n]*\"\n"));
  }
}

TEST(Yaml, RefusesWhatIsNoText) {
  EXPECT_THROW(written("\ufffd"), Error);  // replacement character of invalid bytes
  EXPECT_THROW(written("\u202e"), Error);  // reverses the line
}

TEST(Yaml, KeepsTheOrderAndPutsShortListsInOneLine) {
  EXPECT_EQ(yaml_of(R"({"b": {"d": ["x", "1"]}, "# why": null, "a": 2,
                        "list": [{"name": "it", "none": {}}, "x", true]})"),
            "b:\n  d: [x, \"1\"]\n# why\na: 2\nlist:\n- name: it\n  none: {}\n- x\n- true\n");
}

TEST(KubeNames, OfJobsAreLabelsWithRoomForPods) {
  EXPECT_THAT(check_label("bert-base", 9), IsEmpty());
  EXPECT_THAT(check_label("a", 0), IsEmpty());
  for (const char* name : {"", "Bert", "3d", "-a", "a-", "a.b", "a_b", "a b", "é"}) {
    EXPECT_FALSE(check_label(name).empty()) << name;
  }
  EXPECT_THAT(check_label(std::string(54, 'a'), 9), IsEmpty());
  EXPECT_THAT(check_label(std::string(55, 'a'), 9), HasSubstr("54 is the most"));
}

TEST(KubeNames, OfNamespacesSecretsAndImages) {
  EXPECT_THAT(check_namespace("3d"), IsEmpty());
  EXPECT_FALSE(check_namespace("a.b").empty());
  EXPECT_THAT(check_object_name("a.b-c.d"), IsEmpty());
  for (const char* name : {"", "a..b", ".a", "a.", "A", "a/b"}) {
    EXPECT_FALSE(check_object_name(name).empty()) << name;
  }
  EXPECT_THAT(check_image("registry.example:5000/Team/a_b:v1@sha256:00ff"), IsEmpty());
  for (const char* name : {"", "a b", "a:", "-a", "a\nb", "$(A)", "a/"}) {
    EXPECT_FALSE(check_image(name).empty()) << name;
  }
}

TEST(KubeNames, AmountsOfMemory) {
  EXPECT_EQ(parse_memory("16Gi"), 16.0 * (1 << 30));
  EXPECT_EQ(parse_memory("1.5k"), 1500);
  EXPECT_EQ(parse_memory("2M"), 2e6);
  EXPECT_EQ(parse_memory("7"), 7);
  for (const char* text :
       {"", "Gi", "16GB", "16gi", "16K", "-1Gi", "1.2.3G", ".5G", "1e9", "16 Gi"}) {
    EXPECT_FALSE(parse_memory(text).has_value()) << text;
  }
}

TEST(Manifest, ArgumentsKeepTheirDollars) {
  KubeJob job;
  job.arguments = {"$(HOME)", "$$", "a"};
  EXPECT_THAT(manifest_of(job), HasSubstr("args: [\"$$(HOME)\", \"$$$$\", a]\n"));
}

}  // namespace
}  // namespace dtl::kube_test
