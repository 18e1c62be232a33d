// Option tables: arguments, spellings, values, and the effects of each row.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/options/option_table.h"

namespace dtl::options_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Words = std::vector<std::string>;

struct Inner {
  std::optional<int> ranks;
};
struct Given {
  Inner inner;
  bool loud = false;
  int verbosity = 0;
  std::string file, color = "auto", resume;
  double rate = 0;
  std::int64_t size = -1;
};

const OptionTable<Given>& table() {
  static const OptionTable<Given> kTable(std::vector<OptionRow<Given>>{
      {"Where",
       {"-n", "-np"},
       "N",
       "how many",
       into::whole<&Given::inner, &Inner::ranks>(1, 9),
       {.key = "ranks"}},
      {"Where", {"-f", "--file"}, "FILE", "two\nlines", into::text<&Given::file>()},
      {"How", {"--loud"}, "", "say it", into::flag<&Given::loud>()},
      {"How",
       {"-v", "--verbose"},
       "",
       "more",
       into::count<&Given::verbosity>(),
       {.repeatable = true}},
      {"How", {"--color"}, "auto|always", "of it", into::word<&Given::color>()},
      {"How",
       {"--resume_from"},
       "FOLDER|true",
       "where",
       into::text<&Given::resume>(Takes::kPerhapsValue)},
      {"How", {"--rate"}, "X", "a rate", into::real<&Given::rate>(0, 1e30)},
      {"How", {"--size"}, "N", "a size", into::whole<&Given::size>(0, std::int64_t{1} << 40)},
      {"How", {"--words"}, "WORD ...", "several", {Takes::kWords, into::text<&Given::file>().set}},
      {"How",
       {"--wait"},
       "[SECONDS]",
       "perhaps this long",
       {Takes::kPerhapsNumber, into::text<&Given::resume>().set}},
  });
  return kTable;
}

const Manner kHugging{.help = "p --help", .last_wins = true, .true_or_false = true};

Given parse(const Words& words, const Manner& manner = kHugging) {
  Given given;
  table().apply(read_option_words(table().options(), words, manner).options, given, "p --help");
  return given;
}

std::string refusal(const Words& words, const Manner& manner = kHugging) {
  try {
    parse(words, manner);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kUsage);
    return error.what();
  }
  return "no error";
}

TEST(Options, PutValuesIntoTheirPlaces) {
  const Given given = parse(
      {"-n", "3", "--file=a=b", "--loud", "--color", "always", "--rate", "1e-4", "--size", "7"});
  EXPECT_EQ(given.inner.ranks, 3);
  EXPECT_EQ(given.file, "a=b");
  EXPECT_TRUE(given.loud);
  EXPECT_EQ(given.color, "always");
  EXPECT_EQ(given.rate, 1e-4);
  EXPECT_EQ(given.size, 7);
}

TEST(Options, GiveBackWhatWasSaid) {
  const Given given = parse({"--rate", "0.5", "--loud"});
  const auto value = [&](std::string_view name) {
    return table().target(*find_option(table().options(), name)).get(given);
  };
  EXPECT_EQ(value("--rate"), OptionValue(0.5));
  EXPECT_EQ(value("--loud"), OptionValue(true));
  EXPECT_EQ(value("--size"), OptionValue());
  EXPECT_EQ(value("-np"), OptionValue());
}

