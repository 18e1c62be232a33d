#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "launcher/options/command_line.h"
#include "launcher/options/options.h"

// What --help says, and that all of it is taken.

namespace dtl::help_test {
namespace {

using Words = std::vector<std::string>;
using testing::HasSubstr;

TEST(Help, NamesEveryOptionWithinEightyColumns) {
  const std::string text = help_text();
  for (const std::string& line : split(text, '\n')) EXPECT_LE(line.size(), 80U) << line;
  for (const Option& option : option_table().options()) {
    for (const std::string_view name : option.names) {
      EXPECT_THAT(text, HasSubstr(std::string(name)));
    }
  }
}

std::string good_value(std::string_view option) {
  if (option == "--compat") return "ompi";
  if (option == "--preload") return "jemalloc";
  if (option == "--port-range") return "1:2";
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
