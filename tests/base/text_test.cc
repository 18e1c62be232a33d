#include "base/text.h"

#include <gtest/gtest.h>

#include <csignal>

namespace dtl::text_test {
namespace {

TEST(ParseInteger, TakesWholeNumbersInRangeOnly) {
  EXPECT_EQ(parse_integer("12", 1, 20), 12);
  EXPECT_FALSE(parse_integer("21", 1, 20));
  EXPECT_FALSE(parse_integer("-1", -5, 20));
  EXPECT_FALSE(parse_integer("1x", 0, 20));
  EXPECT_FALSE(parse_integer("", 0, 20));
  EXPECT_FALSE(parse_integer("99999999999999999999", 0, INT64_MAX));
}

TEST(WholeNumberFault, TellsAnotherWordFromANumberOutOfRange) {
  EXPECT_EQ(whole_number_fault("many", 1, 9), "not a whole number (1 to 9)");
  EXPECT_EQ(whole_number_fault("2.5", 1, 9, "seconds"), "not a number of seconds (1 to 9)");
  EXPECT_EQ(whole_number_fault("", 1, INT64_MAX), "not a whole number (1 or more)");
  EXPECT_EQ(whole_number_fault("0", 1, 9), "too small (1 to 9)");
  EXPECT_EQ(whole_number_fault("-1", 0, INT64_MAX), "too small (0 or more)");
  EXPECT_EQ(whole_number_fault("10", 1, 9, "slots"), "too large (1 to 9 slots)");
  EXPECT_EQ(whole_number_fault("99999999999999999999", 1, 9), "too large (1 to 9)");
}

TEST(Nearest, FindsATypoAndRefusesAStranger) {
  const std::vector<std::string> known = {"hostfile", "timeout", "report"};
  EXPECT_EQ(nearest("hostfiel", known), "hostfile");
  // Two swapped letters are one mistake, which even a short word may have.
  EXPECT_EQ(nearest("hlep", std::vector<std::string>{"help"}), "help");
  EXPECT_EQ(nearest("hxyp", std::vector<std::string>{"help"}), "");
  EXPECT_EQ(nearest("xyz", known), "");
}

TEST(Split, KeepsEmptyPieces) {
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
}

TEST(Trim, RemovesBlanksAndLineEnds) {
  EXPECT_EQ(trim(" \ta b\r\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
}

TEST(FindInvalidUtf8, AcceptsEveryLength) {
  EXPECT_EQ(find_invalid_utf8("a\xc3\xb6\xe2\x82\xac\xf0\x9f\x99\x82\xf4\x8f\xbf\xbf"),
            std::string_view::npos);
}

TEST(FindInvalidUtf8, PointsAtTheFirstByteThatIsNone) {
  EXPECT_EQ(find_invalid_utf8("ab\xff"), 2u);
  EXPECT_EQ(find_invalid_utf8("a\xc3"), 1u);             // truncated
  EXPECT_EQ(find_invalid_utf8("\xc0\x80"), 0u);          // overlong
  EXPECT_EQ(find_invalid_utf8("\xe0\x9f\xbf"), 0u);      // overlong
  EXPECT_EQ(find_invalid_utf8("\xed\xa0\x80"), 0u);      // a surrogate
  EXPECT_EQ(find_invalid_utf8("\xf4\x90\x80\x80"), 0u);  // beyond U+10FFFF
  EXPECT_EQ(find_invalid_utf8("\xe2\x82\x41"), 0u);      // a wrong continuation
}

TEST(Printable, SpellsOutWhatATerminalObeysOrHides) {
  EXPECT_EQ(printable("a\x1b[2J\a\x7f"), "a\\x1b[2J\\x07\\x7f");
  EXPECT_EQ(printable("one\ntwo\r\tthree"), "one\\ntwo\\r\\tthree");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(printable("\x9b"
                      "2J"),
            "\\x9b2J");  // not UTF-8
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "\\u009b2J");  // the same as a code point
  EXPECT_EQ(printable("\xe2\x80\xae"
                      "evil"),
            "\\u202eevil");
  EXPECT_EQ(printable("\xf3\xa0\x80\x81"), "\\U000e0001");
}

TEST(Printable, LeavesTheRestAsItIs) {
  const std::string text = "C:\\tmp 'x' \xc3\xb6\xe2\x82\xac\xf0\x9f\x99\x82";
  EXPECT_EQ(printable(text), text);
  EXPECT_EQ(printable(printable("\x1b\n\xff")), printable("\x1b\n\xff"));
}

TEST(PrintableLines, KeepsLineEndsOnly) {
  EXPECT_EQ(printable_lines("one\r\ntwo\x1b\n"), "one\ntwo\\x1b\n");
  EXPECT_EQ(printable_lines(""), "");
}

TEST(FoldHosts, JoinsNumbersThatFollow) {
  EXPECT_EQ(fold_hosts({"n1", "n2", "n3", "n7"}), "n[1-3,7]");
  EXPECT_EQ(fold_hosts({"n3", "login", "n1", "n2"}), "n[1-3], login");
  EXPECT_EQ(fold_hosts({"n9", "n10", "n11"}), "n[9-11]");
  EXPECT_EQ(fold_hosts({"gpu2-node08.lan", "gpu2-node09.lan", "gpu2-node10.lan"}),
            "gpu2-node[08-10].lan");
}

TEST(FoldHosts, KeepsWhatIsNoSeries) {
  EXPECT_EQ(fold_hosts({"n1"}), "n1");
  EXPECT_EQ(fold_hosts({"n1.a", "n2.b"}), "n1.a, n2.b");
  EXPECT_EQ(fold_hosts({"n8", "n09"}), "n[8,09]");
  EXPECT_EQ(fold_hosts({"10.0.0.1", "10.0.0.2", "fe80::1"}), "10.0.0.1, 10.0.0.2, fe80::1");
  EXPECT_EQ(fold_hosts({"n12345678901", "n12345678902"}), "n12345678901, n12345678902");
  EXPECT_EQ(fold_hosts({}), "");
}

TEST(OneShellWord, IsOneWordWhateverIsInIt) {
  EXPECT_EQ(one_shell_word("a/b-c_1.tsv"), "a/b-c_1.tsv");
  EXPECT_EQ(one_shell_word(""), "''");
  EXPECT_EQ(one_shell_word("my data.tsv"), "'my data.tsv'");
  EXPECT_EQ(one_shell_word("it's $(x)\n"), "'it'\\''s $(x)?'");
}

TEST(SignalName, IsTheSymbol) {
  EXPECT_EQ(signal_name(SIGSEGV), "SIGSEGV");
}

TEST(LooksSecret, MasksTokensAndKeysOnly) {
  EXPECT_TRUE(looks_secret("HF_TOKEN"));
  EXPECT_TRUE(looks_secret("aws_secret_access_key"));
  EXPECT_TRUE(looks_secret("WANDB_PWD"));
  EXPECT_TRUE(looks_secret("HF_AUTH"));
  EXPECT_FALSE(looks_secret("OLDPWD"));
  EXPECT_FALSE(looks_secret("OMP_NUM_THREADS"));
}

}  // namespace
}  // namespace dtl::text_test
