#include "base/toml_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace dtl::toml_file_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::StartsWith;

TomlFile parse(const std::string& text) {
  return TomlFile::parse(text, "job.toml");
}

template <typename Act>
std::string error_of(const std::string& text, Act act) {
  try {
    TomlFile file = parse(text);
    act(file);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::kBadInput);
    return error.what();
  }
  return "no error";
}

std::string parse_error(const std::string& text) {
  return error_of(text, [](TomlFile&) {});
}

TEST(TomlFile, GivesValuesByDottedKey) {
  TomlFile file = parse("a = 'x'\n[t]\nn = 3\nf = 0.5\nb = true\nl = ['p', \"q\"]\n");
  EXPECT_EQ(file.string("a"), "x");
  EXPECT_EQ(file.integer("t.n"), 3);
  EXPECT_EQ(file.number("t.f"), 0.5);
  EXPECT_EQ(file.number("t.n"), 3.0);
  EXPECT_EQ(file.boolean("t.b"), true);
  EXPECT_THAT(file.strings("t.l").value(), ElementsAre("p", "q"));
  EXPECT_NO_THROW(file.reject_unknown_keys());
}

TEST(TomlFile, GivesNothingForWhatIsAbsent) {
  TomlFile file = parse("");
  EXPECT_FALSE(file.string("a"));
  EXPECT_FALSE(file.integer("t.n"));
  EXPECT_THAT(file.table("t"), ElementsAre());
  EXPECT_EQ(file.where("a"), "job.toml");
}

TEST(TomlFile, GivesItsOwnKeysForTheEmptyOne) {
  TomlFile file = parse("z = 1\na = 'x y'\n");
  EXPECT_THAT(file.table(""), ElementsAre(Pair("z", "1"), Pair("a", "x y")));
  EXPECT_EQ(
      error_of("[t]\na = 1", [](TomlFile& bad) { bad.table(""); }),
      "job.toml:1: t: is a table, and not a string, a number, true or false. Try: t = \"TEXT\"");
}

TEST(TomlFile, GivesATableInFileOrderAsTyped) {
  TomlFile file = parse("[t]\nz = 1\na = 'x y'\nf = 2e-5\nb = false\n\"k.k\" = 10_000\n");
  EXPECT_THAT(file.table("t"), ElementsAre(Pair("z", "1"), Pair("a", "x y"), Pair("f", "2e-05"),
                                           Pair("b", "false"), Pair("k.k", "10000")));
  EXPECT_NO_THROW(file.reject_unknown_keys());
}

TEST(TomlFile, KnowsTheLineOfAKey) {
  TomlFile file = parse("\na = 1\n\n[t]\n\nn = 2\n");
  EXPECT_EQ(file.where("a"), "job.toml:2");
  EXPECT_EQ(file.where("t.n"), "job.toml:6");
}

TEST(TomlFile, RefusesAnotherTypeWithItsLine) {
  EXPECT_EQ(error_of("\nn = 'four'", [](TomlFile& file) { file.integer("n"); }),
            "job.toml:2: n = \"four\": not a whole number. Try: n = 4");
  EXPECT_EQ(error_of("n = 4.5", [](TomlFile& file) { file.integer("n"); }),
            "job.toml:1: n = 4.5: not a whole number. Try: n = 4");
  EXPECT_EQ(error_of("s = 4", [](TomlFile& file) { file.string("s"); }),
            "job.toml:1: s = 4: not a string. Try: s = \"TEXT\"");
  EXPECT_EQ(error_of("b = 1", [](TomlFile& file) { file.boolean("b"); }),
            "job.toml:1: b = 1: not true or false. Try: b = true");
  EXPECT_EQ(error_of("l = ['a', 1]", [](TomlFile& file) { file.strings("l"); }),
            "job.toml:1: l = 1: not a list of strings. Try: l = [\"A\", \"B\"]");
  EXPECT_EQ(error_of("t = 1", [](TomlFile& file) { file.integer("t.n"); }),
            "job.toml:1: t = 1: not a table. Try: [t]");
  EXPECT_EQ(
      error_of("[t]\na = [1]", [](TomlFile& file) { file.table("t"); }),
      "job.toml:2: a: is a list, and not a string, a number, true or false. Try: a = \"TEXT\"");
}

