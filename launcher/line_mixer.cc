#include "launcher/line_mixer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace dtl {
namespace {

constexpr std::size_t kMaxPendingBytes = 64 << 10;  // a longer line is shown in pieces
constexpr std::size_t kTailLines = 20;
constexpr std::size_t kTailLineBytes = 400;  // more does not fit on a card

constexpr std::size_t kOwnLines = static_cast<std::size_t>(-1);  // source of say()

std::size_t source_index(int rank, Stream stream) {
  return static_cast<std::size_t>(rank) * 2 + (stream == Stream::kStderr ? 1 : 0);
}

Stream stream_of(std::size_t index) {
  return index % 2 == 0 ? Stream::kStdout : Stream::kStderr;
}

// One past the end of the first line in text[from, ...), npos when it is not finished. A carriage
// return ends a line when something other than a line feed follows.
std::size_t line_end(std::string_view text, std::size_t from) {
  for (std::size_t at = from;; ++at) {
    at = text.find_first_of("\r\n", at);
    if (at == std::string_view::npos) return at;
    if (text[at] == '\n') return at + 1;
    if (at + 1 == text.size()) return std::string_view::npos;
    if (text[at + 1] != '\n') return at + 1;
  }
}

}  // namespace

LineMixer::LineMixer(std::size_t ranks, bool label, bool one_screen)
    : label_(label), one_screen_(one_screen), sources_(ranks * 2) {}

void LineMixer::feed(int rank, Stream stream, std::string_view bytes, Time now) {
  const std::size_t index = source_index(rank, stream);
  if (index >= sources_.size() || bytes.empty()) return;
  Source& from = source(index);
  from.pending += bytes;
  show_lines(index, stream);
  if (from.pending.size() > kMaxPendingBytes) {
    show(index, stream, std::exchange(from.pending, {}));
    from.scanned = 0;
  }
  if (from.pending.empty()) {
    from.since.reset();
  } else if (!from.since) {
    from.since = now;
    if (!next_due_) next_due_ = now + kPartialLineDelay;
  }
}

void LineMixer::show_lines(std::size_t index, Stream stream) {
  Source& from = source(index);
  std::size_t begin = 0;
  if (!label_) {  // nothing goes between the lines: show all of them at once
    const std::size_t last = from.pending.rfind('\n');
    if (last != std::string::npos) begin = last + 1;
    show(index, stream, std::string_view(from.pending).substr(0, begin));
  } else {
    std::size_t end = line_end(from.pending, from.scanned);
    for (; end != std::string::npos; end = line_end(from.pending, begin)) {
      show(index, stream, std::string_view(from.pending).substr(begin, end - begin));
      begin = end;
    }
  }
  if (begin > 0) {
    from.pending.erase(0, begin);
    from.since.reset();
  }
  from.scanned = from.pending.size();
  if (from.pending.ends_with('\r')) --from.scanned;  // what follows decides
}

void LineMixer::show(std::size_t index, Stream stream, std::string_view text) {
  if (text.empty()) return;
  make_way(index, stream);
  Source& from = source(index);
  if (label_ && !from.labelled && text != "\r") put(stream, fmt::format("[{}] ", index / 2));
  put(stream, text);
  const bool finished = text.back() == '\n';
  from.labelled = !finished && text.back() != '\r';
  if (finished) {
    screen(stream).owner.reset();
  } else {
    screen(stream).owner = index;
  }
}

// Ends the unfinished line of another source, if the cursor is on one.
void LineMixer::make_way(std::size_t index, Stream stream) {
  Screen& on = screen(stream);
  if (!on.owner || *on.owner == index) return;
  const bool same_rank = index != kOwnLines && *on.owner / 2 == index / 2;
  if (same_rank && !label_) return;
  put(stream, "\n");
  source(*on.owner).labelled = false;
  on.owner.reset();
}

void LineMixer::put(Stream stream, std::string_view text) {
  if (chunks_.empty() || chunks_.back().stream != stream) chunks_.push_back({stream, {}});
  chunks_.back().bytes += text;
}

void LineMixer::rank_ended(int rank) {
  for (const Stream stream : {Stream::kStdout, Stream::kStderr}) {
    const std::size_t index = source_index(rank, stream);
    if (index >= sources_.size()) continue;
    show(index, stream, std::exchange(source(index).pending, {}));
    source(index).scanned = 0;
    source(index).since.reset();
  }
}

void LineMixer::show_partial_lines(Time now) {
  next_due_.reset();
  for (std::size_t index = 0; index < sources_.size(); ++index) {
    Source& from = source(index);
    if (!from.since) continue;
    const Time due = *from.since + kPartialLineDelay;
    if (due > now) {
      next_due_ = next_due_ ? std::min(*next_due_, due) : due;
      continue;
    }
    show(index, stream_of(index), std::exchange(from.pending, {}));
    from.scanned = 0;
    from.since.reset();
  }
}

void LineMixer::say(std::string_view lines) {
  make_way(kOwnLines, Stream::kStderr);
  put(Stream::kStderr, lines);
}

std::vector<Chunk> LineMixer::take() {
  return std::exchange(chunks_, {});
}

void LineTail::feed(std::string_view bytes) {
  for (const char c : bytes) {
    if (c != '\n' && c != '\r') {
      if (current_.size() < kTailLineBytes) current_ += c;
      continue;
    }
    if (!current_.empty()) lines_.push_back(std::exchange(current_, {}));
    if (lines_.size() > kTailLines) lines_.pop_front();
  }
}

std::vector<std::string> LineTail::lines() const {
  std::vector<std::string> all(lines_.begin(), lines_.end());
  if (!current_.empty()) all.push_back(current_);
  if (all.size() > kTailLines) all.erase(all.begin());
  return all;
}

}  // namespace dtl
