#include "launcher/console.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "base/log.h"

namespace dtl {

Console::Console(OutputWriter::Descriptors descriptors, bool label, OutputWriter::Events events)
    : terminal_(::isatty(descriptors.out) != 0),
      columns_(terminal_columns(descriptors.err)),
      mixer_(0, label, is_one_screen(descriptors.out, descriptors.err)),
      writer_(descriptors, is_one_screen(descriptors.out, descriptors.err), std::move(events)) {
  writer_.set_lossy(terminal_);
}

void Console::set_ranks(std::size_t ranks) {
  mixer_.set_ranks(ranks);
  tails_.resize(ranks);
}

void Console::rank_output(const Output& message, Time now) {
  if (message.rank >= tails_.size()) return;
  if (message.stream == Stream::kStderr) tails_[message.rank].feed(message.bytes);
  mixer_.feed(static_cast<int>(message.rank), message.stream, message.bytes, now);
  flush();
}

void Console::rank_ended(int rank) {
  mixer_.rank_ended(rank);
  flush();
}

void Console::say(std::string_view text) {
  messages_.emplace_back(text);
  if (said_) said_(text);
  mixer_.say(fmt::format("{}: {}\n", program_name(), text));
  writer_.write_always(mixer_.take());
}

void Console::print(std::string_view text) {
  writer_.write_always({{Stream::kStdout, std::string(text)}});
}

void Console::show_partial_lines(Time now) {
  const auto due = mixer_.next_partial_line();
  if (!due || *due > now) return;
  mixer_.show_partial_lines(now);
  flush();
}

void Console::stop_waiting() {
  lossy_ = true;
  writer_.set_lossy(true);
}

std::vector<std::string> Console::last_lines(int rank) const {
  const auto index = static_cast<std::size_t>(rank);
  return rank >= 0 && index < tails_.size() ? tails_[index].lines() : std::vector<std::string>{};
}

}  // namespace dtl
