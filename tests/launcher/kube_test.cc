// The text of manifests, and the names that go into them. Whole manifests: tests/e2e/kube.sh.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "launcher/kube/kube_names.h"
#include "launcher/kube/pod.h"
#include "launcher/kube/yaml.h"

namespace dtl::kube_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string written(const std::string& text) {
  Yaml page;
  page["x"] = text;
  return page.document();
}

TEST(Yaml, QuotesWhatCouldBeTakenForSomethingElse) {
  EXPECT_EQ(written("train.py"), "x: train.py\n");
  EXPECT_EQ(written("--lr=2e-5"), "x: --lr=2e-5\n");
  EXPECT_EQ(written("registry.example/a:1"), "x: registry.example/a:1\n");
  for (const char* word :
       {"",     "8",  "16Gi", "1e3", "true", "No",  "null", "-",  "--", "-1", ".5", "a: b",
        "a #b", "*a", "&a",   "!a",  "[a]",  "{a}", "a,b",  "%a", "@a", "x:", "~",  "?"}) {
    EXPECT_EQ(written(word), std::string("x: \"") + word + "\"\n");
  }
  EXPECT_EQ(written("a\"b\\c\nd\te\x01"), "x: \"a\\\"b\\\\c\\nd\\te\\x01\"\n");
  EXPECT_EQ(written("é"), "x: \"é\"\n");
}

TEST(Yaml, RefusesWhatIsNoText) {
  EXPECT_THROW(written("\xff"), Error);
  EXPECT_THROW(written("\u202e"), Error);  // turns the line around
}

TEST(Yaml, KeepsTheOrderAndPutsShortListsInOneLine) {
  Yaml page;
  page["b"]["d"] = std::vector<std::string>{"x", "1"};
  page["a"] = 2;
  page["a"].comment("why");
  Yaml item;
  item["name"] = "it";
  item["none"] = Yaml();
  page["list"].add(item);
  EXPECT_EQ(page.document(), "b:\n  d: [x, \"1\"]\n# why\na: 2\nlist:\n- name: it\n  none: {}\n");
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

TEST(Pod, ArgumentsKeepTheirDollars) {
  EXPECT_THAT(escaped_for_pods({"$(HOME)", "$$", "a"}), ElementsAre("$$(HOME)", "$$$$", "a"));
}

}  // namespace
}  // namespace dtl::kube_test
