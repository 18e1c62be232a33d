#include "plan/container.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"

namespace dtl::container_test {
namespace {

using testing::ElementsAre;

std::string refusal(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return std::to_string(static_cast<int>(error.status())) + " " + error.what();
  }
  return "";
}

ContainerAnswer answer(const std::string& host, const std::string& text) {
  ContainerAnswer given;
  given.host.name = host;
  given.told = true;
  given.text = text;
  return given;
}

std::string judged(const ContainerAnswer& second) {
  return refusal([&] { judge_container("team/solver:2", {answer("node1", ""), second}); });
}

TEST(Container, TakesTheNamesOfImages) {
  for (const char* name : {"solver", "localhost/solver:1", "ghcr.io/a/b_c@sha256:0f", "h:5000/x"}) {
    EXPECT_EQ(parse_image(name), name);
  }
}

// An option of podman in the place of an image would change what podman does.
TEST(Container, RefusesOtherWords) {
  for (const char* name : {"", "--privileged", "-v", "a b", "a;b", "./image.tar", "a\nb"}) {
    EXPECT_THROW(parse_image(name), Error) << name;
  }
}

TEST(Container, ListsEachWorkingFolderOnce) {
  Request request;
  request.programs.resize(3);
  request.programs[0].working_directory = request.programs[2].working_directory = "/work";
  request.programs[1].working_directory = "/data";
  EXPECT_THAT(container_folders(request), ElementsAre("/work", "/data"));
  request.programs[1].working_directory = "/";
  EXPECT_EQ(refusal([&] { container_folders(request); }),
            "64 --container: the working folder would hide the image's files: it is /. Try: -wdir "
            "with the folder of your files");
}

TEST(Container, AcceptsNodesThatCanRunIt) {
  EXPECT_EQ(judged(answer("node2", "")), "");
}

TEST(Container, SaysHowToGetTheImageToTheHost) {
  EXPECT_EQ(judged(answer("node2", "no-image")),
            "78 node2: --container team/solver:2: podman does not have this image there. Try: ssh "
            "node2 podman pull team/solver:2");
}

TEST(Container, NamesAllHostsThatLackTheImage) {
  EXPECT_EQ(refusal([] {
              judge_container("team/solver:2", {answer("node1", "no-image"), answer("node3", ""),
                                                answer("node2", "no-image")});
            }),
            "78 node[1-2]: --container team/solver:2: podman does not have this image there. Try: "
            "ssh node1 podman pull team/solver:2");
}

TEST(Container, NamesTheHostWithoutPodman) {
  EXPECT_EQ(judged(answer("node2", "no-podman")),
            "78 node2: --container team/solver:2: this host has no podman. Try: apt-get install "
            "podman, there");
}

TEST(Container, ShowsPodmansOwnReasonWithoutControlBytes) {
  EXPECT_EQ(judged(answer("node2", "failed crun: no\033[1m space")),
            "78 node2: --container team/solver:2: crun: no\\x1b[1m space. Try: ssh node2 podman "
            "run --rm team/solver:2 true");
}

// An agent that ignores the question would run the ranks outside.
TEST(Container, RefusesAgentsThatDoNotAnswer) {
  ContainerAnswer silent;
  silent.host.name = "node2";
  EXPECT_EQ(judged(silent),
            "76 node2: --container team/solver:2: dtagent there does not know this option. Try: "
            "dtlaunch --push");
}

}  // namespace
}  // namespace dtl::container_test