TEST(Options, SayWhatIsWrongWithAValue) {
  EXPECT_EQ(refusal({"-n", "10"}), "-n 10: too large (1 to 9). Try: p --help");
  EXPECT_EQ(refusal({"-n", "0"}), "-n 0: too small (1 to 9). Try: p --help");
  EXPECT_EQ(refusal({"-n", "-99999999999999999999"}),
            "-n -99999999999999999999: too small (1 to 9). Try: p --help");
  EXPECT_EQ(refusal({"-n", "2x"}), "-n 2x: not a whole number (1 to 9). Try: p --help");
  EXPECT_EQ(refusal({"--color", "alway"}),
            "--color alway: not one of auto, always. Try: --color always");
  EXPECT_EQ(refusal({"--color", "AUTO"}),
            "--color AUTO: not one of auto, always. Try: --color auto");
  EXPECT_EQ(refusal({"--color", "red"}), "--color red: not one of auto, always. Try: p --help");
  EXPECT_EQ(refusal({"--rate", "-1"}), "--rate -1: too small (0 or more). Try: p --help");
  EXPECT_EQ(refusal({"--rate", "1e999"}), "--rate 1e999: too large (0 or more). Try: p --help");
  EXPECT_EQ(refusal({"--rate", "inf"}), "--rate inf: not a number (0 or more). Try: p --help");
  EXPECT_EQ(refusal({"--rate", "nan"}), "--rate nan: not a number (0 or more). Try: p --help");
  EXPECT_EQ(refusal({"--size", "1e3"}),
            "--size 1e3: not a whole number (0 or more). Try: p --help");
  EXPECT_EQ(refusal({"--loud=2"}), "--loud=2: neither true nor false. Try: p --help");
  EXPECT_EQ(refusal({"--loud=2"}, {.help = "p --help"}), "--loud=2: takes no value. Try: --loud");
  EXPECT_EQ(refusal({"--file", "--loud"}),
            "--file: needs FILE, and --loud is an option. Try: --file FILE --loud");
  EXPECT_EQ(refusal({"--file"}), "--file: needs FILE. Try: p --help");
  EXPECT_EQ(refusal({"--file", ""}), "--file '': the value is empty. Try: --file FILE");
  EXPECT_EQ(refusal({"--fil", "x"}), "--fil: unknown option. Try: --file");
  EXPECT_EQ(refusal({"--zzzzzz"}), "--zzzzzz: unknown option. Try: p --help");
}

TEST(Options, NameThePlaceOfAValueInAFile) {
  Given given;
  const Option* ranks = find_option(table().options(), "-np");
  try {
    table().apply({{ranks, "0", "ranks", "job.toml:3"}}, given, "");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kBadInput);
    EXPECT_STREQ(error.what(), "job.toml:3: ranks = 0: too small (1 to 9)");
  }
}

TEST(Options, TakeTrueAndFalseAsArgparseDoes) {
  EXPECT_TRUE(parse({"--loud", "True"}).loud);
  EXPECT_FALSE(parse({"--loud", "False"}).loud);
  EXPECT_FALSE(parse({"--loud=false"}).loud);
  EXPECT_FALSE(parse({"--loud", "No"}).loud);
  EXPECT_TRUE(parse({"--loud=1"}).loud);
  EXPECT_TRUE(parse({"--loud", "--file", "yes"}).loud);
  EXPECT_EQ(parse({"--resume-from"}).resume, "true");
  EXPECT_EQ(parse({"--resume_from", "False"}).resume, "false");
  EXPECT_EQ(parse({"--resume_from", "c/3", "--loud"}).resume, "c/3");
  EXPECT_EQ(parse({"--resume_from", "--loud"}).resume, "true");
  EXPECT_EQ(parse({"-n", "2", "-n", "3"}).inner.ranks, 3);
}

TEST(Options, TakeMpirunsSpellings) {
  const Manner mpirun{.help = "p --help", .spelling = Spelling::kMpirun, .options_first = true};
  const OptionWords words =
      read_option_words(table().options(), {"--NP=2", "-vv", "-loud", "prog", "-n", "9"}, mpirun);
  EXPECT_THAT(words.rest, ElementsAre("prog", "-n", "9"));
  EXPECT_EQ(words.options.size(), 4u);
  EXPECT_TRUE(words.has("-np"));
  EXPECT_EQ(canonical_form(words.options[0]), "--np=2");
  EXPECT_THAT(refusal({"-n", "2", "-np", "3"}, mpirun), HasSubstr("given twice (first as -n 2)"));
  EXPECT_THAT(refusal({"-N", "2"}, mpirun), HasSubstr("-N: unknown option"));
}

