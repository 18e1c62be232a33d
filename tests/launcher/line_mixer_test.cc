#include "launcher/screen/line_mixer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/limits.h"
#include "launcher/screen/line_tail.h"

namespace dtl::line_mixer_test {
namespace {

using testing::ElementsAre;

constexpr Stream kOut = Stream::kStdout;
constexpr Stream kErr = Stream::kStderr;

std::string text(LineMixer& mixer, Stream stream = kOut) {
  std::string all;
  for (const Chunk& chunk : mixer.take()) {
    if (chunk.stream == stream) all += chunk.bytes;
  }
  return all;
}

TEST(LineMixer, KeepsLinesWholeWhenRanksWriteInPieces) {
  LineMixer mixer(2, true, false);
  mixer.feed(0, kOut, "par", 0ms);
  mixer.feed(1, kOut, "other\npa", 0ms);
  mixer.feed(0, kOut, "t\n", 0ms);
  mixer.feed(1, kOut, "rt\n", 0ms);
  EXPECT_EQ(text(mixer), "[1] other\n[0] part\n[1] part\n");
}

TEST(LineMixer, PassesOneRankThroughByteForByte) {
  LineMixer mixer(1, false, false);
  const std::string bytes("a\0b\r\nc\rd\n\n\xff", 11);
  for (const char c : bytes) mixer.feed(0, kOut, std::string(1, c), 0ms);
  mixer.rank_ended(0);
  EXPECT_EQ(text(mixer), bytes);
}

TEST(LineMixer, ShowsAPromptAfterItsDelay) {
  LineMixer mixer(2, true, false);
  mixer.feed(0, kOut, "name? ", 1000ms);
  EXPECT_EQ(mixer.next_partial_line(), 1000ms + kPartialLineDelay);
  mixer.show_partial_lines(1000ms + kPartialLineDelay - 1ms);
  EXPECT_EQ(text(mixer), "");
  mixer.show_partial_lines(1000ms + kPartialLineDelay);
  EXPECT_EQ(text(mixer), "[0] name? ");
  EXPECT_EQ(mixer.next_partial_line(), std::nullopt);
  mixer.feed(0, kOut, "ok\n", 2000ms);
  EXPECT_EQ(text(mixer), "ok\n");
}

TEST(LineMixer, EndsAShownPartOfALineBeforeAnotherRanksLine) {
  LineMixer mixer(2, true, false);
  mixer.feed(0, kOut, "wait...", 0ms);
  mixer.show_partial_lines(1s);
  mixer.feed(1, kOut, "hello\n", 1s);
  mixer.feed(0, kOut, "done\n", 1s);
  EXPECT_EQ(text(mixer), "[0] wait...\n[1] hello\n[0] done\n");
}

TEST(LineMixer, LabelsEveryStateOfAProgressBar) {
  LineMixer mixer(2, true, false);
  mixer.feed(0, kOut, "\r10%\r20%\r", 0ms);
  mixer.show_partial_lines(1s);
  EXPECT_EQ(text(mixer), "\r[0] 10%\r[0] 20%\r");
  mixer.feed(1, kOut, "x\n", 1s);
  EXPECT_EQ(text(mixer), "\n[1] x\n");
}

TEST(LineMixer, KeepsACarriageReturnBeforeALineFeedTogether) {
  LineMixer mixer(2, true, false);
  mixer.feed(0, kOut, "dos\r", 0ms);
  mixer.feed(0, kOut, "\nline\r\n", 0ms);
  EXPECT_EQ(text(mixer), "[0] dos\r\n[0] line\r\n");
}

TEST(LineMixer, KeepsTheTwoStreamsApart) {
  LineMixer mixer(1, false, false);
  mixer.feed(0, kOut, "half", 0ms);
  mixer.feed(0, kErr, "error\n", 0ms);
  mixer.feed(0, kOut, " line\n", 0ms);
  std::string out, err;
  for (const Chunk& chunk : mixer.take()) (chunk.stream == kOut ? out : err) += chunk.bytes;
  EXPECT_EQ(out, "half line\n");
  EXPECT_EQ(err, "error\n");
}

TEST(LineMixer, PutsItsOwnLinesOnALineOfTheirOwn) {
  LineMixer mixer(1, false, true);
  mixer.feed(0, kOut, "half", 0ms);
  mixer.show_partial_lines(1s);
  mixer.say("dtlaunch: notice\n");
  EXPECT_EQ(text(mixer), "half");
  mixer.feed(0, kOut, "half", 1s);
  mixer.show_partial_lines(2s);
  mixer.say("dtlaunch: notice\n");
  EXPECT_EQ(text(mixer, kErr), "\ndtlaunch: notice\n");
}

TEST(LineMixer, ShowsWhatIsLeftWhenARankEnds) {
  LineMixer mixer(2, true, false);
  mixer.feed(1, kOut, "no line end", 0ms);
  mixer.rank_ended(1);
  mixer.feed(0, kOut, "x\n", 0ms);
  EXPECT_EQ(text(mixer), "[1] no line end\n[0] x\n");
}

TEST(LineMixer, ShowsAnEndlessLineInPieces) {
  LineMixer mixer(1, true, false);
  const std::string piece(40 << 10, 'x');
  mixer.feed(0, kOut, piece, 0ms);
  EXPECT_EQ(text(mixer), "");
  mixer.feed(0, kOut, piece, 0ms);
  EXPECT_EQ(text(mixer).size(), 2 * piece.size() + 4);
}

// The output for a text that arrives in pieces of this size.
std::string shown_in_pieces(const std::string& all, std::size_t piece,
                            const MixerOptions& options) {
  LineMixer mixer(2, options);
  for (std::size_t at = 0; at < all.size(); at += piece) {
    mixer.feed(0, kOut, all.substr(at, piece), 0ms);
  }
  mixer.finish();
  return text(mixer);
}

TEST(LineMixer, ShowsTheSameHoweverATextIsCut) {
  const std::string all = "one\ntwo\r\nthree\rfour\r\r\n\n\rfive\r\nsi" + std::string(9000, 'x') +
                          "\n" + std::string(200, 'y') + "\nend";
  MixerOptions plain, label, folds, bars;
  label.label = folds.label = bars.label = LineLabel::parse("[%r] ");
  folds.fold[0] = true;
  bars.live[0] = bars.fold[0] = true;
  const std::string labelled_text =
      "[0] one\n[0] two\r\n[0] three\r[0] four\r[0] \r\n[0] \n\r[0] five\r\n";
  EXPECT_EQ(shown_in_pieces(all, all.size(), plain), all);
  EXPECT_EQ(shown_in_pieces(all, all.size(), label).substr(0, labelled_text.size()), labelled_text);
  EXPECT_THAT(shown_in_pieces(all, all.size(), bars),
              testing::StartsWith("[0] one\n[0] two\n[0] four\n[0] \n[0] five\n[0] six"));
  // The bar is drawn in between.
  for (const MixerOptions& options : {plain, label, folds}) {
    const std::string whole = shown_in_pieces(all, all.size(), options);
    for (const std::size_t piece : {1, 2, 3, 5, 7, 50, 5000}) {
      EXPECT_EQ(shown_in_pieces(all, piece, options), whole) << piece;
    }
  }
}

TEST(LineMixer, PassesALargePieceOnAsItIs) {
  LineMixer mixer(1, false, false);
  std::string piece(60 << 10, 'x');
  piece += '\n';
  const char* const where = piece.data();
  mixer.feed(0, kOut, "begun, ", 0ms);
  mixer.feed(0, kOut, std::move(piece), 0ms);
  const std::vector<Chunk> chunks = mixer.take();
  ASSERT_EQ(chunks.size(), 2u);
  EXPECT_EQ(chunks[0].bytes, "begun, ");
  EXPECT_EQ(chunks[1].bytes.data(), where);
}

TEST(LineMixer, IgnoresRanksThatAreNotThere) {
  LineMixer mixer(1, true, false);
  mixer.feed(1, kOut, "x\n", 0ms);
  EXPECT_EQ(text(mixer), "");
}

TEST(LineTail, KeepsTheLastTwentyLines) {
  LineTail tail;
  for (int i = 0; i < 30; ++i) tail.feed("line " + std::to_string(i) + "\n");
  tail.feed("and a ha");
  tail.feed("lf");
  const auto lines = tail.lines();
  ASSERT_EQ(lines.size(), 20U);
  EXPECT_EQ(lines.front(), "line 11");
  EXPECT_EQ(lines.back(), "and a half");
}

TEST(LineTail, KeepsTheSameHoweverATextIsCut) {
  std::string all;
  for (int i = 0; i < 70; ++i) all += "line " + std::to_string(i) + (i % 3 == 0 ? "\r\n" : "\n\n");
  all += "half";
  LineTail whole;
  whole.feed(all);
  EXPECT_EQ(whole.lines().front(), "line 51");
  for (const std::size_t piece : {1, 2, 13, 100, 400}) {
    LineTail tail;
    for (std::size_t at = 0; at < all.size(); at += piece) tail.feed(all.substr(at, piece));
    EXPECT_EQ(tail.lines(), whole.lines()) << piece;
  }
}

TEST(LineTail, DropsEmptyLinesAndBoundsLongOnes) {
  LineTail tail;
  tail.feed("\n\n" + std::string(10000, 'x') + "\n");
  ASSERT_EQ(tail.lines().size(), 1U);
  EXPECT_EQ(tail.lines()[0], std::string(2000, 'x') + "...");
  LineTail pieces;
  for (const int size : {1999, 1, 1, 1})
    pieces.feed(std::string(static_cast<std::size_t>(size), 'x'));
  EXPECT_EQ(pieces.lines(), tail.lines());
}

MixerOptions labelled() {
  MixerOptions options;
  options.label = LineLabel::parse("[%r] ");
  return options;
}

TEST(LineMixer, FoldsTheSameLineOfManyRanks) {
  MixerOptions options = labelled();
  options.fold[0] = options.fold[1] = true;
  LineMixer mixer(4, options);
  for (const int rank : {2, 0, 1}) mixer.feed(rank, kOut, "loading\n", 0ms);
  EXPECT_EQ(text(mixer), "") << "rank 3 may say the same";
  EXPECT_EQ(mixer.next_partial_line(), kFoldDelay);
  mixer.show_partial_lines(kFoldDelay);
  EXPECT_EQ(text(mixer), "[0-2] loading\n");
}

TEST(LineMixer, FoldsAtOnceWhenEveryRankHasSaidIt) {
  MixerOptions options = labelled();
  options.fold[0] = options.fold[1] = true;
  LineMixer mixer(2, options);
  mixer.feed(0, kOut, "a\nb\n", 0ms);
  mixer.feed(1, kOut, "a\nb\n", 1ms);
  EXPECT_EQ(text(mixer), "[0-1] a\n[0-1] b\n");
}

TEST(LineMixer, NeverReordersARanksOwnLinesToFoldThem) {
  MixerOptions options = labelled();
  options.fold[0] = options.fold[1] = true;
  LineMixer mixer(2, options);
  mixer.feed(0, kOut, "a\nb\n", 0ms);
  mixer.feed(1, kOut, "b\na\n", 0ms);
  mixer.finish();
  EXPECT_EQ(text(mixer), "[0] a\n[0-1] b\n[1] a\n");
}

TEST(LineMixer, KeepsProgressBarsOfRanksApartOnATerminal) {
  MixerOptions options = labelled();
  options.one_screen = options.live[0] = options.live[1] = true;
  LineMixer mixer(2, options);
  mixer.feed(0, kErr, "\r10%", 0ms);
  mixer.feed(1, kErr, "\r20%", 0ms);
  mixer.show_partial_lines(kRedraw);
  EXPECT_THAT(text(mixer, kErr), testing::EndsWith("[0] 10%\n[1] 20%"));
  mixer.feed(0, kErr, "\r90%", kRedraw);
  EXPECT_EQ(text(mixer, kErr), "") << "looked at five times a second at most";
  mixer.feed(0, kErr, "\r100%\n", kRedraw + 1ms);
  EXPECT_EQ(text(mixer, kErr), "\r\x1b[1A\x1b[J[0] 100%\n") << "the final state stays";
}

// As dttrain does before an evaluation, and tqdm with leave=False.
TEST(LineMixer, LeavesNothingOfABarThatItsProgramOverwritesWithBlanks) {
  MixerOptions options = labelled();
  options.one_screen = options.live[0] = options.live[1] = true;
  LineMixer mixer(2, options);
  mixer.feed(0, kOut, "\r10%", 0ms);
  mixer.show_partial_lines(kRedraw);
  EXPECT_THAT(text(mixer), testing::EndsWith("[0] 10%"));
  mixer.feed(0, kOut, "\r   \r", kRedraw + 1ms);
  mixer.show_partial_lines(3 * kRedraw);
  EXPECT_EQ(text(mixer), "\r\x1b[J");
  mixer.rank_ended(0);
  EXPECT_EQ(text(mixer), "");
  mixer.feed(1, kOut, "\r20%", 4 * kRedraw);
  mixer.show_partial_lines(6 * kRedraw);
  mixer.feed(1, kOut, "\r   \r", 6 * kRedraw + 1ms);
  mixer.rank_ended(1);
  EXPECT_THAT(text(mixer), testing::EndsWith("[1] 20%\r\x1b[J")) << "even if it ends at once";
}

TEST(LineMixer, PassesCarriageReturnsOnWhereThereIsNoTerminal) {
  LineMixer mixer(2, false, false);
  mixer.feed(0, kErr, "\r10%\r20%\n", 0ms);
  EXPECT_EQ(text(mixer, kErr), "\r10%\r20%\n");
}

TEST(LineMixer, TakesBackAPromptThatTurnsOutToBeAProgressBar) {
  MixerOptions options;
  options.one_screen = options.live[0] = options.live[1] = true;
  LineMixer mixer(2, options);
  mixer.feed(0, kOut, "0%", 0ms);
  mixer.show_partial_lines(1s);
  EXPECT_EQ(text(mixer), "0%");
  mixer.feed(0, kOut, "\r50%", 2s);
  EXPECT_EQ(text(mixer), "\r\x1b[K50%");
}

TEST(LineMixer, PutsANoteInThePlaceOfWhatIsMissing) {
  LineMixer mixer(2, true, false);
  mixer.feed(1, kOut, "half a li", 0ms);
  mixer.note(1, kOut, "[rank 1] 3.0 MB skipped here", 0ms);
  mixer.feed(1, kOut, "whole\n", 0ms);
  EXPECT_EQ(text(mixer), "[1] half a li\n[rank 1] 3.0 MB skipped here\n[1] whole\n");
}

TEST(LineMixer, ColoursTheLabelAndNothingElse) {
  MixerOptions options = labelled();
  options.color[0] = true;
  LineMixer mixer(1, options);
  mixer.feed(0, kOut, "x\n", 0ms);
  EXPECT_EQ(text(mixer), "\x1b[36m[0]\x1b[0m x\n");
}

TEST(LineMixer, ColoursOnlyTheStreamThatIsATerminal) {
  MixerOptions options = labelled();
  options.color[0] = true;
  LineMixer mixer(1, options);
  mixer.feed(0, kErr, "x\n", 0ms);
  EXPECT_EQ(text(mixer, kErr), "[0] x\n");
}

TEST(LineLabel, KnowsHydrasLettersAndNoOthers) {
  LabelFacts facts{"3", 1, 4711, "node2"};
  EXPECT_EQ(LineLabel::parse("%h/%g/%r/%p 100%%: ").text(facts, kOut, 0), "node2/1/3/4711 100%: ");
  EXPECT_THROW(LineLabel::parse("%x"), Error);
  EXPECT_THROW(LineLabel::parse("50%"), Error);
  EXPECT_EQ(LineLabel::open_mpi(true, false).text(facts, kErr, 0), "[1,3]<stderr>:");
}

TEST(LiveLines, CutsToColumnsAndKeepsColours) {
  EXPECT_EQ(cut_to_columns("\x1b[32mabcdef\x1b[0m", 3), "\x1b[32mabc\x1b[0m");
  EXPECT_EQ(cut_to_columns("\xe2\x96\x88\xe2\x96\x88x", 2), "\xe2\x96\x88\xe2\x96\x88");
  EXPECT_EQ(cut_to_columns("a\x1b[2Ab", 9), "ab") << "nothing may leave its row";
}

}  // namespace
}  // namespace dtl::line_mixer_test