TEST(TomlFile, RefusesNumbersThatDoNotFit) {
  EXPECT_EQ(error_of("n = 99999999999999999999", [](TomlFile& file) { file.integer("n"); }),
            "job.toml:1: n: the number is too large. Try: n = 4");
  for (const std::string number : {"-99999999999999999999", "0xFFFFFFFFFFFFFFFF"}) {
    EXPECT_EQ(error_of("\nn = " + number, [](TomlFile& file) { file.integer("n"); }),
              "job.toml:2: n: the number is too large. Try: n = 4");
  }
}

TEST(TomlFile, RefusesZeroBytesInStrings) {
  EXPECT_EQ(error_of("s = \"a\\u0000b\"", [](TomlFile& file) { file.string("s"); }),
            "job.toml:1: s: has a zero byte in it. Try: s = \"TEXT\"");
}

TEST(TomlFile, NamesTheUnknownKeyAndTheNearestOne) {
  const auto ask = [](TomlFile& file) {
    file.boolean("pinning.enabled");
    file.integer("pinning.threads");
    file.integer("ranks");
    file.reject_unknown_keys();
  };
  EXPECT_EQ(error_of("ranks = 2\n[pinnning]\nenabled = true", ask),
            "job.toml:3: unknown key 'pinnning.enabled'. Try: pinning.enabled");
  EXPECT_EQ(error_of("rank = 2", ask), "job.toml:1: unknown key 'rank'. Try: ranks");
  EXPECT_EQ(error_of("threads = 2", ask),
            "job.toml:1: unknown key 'threads'. Try: pinning.threads");
  EXPECT_EQ(error_of("[strange]", ask), "job.toml:1: unknown key 'strange'");
  EXPECT_EQ(error_of("\"pinning.enabled\" = true", ask),
            "job.toml:1: unknown key '\"pinning.enabled\"'. Try: pinning.enabled");
  EXPECT_EQ(error_of("[pinning]\n", ask), "no error");
}

TEST(TomlFile, ReadsAListOfTables) {
  TomlFile file = TomlFile::parse("[[a]]\nx = 1\n[[a]]\nx = 2\ny.z = \"w\"\n", "job.toml");
  ASSERT_EQ(file.tables("a"), 2u);
  EXPECT_EQ(file.tables("b"), 0u);
  EXPECT_EQ(file.integer("a.0.x"), 1);
  EXPECT_EQ(file.integer("a.1.x"), 2);
  EXPECT_EQ(file.string("a.0.y.z"), std::nullopt);
  EXPECT_EQ(file.string("a.1.y.z"), "w");
  EXPECT_EQ(file.where("a.1.x"), "job.toml:4");
  file.reject_unknown_keys();
}

TEST(TomlFile, RefusesWhatIsNoListOfTables) {
  const auto ask = [](TomlFile& file) {
    for (std::size_t i = 0; i < file.tables("a"); ++i) file.integer(fmt::format("a.{}.x", i));
    file.reject_unknown_keys();
  };
  EXPECT_EQ(error_of("a = 1", ask), "job.toml:1: a = 1: not tables. Try: [[a]]");
  EXPECT_EQ(error_of("a = [1]", ask), "job.toml:1: a: is a list, and not tables. Try: [[a]]");
  EXPECT_EQ(error_of("a = []", ask), "job.toml:1: a: is a list, and not tables. Try: [[a]]");
  EXPECT_EQ(error_of("[a]\nx = 1", ask), "job.toml:1: a: is a table, and not tables. Try: [[a]]");
  EXPECT_EQ(error_of("[[a]]\nx = 1\n[[a]]\nX = 2", ask),
            "job.toml:4: unknown key 'a.1.X'. Try: a.1.x");
}

TEST(TomlFile, NamesTheFirstUnknownKeyOfTheFile) {
  EXPECT_EQ(error_of("zz = 1\naa = 2", [](TomlFile& file) { file.reject_unknown_keys(); }),
            "job.toml:1: unknown key 'zz'");
}

TEST(TomlFile, SaysWhyItCannotBeRead) {
  EXPECT_EQ(parse_error("a = 1\nb = \n"),
            "job.toml:2: missing value after key-value separator '=', in 'b ='");
  EXPECT_EQ(parse_error("a=1\na=2\n"), "job.toml:2: value (\"a\") already exists, in 'a=2'");
  EXPECT_THAT(parse_error("just text"), StartsWith("job.toml:1: missing key-value separator"));
  EXPECT_THAT(parse_error("a = [1, 2\n"), HasSubstr("missing array separator"));
  EXPECT_EQ(parse_error("a = # none"),
            "job.toml:1: missing value after key-value separator '=', in 'a = # none'");
  EXPECT_EQ(parse_error("[t.u]\n[t.u]"), "job.toml:2: value (\"t.u\") already exists, in '[t.u]'");
}

