// faulthandler writes from a signal handler, so it works in a rank that hangs in C. It prints only
// files, lines and functions.
#include "launcher/job/rank_stack.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>

#include "base/text.h"

namespace dtl {
namespace {

constexpr std::string_view kSince = ", since ";

using Frames = std::vector<StackFrame>;

struct Thread {
  bool current = false;  // the thread that took the signal
  Frames frames;
};

//   File "/home/me/train.py", line 31 in main
std::optional<StackFrame> parse_frame(std::string_view line) {
  constexpr std::string_view kFile = "  File \"", kLine = "\", line ", kIn = " in ";
  if (!line.starts_with(kFile)) return std::nullopt;
  line.remove_prefix(kFile.size());
  // From the right, because a path may contain these words.
  const std::size_t quote = line.rfind(kLine);
  if (quote == std::string_view::npos) return std::nullopt;
  const std::string_view rest = line.substr(quote + kLine.size());
  const std::size_t in = rest.find(kIn);
  if (in == std::string_view::npos) return std::nullopt;
  StackFrame frame;
  frame.file = printable(line.substr(0, quote));
  frame.line = static_cast<int>(parse_integer(rest.substr(0, in), 0, 1 << 30).value_or(0));
  frame.function = printable(rest.substr(in + kIn.size()));
  return frame;
}

std::vector<Thread> parse_threads(const std::string& text) {
  std::vector<Thread> threads;
  for (const std::string& line : split(text, '\n')) {
    if (line.ends_with("(most recent call first):")) {
      threads.push_back({line.starts_with("Current thread"), {}});
    } else if (auto frame = parse_frame(line)) {
      if (threads.empty()) threads.emplace_back();  // its head was cut off
      threads.back().frames.push_back(std::move(*frame));
    }
  }
  return threads;
}

bool is_in(const StackFrame& frame, std::string_view end) {
  return frame.file.ends_with(end);
}

// "all_reduce of 4.0 MiB of float32, since 10:13:02": dtring's name for a frame that has waited for
// a while. faulthandler prints no more than function names, so dtring puts the note there.
bool names_collective(const StackFrame& frame) {
  return is_in(frame, "/dtring/_stacks.py") && frame.function.find(kSince) != std::string::npos;
}

bool take_note(const Frames& frames, RankStack& stack) {
  const auto note = std::find_if(frames.begin(), frames.end(), names_collective);
  if (note == frames.end()) return false;
  const std::size_t since = note->function.find(kSince);
  stack.details = note->function.substr(0, since);
  stack.since = note->function.substr(since + kSince.size());
  stack.collective = stack.details.substr(0, stack.details.find(" of "));
  return true;
}

// The function of torch.distributed that the user called, with any backend. Names that begin with _
// are internal.
void take_torchs_name(const Frames& frames, RankStack& stack) {
  for (const StackFrame& frame : frames) {
    if (!is_in(frame, "/torch/distributed/distributed_c10d.py")) continue;
    if (frame.function.starts_with('_') || frame.function.starts_with('<')) continue;
    stack.collective = stack.details = frame.function;
    return;
  }
}

}  // namespace

RankStack parse_stack(const std::string& text) {
  RankStack stack;
  std::vector<Thread> threads = parse_threads(text);
  if (threads.empty()) return stack;
  // The kernel prefers the main thread for a signal; faulthandler lists it last.
  auto main =
      std::find_if(threads.begin(), threads.end(), [](const Thread& t) { return t.current; });
  if (main == threads.end()) main = std::prev(threads.end());
  // dtring's note says more: size, type and time.
  if (!take_note(main->frames, stack)) take_torchs_name(main->frames, stack);
  // The main thread of DistributedDataParallel waits in C++ for a future that a thread completes.
  for (const Thread& thread : threads) {
    if (stack.collective.empty()) take_note(thread.frames, stack);
  }
  stack.frames = std::move(main->frames);
  return stack;
}

bool is_users(const StackFrame& frame) {
  constexpr std::string_view kOthers[] = {"/site-packages/", "/dist-packages/", "/lib/python3",
                                          "/dtring/_"};
  return !frame.file.starts_with('<') &&
         std::none_of(std::begin(kOthers), std::end(kOthers), [&](std::string_view part) {
           return frame.file.find(part) != std::string::npos;
         });
}

const StackFrame* where(const RankStack& stack) {
  const auto own = std::find_if(stack.frames.begin(), stack.frames.end(), is_users);
  if (own != stack.frames.end()) return &*own;
  return stack.frames.empty() ? nullptr : &stack.frames.front();
}

std::string frame_text(const StackFrame& frame) {
  return fmt::format("File \"{}\", line {}, in {}", frame.file, frame.line, frame.function);
}

}  // namespace dtl