TEST(Options, TakeAllWordsUpToTheNextOption) {
  EXPECT_EQ(parse({"--words", "a", "b", "--loud"}).file, "a,b");
  EXPECT_EQ(parse({"--words=a", "--loud"}).file, "a");
  EXPECT_THAT(refusal({"--words"}), HasSubstr("needs WORD ..."));
  EXPECT_EQ(completed(table().options()[8]).follows, Follows::kValue);
}

TEST(Options, TakeLettersAsGetoptDoes) {
  const Manner getopt{.help = "p --help", .last_wins = true, .letters = true};
  const OptionWords words =
      read_option_words(table().options(), {"one", "-n5", "-vf", "x", "--lou", "--", "-n"}, getopt);
  EXPECT_THAT(words.rest, ElementsAre("one", "-n"));
  ASSERT_EQ(words.options.size(), 4u);
  EXPECT_EQ(words.options[0].value, "5");
  EXPECT_EQ(words.options[2].value, "x");
  EXPECT_EQ(words.options[3].option->names.back(), "--loud");
  EXPECT_THAT(refusal({"--r", "1"}, getopt), HasSubstr("--r: unknown option"));  // ambiguous
  EXPECT_THAT(refusal({"-vq"}, getopt), HasSubstr("-q: unknown option"));
}

TEST(Options, ShowHelp) {
  EXPECT_EQ(options_text(table().options().first(3), {.column = 18, .heading = ":"}),
            "\nWhere:\n"
            "  -n, -np N       how many\n"
            "  -f, --file FILE\n"
            "                  two\n"
            "                  lines\n"
            "\nHow:\n"
            "  --loud          say it\n");
}

TEST(Options, CompleteThemselves) {
  const CompletedOption file = completed(table().options()[1]);
  EXPECT_THAT(file.names, ElementsAre("-f", "--file"));
  EXPECT_EQ(file.help, "two lines");
  EXPECT_EQ(file.follows, Follows::kValue);
  EXPECT_EQ(file.value.fill, Fill::kFile);
  EXPECT_EQ(completed(table().options()[2]).follows, Follows::kNothing);
  EXPECT_THAT(completed(table().options()[4]).value.words, ElementsAre("auto", "always"));
  EXPECT_EQ(completed(table().options()[5]).follows, Follows::kPerhapsValue);
}

TEST(Options, HaveANumberForAValueOnlyIfItFollows) {
  const Manner manner{.help = "p --help"};
  const auto read = [&](const Words& words) {
    return read_option_words(table().options(), words, manner);
  };
  EXPECT_EQ(read({"--wait", "1.5"}).options.at(0).value, "1.5");
  EXPECT_EQ(read({"--wait=x"}).options.at(0).value, "x");
  for (const Words& words :
       {Words{"--wait"}, {"--wait", "a"}, {"--wait", ""}, {"--wait", "--loud"}}) {
    const OptionWords found = read(words);
    EXPECT_EQ(found.options.at(0).value, "");
    EXPECT_EQ(canonical_form(found.options.at(0)), "--wait");
  }
  EXPECT_THAT(read({"--wait", "a"}).rest, ElementsAre("a"));
  EXPECT_EQ(refusal({"--wait="}, manner), "--wait=: the value is empty. Try: --wait [SECONDS]");
  for (const std::string word : {"0", "600", ".5", "1e3", "10m", "2h"}) {
    EXPECT_TRUE(is_number_word(word)) << word;
  }
  for (const std::string word : {"", ".", "-1", "+1", "inf", "7z", "10min", "1 2"}) {
    EXPECT_FALSE(is_number_word(word)) << word;
  }
}

}  // namespace
}  // namespace dtl::options_test
