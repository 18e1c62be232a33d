#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "launcher/options/command_line.h"
#include "launcher/options/help.h"
#include "launcher/options/options.h"
#include "launcher/options/subcommands.h"
#include "launcher/request/job_file.h"
#include "plan/request/hostfile.h"

// The texts of --help, and that every option in them is accepted.

namespace dtl::help_test {
namespace {

using Words = std::vector<std::string>;
using testing::HasSubstr;

void expect_eighty_columns(const std::string& text) {
  for (const std::string& line : split(text, '\n')) EXPECT_LE(line.size(), 80U) << line;
}

TEST(Help, AllOfItNamesEveryOptionWithinEightyColumns) {
  const std::string text = help_all_text();
  expect_eighty_columns(text);
  for (const Option& option : option_table().options()) {
    for (const std::string_view name : option.names) {
      EXPECT_THAT(text, HasSubstr(std::string(name)));
    }
  }
}

TEST(Help, FitsAScreenAndNamesEveryCommandAndTopic) {
  const std::string text = help_text();
  expect_eighty_columns(text);
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 45);
  for (const Subcommand& subcommand : subcommand_table()) {
    EXPECT_THAT(text, HasSubstr("\n  dtlaunch " + std::string(subcommand.name) + " "));
  }
  for (const HelpTopic& topic : help_topics()) {
    EXPECT_THAT(text, HasSubstr(std::string(topic.name)));
  }
}

TEST(Help, OfSubmitFitsAScreen) {
  const std::string text = submit_help_text();
  expect_eighty_columns(text);
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 45);
  EXPECT_THAT(text, HasSubstr("\n  --wait [SECONDS]"));
}

TEST(Help, TopicsTogetherShowEveryOptionOnce) {
  std::size_t shown = 0;
  for (const HelpTopic& topic : help_topics()) {
    const std::string text = help_topic_text(std::string(topic.name));
    expect_eighty_columns(text);
    for (const Option& option : option_table().options()) {
      const std::string line = "\n  " + std::string(option.names.front());
      bool is_here = false;
      for (const char end : {',', ' ', '\n'}) is_here |= text.find(line + end) != text.npos;
      EXPECT_EQ(is_here, option.group == topic.group) << option.names.front();
      shown += is_here ? 1U : 0U;
    }
  }
  EXPECT_EQ(shown, option_table().options().size());
}

TEST(Help, UnknownTopicIsRefusedWithTheNearest) {
  try {
    help_topic_text("pining");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kUsage);
    EXPECT_EQ(error.hint(), "dtlaunch help pinning");
  }
}

TEST(Help, TopicsOfFilesShowFilesThatAreRead) {
  for (const std::string& topic : file_topics()) {
    const std::string text = help_topic_text(topic);
    expect_eighty_columns(text);
    const std::size_t from = text.find("\n\n") + 2;
    const std::string example = text.substr(from, text.find("\nKeys") - from);
    if (topic == "hostfile") {
      EXPECT_EQ(parse_hostfile(example, "hosts").size(), 6U);
    } else {
      EXPECT_EQ(parse_job_file(example, "job.toml").hosts.size(), 2U);
    }
  }
  const std::string text = help_topic_text("job-file");
  for (const Option& option : option_table().options()) {
    const std::string key = "\n  " + std::string(option.traits.key) + " ";
    EXPECT_TRUE(option.traits.key.empty() || text.find(key) != text.npos) << key;
  }
}

TEST(Help, OfAnOptionHasItsRow) {
  for (const Option& option : option_table().options()) {
    const std::string command = help_command(option), topic = "dtlaunch help ";
    const std::string text =
        command.starts_with(topic) ? help_topic_text(command.substr(topic.size())) : help_text();
    EXPECT_THAT(text, HasSubstr("\n  " + std::string(option.names.front()))) << command;
  }
}

TEST(Help, NamesTheHelpOfOtherPrograms) {
  const auto hint = [](const std::string& word) {
    try {
      return help_topic_text(word);
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  EXPECT_THAT(hint("dttrain"), testing::EndsWith("Try: dttrain --help"));
  EXPECT_THAT(hint(""), HasSubstr("help '': the topics are hosts, "));
}

std::string good_value(std::string_view option) {
  if (option == "--compat") return "ompi";
  if (option == "--preload") return "jemalloc";
  if (option == "--pmi") return "pmi1";
  if (option == "--port-range") return "1:2";
  if (option == "--history-size") return "1G";
  if (option == "-launcher" || option == "-bootstrap") return "fork";
  if (option == "--scheduler" || option == "--notice-signal") return "none";
  if (option == "--spot") return "off";
  if (option == "-genvlist" || option == "-envlist" || option == "-x") return "HOME";
  return "1";
}

TEST(Help, EveryNameInTheTableIsParsed) {
  for (const Option& option : option_table().options()) {
    for (const std::string_view name : option.names) {
      Words words = {std::string(name)};
      if (option.takes == Takes::kValue) words.push_back(good_value(name));
      if (option.takes == Takes::kVariable) words.push_back("A=1");
      EXPECT_NO_THROW(parse_command_line(words)) << name;
    }
  }
}

}  // namespace
}  // namespace dtl::help_test
