#include "agent/pmi/pmi_line.h"

#include <algorithm>

#include "agent/pmi/pmi2_message.h"
#include "base/text.h"

namespace dtl {
namespace {

constexpr std::string_view kCommand = "cmd=", kSpawn = "mcmd=spawn";

// Removes the first word from `rest`: up to a space, and the spaces after it.
std::string_view take_word(std::string_view& rest) {
  const std::string_view word = rest.substr(0, rest.find(' '));
  rest.remove_prefix(word.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  return word;
}

}  // namespace

const std::string* PmiCommand::find(std::string_view key) const {
  const auto found = std::find_if(attributes.begin(), attributes.end(),
                                  [&](const auto& each) { return each.first == key; });
  return found == attributes.end() ? nullptr : &found->second;
}

PmiCommand parse_pmi_line(std::string_view line) {
  PmiCommand command;
  command.line = line;
  if (!line.starts_with(kCommand)) return command;
  std::string_view rest = line.substr(kCommand.size());
  const std::string_view name = take_word(rest);
  while (!rest.empty()) {
    const std::string_view whole = rest;
    const std::string_view word = take_word(rest);
    const std::size_t equals = word.find('=');
    const std::string_view key = word.substr(0, equals);
    if (key.empty()) return command;  // still without a name
    std::string_view value;
    if (equals != word.npos) value = word.substr(equals + 1);
    if (equals != word.npos && (key == "value" || key == "message")) {
      value = whole.substr(equals + 1);
      rest = {};
    }
    command.attributes.emplace_back(key, value);
  }
  command.name = name;
  return command;
}

void PmiReader::feed(std::string_view bytes) {
  bytes_.erase(0, read_);
  searched_ -= read_;
  read_ = 0;
  bytes_ += bytes;
}

std::optional<std::string_view> PmiReader::next_line() {
  const std::size_t end = bytes_.find('\n', searched_);
  if (end == bytes_.npos) {
    searched_ = bytes_.size();
    return std::nullopt;
  }
  const std::string_view line = std::string_view(bytes_).substr(read_, end - read_);
  read_ = searched_ = end + 1;
  return line;
}

void PmiReader::read_spawn_line(std::string_view line) {
  constexpr std::string_view kAll = "totspawns=", kSoFar = "spawnssofar=";
  if (line.starts_with(kAll)) spawns_ = line.substr(kAll.size());
  if (line.starts_with(kSoFar)) spawns_so_far_ = line.substr(kSoFar.size());
  if (line == "endcmd" && spawns_ == spawns_so_far_) in_spawn_ = false;
}

std::optional<PmiCommand> PmiReader::next_message() {
  const std::string_view left = std::string_view(bytes_).substr(read_);
  if (left.size() < kPmi2LengthBytes) return std::nullopt;
  const auto length = parse_integer(trim(left.substr(0, kPmi2LengthBytes)), 1, kMaxPmi2Message);
  if (!length) {
    read_ = searched_ = bytes_.size();
    return PmiCommand{{}, {}, std::string(left.substr(0, kMaxPmiLine))};
  }
  const std::size_t whole = kPmi2LengthBytes + static_cast<std::size_t>(*length);
  if (left.size() < whole) return std::nullopt;
  const PmiCommand command =
      parse_pmi2_message(left.substr(kPmi2LengthBytes, whole - kPmi2LengthBytes));
  read_ = searched_ = read_ + whole;
  return command;
}

std::optional<PmiCommand> PmiReader::next() {
  constexpr std::string_view kInit = "cmd=init";
  const bool is_init =
      std::string_view(bytes_).substr(read_).starts_with(kInit.substr(0, kPmi2LengthBytes));
  if (version_ == PmiVersion::k2 && !is_init) return next_message();
  while (const auto line = next_line()) {
    if (line->size() > kMaxPmiLine) return PmiCommand{{}, {}, std::string(*line)};
    if (in_spawn_) {
      read_spawn_line(*line);
      if (!in_spawn_) return PmiCommand{"spawn", {}, std::string(*line)};
    } else if (*line == kSpawn) {
      in_spawn_ = true;
      spawns_ = spawns_so_far_ = {};
    } else {
      return parse_pmi_line(*line);
    }
  }
  if (bytes_.size() - read_ <= kMaxPmiLine) return std::nullopt;
  PmiCommand endless{{}, {}, bytes_.substr(read_, kMaxPmiLine)};
  read_ = searched_ = bytes_.size();
  return endless;
}

}  // namespace dtl
