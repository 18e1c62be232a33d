#pragma once
// The texts of `dtlaunch --help`, `--help-all` and `help TOPIC`, made from the table of options and
// the table of commands. The first fits a screen; together the topics show what --help-all shows.
// Pure.

#include <span>
#include <string>
#include <string_view>

namespace dtl {

struct HelpTopic {
  std::string_view name;     // as typed: "hosts"
  std::string_view group;    // of the options that it shows, as their rows have it
  std::string_view summary;  // one line
};

// In the order of --help-all. Commands are topics too; these are the others.
std::span<const HelpTopic> help_topics();

// At most 45 lines: what dtlaunch does, the most used options, the commands, where the rest is.
std::string help_text();

// All options.
std::string help_all_text();

// The options of one topic. Throws Error(kUsage) for a word that names none; names of commands are
// not taken here, since each command has a --help of its own.
std::string help_topic_text(const std::string& word);

}  // namespace dtl
