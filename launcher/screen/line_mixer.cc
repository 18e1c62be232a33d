// Bytes go one of two ways: show_at_once() if lines need no label, show_lines() if each line
// matters. Then whole_line(), show() and put() make chunks.
#include "launcher/screen/line_mixer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "base/text.h"
namespace dtl {
namespace {

constexpr std::size_t kMaxPendingBytes = 64 << 10;  // a longer line is shown in pieces
constexpr std::size_t kOwnChunk = 4 << 10;          // longer pieces are passed on without a copy

constexpr std::size_t kOwnLines = static_cast<std::size_t>(-1);  // source of say()

// Colours of labels that are readable on black and on white.
constexpr int kHues[] = {36, 33, 35, 32, 34, 31, 96, 95, 92, 94};

MixerOptions simple_options(bool label, bool one_screen) {
  MixerOptions options;
  if (label) options.label = LineLabel::parse("[%r] ");
  options.one_screen = one_screen;
  return options;
}

std::size_t source_index(int rank, Stream stream) {
  return static_cast<std::size_t>(rank) * 2 + (stream == Stream::kStderr ? 1 : 0);
}

Stream stream_of(std::size_t index) {
  return index % 2 == 0 ? Stream::kStdout : Stream::kStderr;
}

// One past the end of the first line, 0 if it is unfinished. A carriage return ends a line unless a
// line feed follows; with progress bars it never does.
std::size_t line_end(std::string_view text, bool bars) {
  if (bars) return text.find('\n') + 1;  // npos + 1 is 0
  for (std::size_t at = 0;; ++at) {
    at = text.find_first_of("\r\n", at);
    if (at == std::string_view::npos) return 0;
    if (text[at] == '\n') return at + 1;
    if (at + 1 == text.size()) return 0;
    if (text[at + 1] != '\n') return at + 1;
  }
}

// Moves the following bytes of an unfinished line to it; true when the line is complete.
bool complete(std::string& line, std::string_view& bytes, bool bars) {
  const auto take = [&](std::size_t size) {
    line += bytes.substr(0, size);
    bytes.remove_prefix(size);
  };
  if (bars || !line.ends_with('\r')) {
    const std::size_t end = bars ? bytes.find('\n') : bytes.find_first_of("\r\n");
    take(end == std::string_view::npos ? bytes.size() : end + 1);
    if (line.ends_with('\n')) return true;
    if (end == std::string_view::npos) return false;
  }
  if (bytes.empty()) return false;  // the byte after the carriage return decides
  if (bytes.front() == '\n') take(1);
  return true;
}

}  // namespace

LineMixer::LineMixer(std::size_t ranks, MixerOptions options) : options_(std::move(options)) {
  set_size(options_.columns, options_.rows);
  set_ranks(ranks);
}

LineMixer::LineMixer(std::size_t ranks, bool label, bool one_screen)
    : LineMixer(ranks, simple_options(label, one_screen)) {}

void LineMixer::set_ranks(std::size_t ranks) {
  sources_.resize(ranks * 2);
  facts_.resize(ranks);
  for (std::size_t i = 0; i < ranks; ++i) facts_[i].rank = std::to_string(i);
  for (Screen& screen : screens_) screen.fold.set_ranks(ranks);
}

void LineMixer::set_rank(int rank, LabelFacts facts) {
  const auto index = static_cast<std::size_t>(rank);
  if (index >= facts_.size()) return;
  facts.rank = facts_[index].rank;
  facts_[index] = std::move(facts);
}

void LineMixer::set_size(int columns, int rows) {
  for (Screen& screen : screens_) screen.bars.set_size(columns, rows);
}

std::string LineMixer::label_of(const LabelFacts& facts, Stream stream) const {
  if (options_.label.empty()) return {};
  const auto wall = options_.began + std::chrono::floor<std::chrono::seconds>(now_).count();
  const std::string text = options_.label.text(facts, stream, wall);
  if (!options_.color[stream == Stream::kStdout ? 0 : 1]) return text;
  // The blank after a label is not coloured.
  const std::size_t end = text.find_last_not_of(' ') + 1;
  const auto hue = static_cast<std::size_t>(std::atoi(facts.rank.c_str())) % std::size(kHues);
  return fmt::format("\x1b[{}m{}\x1b[0m{}", kHues[hue], text.substr(0, end), text.substr(end));
}

void LineMixer::feed(int rank, Stream stream, std::string bytes, JobTime now) {
  const std::size_t index = source_index(rank, stream);
  if (index >= sources_.size() || bytes.empty()) return;
  now_ = now;
  chunk_bytes_ = bytes.size() + bytes.size() / 4 + 64;  // with labels
  Source& from = source(index);
  if (options_.label.empty() && !live(stream)) {
    show_at_once(index, stream, std::move(bytes));
  } else {
    show_lines(index, stream, bytes, now);
  }
  if (live(stream)) show_live(index, stream, now);
  if (from.pending.size() > kMaxPendingBytes) {
    show_folded(screen(stream), screen(stream).fold.take_all());
    std::string pending = std::exchange(from.pending, {});
    show(index, stream, pending, &pending);
  }
  if (from.pending.empty() || from.live) {
    from.since.reset();
  } else if (!from.since) {
    from.since = now;
    if (!next_due_) next_due_ = now + kPartialLineDelay;
  }
  settle(stream, now);
}

// Nothing is inserted between the lines of a rank.
void LineMixer::show_at_once(std::size_t index, Stream stream, std::string bytes) {
  Source& from = source(index);
  std::size_t end = bytes.rfind('\n') + 1;  // npos + 1 is 0
  if (end == 0 && from.pending.size() + bytes.size() <= kMaxPendingBytes) {
    if (from.pending.empty()) {
      from.pending = std::move(bytes);
    } else {
      from.pending += bytes;
    }
    return;
  }
  std::string begun = std::exchange(from.pending, {});
  show(index, stream, begun, &begun);
  if (end == 0) end = bytes.size();
  from.pending = bytes.substr(end);
  bytes.resize(end);
  show(index, stream, bytes, &bytes);
  from.since.reset();
}

void LineMixer::show_lines(std::size_t index, Stream stream, std::string_view bytes, JobTime now) {
  Source& from = source(index);
  const bool bars = live(stream);
  while (!bytes.empty()) {
    if (!from.pending.empty()) {
      if (!complete(from.pending, bytes, bars)) return;
      std::string line = std::exchange(from.pending, {});
      whole_line(index, stream, line, &line, now);
    } else if (const std::size_t end = line_end(bytes, bars); end > 0) {
      whole_line(index, stream, bytes.substr(0, end), nullptr, now);
      bytes.remove_prefix(end);
    } else {
      from.pending = bytes;
      return;
    }
    from.since.reset();
  }
}

// An unfinished line with carriage returns is a progress bar; only its last state counts.
void LineMixer::show_live(std::size_t index, Stream stream, JobTime now) {
  Source& from = source(index);
  Screen& on = screen(stream);
  const bool rewrites = from.pending.find('\r') != std::string::npos;
  if (!from.live && !rewrites) return;
  if (on.owner == index) {  // its beginning was shown as a prompt
    put(stream, "\r\x1b[K");
    on.owner.reset();
  }
  from.live = true;
  from.labelled = false;
  on.bars_on = stream;
  const std::string_view text = last_shown(from.pending);
  // The last state is enough: a long-running bar must not grow.
  const bool ends = from.pending.ends_with('\r');
  if (!text.empty()) {
    if (is_blank(text)) {
      on.bars.remove(index);
    } else {
      on.bars.update(index, label_of(facts_[index / 2], stream) + std::string(text));
    }
    if (!on.redraw) on.redraw = std::max(now, on.drawn + kRedraw);
  }
  from.pending = std::string(text) + (ends ? "\r" : "");
}

void LineMixer::whole_line(std::size_t index, Stream stream, std::string_view text,
                           std::string* owner, JobTime now) {
  Source& from = source(index);
  Screen& on = screen(stream);
  std::string last_state;
  if (live(stream) && last_shown(text).size() + 1 != text.size()) {
    const std::string_view shown = last_shown(text);
    if (owner != nullptr && shown.data() == text.data()) {
      owner->resize(shown.size());
    } else {
      last_state = shown;
      owner = &last_state;
    }
    *owner += '\n';
    text = *owner;
  }
  if (std::exchange(from.live, false)) {
    hide_bars(on, stream);
    on.bars.remove(index);
  }
  // The rest of a line whose beginning is on the screen cannot be folded.
  const bool begins = !from.labelled && text.ends_with('\n');
  if (!options_.fold[stream == Stream::kStdout ? 0 : 1] || options_.label.empty() || !begins) {
    show_folded(on, on.fold.take_all());
    show(index, stream, text, owner);
    return;
  }
  LabelFacts kind = facts_[index / 2];
  // The label without the rank: if it shows hosts or programs, lines of different ones stay apart.
  kind.rank.clear();
  on.fold.add(static_cast<int>(index / 2), options_.label.text(kind, stream, 0), stream,
              owner != nullptr ? std::move(*owner) : std::string(text), now);
  show_folded(on, on.fold.take_due(now));
}

void LineMixer::show_folded(Screen&, std::vector<FoldedLine> lines) {
  for (FoldedLine& line : lines) {
    const std::size_t index = source_index(line.ranks.front(), line.stream);
    if (line.ranks.size() == 1) {
      show(index, line.stream, line.text, &line.text);
      continue;
    }
    // They arrived in any order.
    std::sort(line.ranks.begin(), line.ranks.end());
    make_way(kOwnLines, line.stream);
    LabelFacts facts = facts_[index / 2];
    facts.rank = fold_ranks(line.ranks);
    put(line.stream, label_of(facts, line.stream));
    put(line.stream, line.text, &line.text);
  }
}

void LineMixer::show(std::size_t index, Stream stream, std::string_view text, std::string* owner) {
  if (text.empty()) return;
  const char last = text.back();
  make_way(index, stream);
  Source& from = source(index);
  if (!from.labelled && text != "\r") put(stream, label_of(facts_[index / 2], stream));
  put(stream, text, owner);
  const bool finished = last == '\n';
  from.labelled = !finished && last != '\r';
  if (finished) {
    screen(stream).owner.reset();
  } else {
    screen(stream).owner = index;
  }
}

// Ends the unfinished line of another source, if the cursor is on one.
void LineMixer::make_way(std::size_t index, Stream stream) {
  Screen& on = screen(stream);
  hide_bars(on, stream);
  if (!on.owner || *on.owner == index) return;
  const bool same_rank = index != kOwnLines && *on.owner / 2 == index / 2;
  // As without dtlaunch: the program's two streams may share a line.
  if (same_rank && options_.label.empty()) return;
  put(stream, "\n");
  source(*on.owner).labelled = false;
  on.owner.reset();
}

void LineMixer::hide_bars(Screen& on, Stream stream) {
  if (!on.bars.drawn()) return;
  put(stream, on.bars.erase());
  // Bars that were erased for other lines return after half the usual time.
  if (!on.redraw) on.redraw = on.drawn + kRedraw / 2;
}

void LineMixer::draw_bars(Screen& on, Stream stream, JobTime now) {
  on.redraw.reset();
  if (on.bars.drawn()) put(stream, on.bars.erase());
  if (on.bars.empty()) return;
  make_way(kOwnLines, stream);
  put(stream, on.bars.draw());
  on.drawn = now;
}

void LineMixer::settle(Stream stream, JobTime now) {
  Screen& on = screen(stream);
  if (on.redraw && *on.redraw <= now) draw_bars(on, on.bars_on, now);
}

void LineMixer::put(Stream stream, std::string_view text, std::string* owner) {
  if (text.empty()) return;
  // Passed on without a copy: see ARCHITECTURE.md, the copies of output.
  if (owner != nullptr && text.size() >= kOwnChunk) {
    chunks_.push_back({stream, std::move(*owner), {}});
    return;
  }
  const auto has_room = [&](const std::string& bytes) {
    return bytes.capacity() - bytes.size() >= text.size();  // growing would copy the chunk
  };
  if (chunks_.empty() || chunks_.back().stream != stream || !has_room(chunks_.back().bytes)) {
    chunks_.push_back({stream, {}, {}});
    chunks_.back().bytes.reserve(std::max(text.size(), chunk_bytes_));
  }
  chunks_.back().bytes += text;
}

void LineMixer::note(int rank, Stream stream, std::string_view line, JobTime now) {
  const std::size_t index = source_index(rank, stream);
  if (index >= sources_.size()) return;
  now_ = now;
  show_folded(screen(stream), screen(stream).fold.take_all());
  Source& from = source(index);
  show(index, stream, std::exchange(from.pending, {}));
  from.since.reset();
  make_way(kOwnLines, stream);
  put(stream, std::string(line) + "\n");
}

void LineMixer::rank_ended(int rank) {
  for (const Stream stream : {Stream::kStdout, Stream::kStderr}) {
    const std::size_t index = source_index(rank, stream);
    if (index >= sources_.size()) continue;
    Source& from = source(index);
    std::string rest = std::exchange(from.pending, {});
    from.since.reset();
    if (from.live && is_blank(last_shown(rest))) {
      from.live = false;
      hide_bars(screen(stream), stream);
    } else if (from.live) {
      rest += '\n';
      whole_line(index, stream, rest, &rest, now_);
    } else if (!rest.empty()) {
      show_folded(screen(stream), screen(stream).fold.take_all());
      show(index, stream, rest);
    }
  }
}

void LineMixer::finish() {
  for (std::size_t rank = 0; rank < facts_.size(); ++rank) rank_ended(static_cast<int>(rank));
  for (Screen& on : screens_) show_folded(on, on.fold.take_all());
}

void LineMixer::show_partial_lines(JobTime now) {
  now_ = now;
  next_due_.reset();
  for (Screen& on : screens_) show_folded(on, on.fold.take_due(now));
  for (std::size_t index = 0; index < sources_.size(); ++index) {
    Source& from = source(index);
    if (!from.since) continue;
    const JobTime due = *from.since + kPartialLineDelay;
    if (due > now) {
      next_due_ = next_due_ ? std::min(*next_due_, due) : due;
      continue;
    }
    show_folded(screen(stream_of(index)), screen(stream_of(index)).fold.take_all());
    show(index, stream_of(index), std::exchange(from.pending, {}));
    from.since.reset();
  }
  for (const Stream stream : {Stream::kStdout, Stream::kStderr}) settle(stream, now);
}

std::optional<JobTime> LineMixer::next_partial_line() const {
  std::optional<JobTime> next = next_due_;
  const auto consider = [&](std::optional<JobTime> due) {
    if (due && (!next || *due < *next)) next = due;
  };
  for (const Screen& on : screens_) {
    consider(on.redraw);
    consider(on.fold.next_due());
  }
  return next;
}

void LineMixer::say(std::string_view lines) {
  for (Screen& on : screens_) show_folded(on, on.fold.take_all());
  make_way(kOwnLines, Stream::kStderr);
  put(Stream::kStderr, lines);
}

std::vector<Chunk> LineMixer::take() {
  return std::exchange(chunks_, {});
}

}  // namespace dtl
