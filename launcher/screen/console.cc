// The mixer makes chunks, the writer writes them. Each call that feeds the mixer flushes it
// afterwards, so it holds only what it delays on purpose.
#include "launcher/screen/console.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/text.h"
#include "launcher/screen/terminal_color.h"

namespace dtl {
namespace {

constexpr std::size_t kMaxMessages = 10'000;  // for the report: more than anybody reads

// 24 and 80 if the terminal does not know: a serial line, some containers.
int terminal_rows(int fd) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : 24;
}

// For progress bars, which must not wrap; terminal_columns() is at least 80, for tables and cards.
int true_columns(int fd) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

MixerOptions mixer_options(OutputWriter::Descriptors fds, const ConsoleOptions& options) {
  MixerOptions mixer;
  mixer.label = options.label;
  mixer.one_screen = is_one_screen(fds.out, fds.err);
  mixer.live[0] = can_move_cursor(fds.out);
  mixer.live[1] = can_move_cursor(fds.err);
  mixer.fold[0] = options.fold.value_or(::isatty(fds.out) != 0);
  mixer.fold[1] = options.fold.value_or(::isatty(fds.err) != 0);
  mixer.color[0] = wants_color(options.color, fds.out);
  mixer.color[1] = wants_color(options.color, fds.err);
  mixer.began = std::time(nullptr);
  return mixer;
}

}  // namespace

Console::Console(OutputWriter::Descriptors descriptors, const ConsoleOptions& options,
                 OutputWriter::Events events)
    : options_(options),
      terminal_(::isatty(descriptors.out) != 0),
      output_(can_move_cursor(descriptors.out) ? descriptors.out : -1),
      screen_(output_ >= 0                       ? output_
              : can_move_cursor(descriptors.err) ? descriptors.err
                                                 : -1),
      // Cards go to standard error.
      columns_(::isatty(descriptors.err) != 0 ? terminal_columns(descriptors.err) : 0),
      color_(wants_color(options.color, descriptors.err)),
      // No ranks yet; set_ranks() sets their number after placement.
      mixer_(0, mixer_options(descriptors, options)),
      files_{{options.outfile, Stream::kStdout, std::time(nullptr), options.append},
             {options.errfile, Stream::kStderr, std::time(nullptr), options.append}},
      writer_(descriptors, is_one_screen(descriptors.out, descriptors.err), std::move(events)) {}

void Console::set_ranks(std::size_t ranks) {
  mixer_.set_ranks(ranks);
  tails_.resize(ranks);
}

void Console::set_rank(int rank, LabelFacts facts) {
  // For file names; the mixer sets the rank itself.
  facts.rank = std::to_string(rank);
  for (RankFiles& files : files_) {
    if (const auto problem = files.open(rank, facts)) say(*problem);
  }
  mixer_.set_rank(rank, std::move(facts));
}

bool Console::on_screen(int rank) const {
  return !options_.hide_all && (options_.only.empty() || options_.only.contains(rank));
}

void Console::rank_output(Output message, JobTime now) {
  // An agent may send any number; this rank does not exist.
  if (message.rank >= tails_.size()) return;
  const auto rank = static_cast<int>(message.rank);
  const bool error = message.stream == Stream::kStderr;
  const Credit credit{message.rank, static_cast<std::uint32_t>(message.bytes.size())};
  // Also for ranks that are not shown: the failure card may concern any of them.
  if (error) tails_[message.rank].feed(message.bytes);
  if (RankFiles& files = files_[error ? 1 : 0]; !files.empty()) {
    if (const auto problem = files.write(rank, message.bytes)) say(*problem);
  } else if (on_screen(rank)) {
    mixer_.feed(rank, message.stream, std::move(message.bytes), now);
  }
  // The credit goes with the last chunk of this stream. If the mixer holds the bytes back, or they
  // went to a file, an empty chunk carries it.
  std::vector<Chunk> chunks = mixer_.take();
  if (chunks.empty() || chunks.back().stream != message.stream) {
    chunks.push_back({message.stream, {}, {}});
  }
  chunks.back().credit = credit;
  writer_.write(std::move(chunks));
}