TEST(TomlFile, SaysSoInTheSameWordsWithEveryReleaseOfToml11) {
  EXPECT_EQ(parse_error("\na = nope"),
            "job.toml:2: unknown value (a string needs quotes), in 'a = nope'");
  EXPECT_EQ(parse_error("\na = True"),
            "job.toml:2: unknown value (a string needs quotes), in 'a = True'");
  EXPECT_EQ(parse_error("\na = 'x"), "job.toml:2: malformed or unfinished string, in 'a = 'x'");
  EXPECT_EQ(parse_error("\na = 1__0"), "job.toml:2: malformed number, in 'a = 1__0'");
  EXPECT_EQ(parse_error("\na = 0o8"), "job.toml:2: malformed number, in 'a = 0o8'");
  EXPECT_EQ(parse_error("\na = {b = 1,}"), "job.toml:2: malformed inline table, in 'a = {b = 1,}'");
  EXPECT_EQ(parse_error("\n= 1"), "job.toml:2: malformed key, in '= 1'");
  EXPECT_EQ(parse_error("\n[t"), "job.toml:2: malformed key, in '[t'");
  EXPECT_EQ(parse_error("\n[t] x\x1b"), "job.toml:2: the line should end here, in '[t] x?'");
}

TEST(TomlFile, CountsTheLinesOfDatesAndEscapesFromTheTop) {
  EXPECT_EQ(parse_error("\n\na = 1979-13-01"),
            "job.toml:3: malformed date or time, in 'a = 1979-13-01'");
  EXPECT_EQ(parse_error("\n\na = \"\\uD800\""),
            "job.toml:3: no character has this number, in 'a = \"\\uD800\"'");
}

TEST(TomlFile, RefusesWhatIsNotUtf8) {
  EXPECT_EQ(parse_error("a = 1\nb = 'x\xff'\n"),
            "job.toml:2: byte 0xff is not UTF-8. Try: file job.toml");
}

TEST(TomlFile, RefusesBottomlessNesting) {
  EXPECT_EQ(parse_error("\na = " + std::string(100000, '[')),
            "job.toml:2: nested deeper than 64 levels");
  std::string dotted = "a";
  for (int i = 0; i < 50000; ++i) dotted += ".a";
  EXPECT_EQ(parse_error(dotted + " = 1"), "job.toml:1: nested deeper than 64 levels");
  std::string hidden = "a = ";
  for (int i = 0; i < 1000; ++i) hidden += "[ # ]\n'''\n]''',";
  EXPECT_THAT(parse_error(hidden), HasSubstr("nested deeper than 64 levels"));
}

TEST(TomlFile, DoesNotTakeBracketsInStringsForNesting) {
  const std::string many(200, '[');
  TomlFile file = parse("a = '" + many + "'\nb = \"\\\"" + many + "\"\nc = \"\"\"\n" + many +
                        "\n\"\"\" # " + many + "\n");
  EXPECT_EQ(file.string("a"), many);
  EXPECT_EQ(file.string("b"), "\"" + many);
  EXPECT_EQ(file.string("c"), many + "\n");
}

TEST(TomlFile, SaysWhichFileIsMissing) {
  try {
    TomlFile::load("/nonexistent/dtlaunch.toml");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "/nonexistent/dtlaunch.toml: cannot read: No such file or directory. Try: ls /");
  }
}

TEST(TomlFile, GivesPlacesOfATablesValues) {
  TomlFile file = TomlFile::parse("[t]\n'b' = \"x\"\na =  2.5\n", "f.toml");
  const std::vector<TomlEntry> entries = file.entries("t");
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].place + ": " + entries[0].shown, "f.toml:2:7: b = \"x\"");
  EXPECT_EQ(entries[1].place + ": " + entries[1].shown, "f.toml:3:6: a = 2.5");
  EXPECT_EQ(entries[1].text, "2.5");
}

TEST(TomlFile, ShowsNoSecrets) {
  TomlFile file = TomlFile::parse("[t]\nmy_token = \"abc\"\nof_tokens = true\n", "f.toml");
  const std::vector<TomlEntry> entries = file.entries("t");
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].shown, "my_token");
  EXPECT_EQ(entries[0].text, "abc");
  EXPECT_EQ(entries[1].shown, "of_tokens = true");
}

}  // namespace
}  // namespace dtl::toml_file_test
