#include "launcher/schedulers/task_starter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/error.h"
#include "base/fd.h"
#include "base/files/new_file.h"

namespace dtl::task_starter_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

const std::string kToken(64, 'a');

class Tm : public testing::Test {
 protected:
  Tm() {
    std::string pattern = std::filesystem::temp_directory_path() / "dtl-tm-test.XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~Tm() override { std::filesystem::remove_all(folder_); }

  TaskStarterOptions options() const {
    TaskStarterOptions options;
    options.program = "/opt/pbs/bin/pbs_tmrsh";
    options.lines = {2, 5};
    options.command = {"/opt/dtlaunch", "tm-node"};
    options.meeting_host = "h1";
    options.job = "9.srv";
    options.environment = {{"HOME", folder_}, {"DTL_TOKEN", "secret"}, {"PBS_JOBID", "9.srv"}};
    return options;
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

  std::string folder_;
};

TEST_F(Tm, NamesTheHostToPbsTmrshAndItsLineToPbsdsh) {
  const std::vector<std::string> command = {"/opt/dtlaunch", "tm-node"};
  EXPECT_THAT(task_arguments("/opt/pbs/bin/pbs_tmrsh", "h2", 3, command),
              ElementsAre("/opt/pbs/bin/pbs_tmrsh", "h2", "/opt/dtlaunch", "tm-node"));
  EXPECT_THAT(task_arguments("/usr/bin/pbsdsh", "h2", 3, command),
              ElementsAre("/usr/bin/pbsdsh", "-n", "3", "--", "/opt/dtlaunch", "tm-node"));
}

TEST_F(Tm, TellsEachNodeWhatItNeedsAndNobodyTheToken) {
  TaskStarter starter(options());
  const StarterCommands made = starter.commands({"h2", "h3"}, 4711, kToken);
  ASSERT_EQ(made.commands.size(), 2u);
  const std::string path = made.commands[0].back();
  EXPECT_THAT(path, StartsWith(folder_ + "/.dtlaunch-token-"));
  EXPECT_THAT(made.commands[0], ElementsAre("/opt/pbs/bin/pbs_tmrsh", "h2", "/opt/dtlaunch",
                                            "tm-node", "h1", "4711", "9.srv", "h2", path));
  EXPECT_EQ(made.commands[1][1], "h3");
  for (const auto& command : made.commands) EXPECT_THAT(command, Not(Contains(HasSubstr(kToken))));
  EXPECT_THAT(made.environment, Contains("PBS_JOBID=9.srv"));
  EXPECT_THAT(made.environment, Not(Contains(StartsWith("DTL_TOKEN="))));
  const auto told = parse_task_node_words({made.commands[1].begin() + 4, made.commands[1].end()});
  ASSERT_TRUE(told);
  EXPECT_EQ(told->host, "h1");
  EXPECT_EQ(told->port, 4711);
  EXPECT_EQ(told->job, "9.srv");
  EXPECT_EQ(told->node, "h3");
  EXPECT_EQ(told->token_file, path);
}

TEST_F(Tm, TakesNoOtherWordsOnANode) {
  EXPECT_FALSE(parse_task_node_words({}));
  EXPECT_FALSE(parse_task_node_words({"h1", "0", "9", "h2", "/t"}));
  EXPECT_FALSE(parse_task_node_words({"h1", "70000", "9", "h2", "/t"}));
  EXPECT_FALSE(parse_task_node_words({"h1", "80", "9", "h2", "t"}));
  EXPECT_FALSE(parse_task_node_words({"h1", "80", "9", "h2", "/t", "more"}));
  EXPECT_TRUE(parse_task_node_words({"h1", "80", "", "h2", "/t"}));
}

TEST_F(Tm, KeepsTheTokenInAPrivateFileUntilAllHaveCome) {
  TaskStarter starter(options());
  const std::string path = starter.commands({"h2", "h3"}, 4711, kToken).commands[0].back();
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
  EXPECT_EQ(read_file(path, 4096), kToken + "\n");
  EXPECT_TRUE(is_token_file(path));
  starter.all_have_come();
  EXPECT_THAT(files(), IsEmpty());
  starter.all_have_come();
}

TEST_F(Tm, LeavesNoTokenBehind) {
  { TaskStarter(options()).commands({"h2", "h3"}, 4711, kToken); }
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(Tm, HasNodesReadTheUsersOwnFileAndLeavesIt) {
  const std::string own = folder_ + "/own";
  write_file_atomically(own, kToken);
  {
    TaskStarterOptions given = options();
    given.given_token_file = own;
    TaskStarter starter(given);
    EXPECT_EQ(starter.commands({"h2", "h3"}, 4711, kToken).commands[1].back(), own);
    EXPECT_FALSE(is_token_file(own));
    starter.all_have_come();
  }
  EXPECT_THAT(files(), ElementsAre("own"));
}

TEST_F(Tm, WritesTheTokenWhereNobodyElseMay) {
  const std::string shared = folder_ + "/shared", own = folder_ + "/own";
  std::filesystem::create_directory(shared);
  ::chmod(shared.c_str(), 0775);
  std::filesystem::create_directory(own);
  const Variables both = {{"HOME", own}, {"PBS_O_WORKDIR", shared}};
  EXPECT_THAT(shared_folders(both), ElementsAre(shared, own));
  TokenFile file;
  EXPECT_THAT(file.write(shared_folders(both), kToken), StartsWith(own));
  try {
    TokenFile().write({shared, folder_ + "/none"}, kToken);
    FAIL() << "written";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kCannotWrite);
    EXPECT_THAT(error.reason(), HasSubstr(shared + ": others may write there"));
    EXPECT_THAT(error.reason(), HasSubstr("none: No such file"));
    EXPECT_THAT(error.hint(), HasSubstr("DTL_TOKEN_FILE"));
  }
}

}  // namespace
}  // namespace dtl::task_starter_test