void Console::rank_skipped(const Skipped& message, const std::string& host, JobTime now) {
  if (message.rank >= tails_.size()) return;
  skipped_bytes_ += message.bytes;
  const auto rank = static_cast<int>(message.rank);
  if (!on_screen(rank)) return;
  const std::string where = message.file.empty()
                                ? ": nobody read it in time; --log-dir or --output block keeps it"
                                : fmt::format(", full text: {}:{}", host, message.file);
  mixer_.note(rank, message.stream,
              fmt::format("[rank {}] {} skipped here{}", rank, size_text(message.bytes), where),
              now);
  flush();
}

void Console::rank_ended(int rank) {
  mixer_.rank_ended(rank);
  flush();
}

void Console::finish() {
  mixer_.finish();
  flush();
}

void Console::say(std::string_view text) {
  show_own(text, text);
}

void Console::say_card(std::string_view card) {
  show_own(card, color_ ? colored_card(card) : std::string(card));
}

// shown: `text`, perhaps with colours, which only the screen gets.
void Console::show_own(std::string_view text, std::string_view shown) {
  // The screen shows all messages; only the report's number is limited.
  if (messages_.size() < kMaxMessages) messages_.emplace_back(text);
  // Uses the last entry to say that the report is not complete.
  if (messages_.size() == kMaxMessages - 1) messages_.emplace_back("later messages are not listed");
  if (said_) said_(text);
  mixer_.say(fmt::format("{}: {}\n", program_name(), shown));
  // Even to a terminal that nobody reads: a card must not be lost.
  writer_.write_always(mixer_.take());
}

void Console::print(std::string_view text) {
  writer_.write_always({{Stream::kStdout, std::string(text), {}}});
}

void Console::show_partial_lines(JobTime now) {
  // Timers may fire for other reasons, which must not redraw anything.
  const auto due = mixer_.next_partial_line();
  if (!due || *due > now) return;
  if (screen_ >= 0) mixer_.set_size(true_columns(screen_), terminal_rows(screen_));
  mixer_.show_partial_lines(now);
  flush();
}

std::optional<int> Console::rank_columns(const LabelFacts& rank) const {
  constexpr int kLeast = 20;  // beside a label as wide as the terminal; lines are cut or wrap
  const bool to_file = !options_.outfile.empty() || !options_.log_directory.empty();
  if (output_ < 0 || to_file || options_.hide_all) return std::nullopt;
  const auto label = static_cast<int>(options_.label.text(rank, Stream::kStdout, 0).size());
  return std::max(kLeast, true_columns(output_) - label);
}

OutputRules Console::rules(std::size_t ranks) const {
  OutputRules rules;
  // All windows together bound the launcher's memory. A window has a minimum: with less, each line
  // would cost messages.
  rules.window = static_cast<std::uint32_t>(std::clamp(
      kOutputWindows / std::max<std::size_t>(ranks, 1), kLeastOutputWindow, kOutputWindow));
  const JobTime patience = terminal_ ? JobTime(kScreenPatience) : JobTime(kPipePatience);
  // How long ranks wait for credit before their output is skipped.
  rules.hold_ms = static_cast<std::uint32_t>(patience.count());
  if (options_.mode == OutputMode::kSkip) rules.hold_ms = 0;
  if (options_.mode == OutputMode::kBlock) rules.hold_ms = kHoldForever;
  rules.log_directory = options_.log_directory;
  return rules;
}

std::vector<std::string> Console::last_lines(int rank) const {
  const auto index = static_cast<std::size_t>(rank);
  return rank >= 0 && index < tails_.size() ? tails_[index].lines() : std::vector<std::string>{};
}

std::string unwritten_text(Stream stream, int error_number) {
  return fmt::format("cannot write standard {}: {}; the job goes on without it",
                     stream == Stream::kStdout ? "output" : "error", errno_text(error_number));
}

std::string size_text(std::uint64_t bytes) {
  if (bytes < 1000) return plural(static_cast<std::int64_t>(bytes), "byte");
  const auto size = static_cast<double>(bytes);
  return bytes >= 1'000'000 ? fmt::format("{:.1f} MB", size / 1e6)
                            : fmt::format("{:.1f} kB", size / 1e3);
}

}  // namespace dtl
