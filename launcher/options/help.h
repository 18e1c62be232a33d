#pragma once
// The texts of `dtlaunch --help`, `--help-all` and `help TOPIC`, built from the tables of options
// and commands. The first fits a screen; the topics together show what --help-all shows. Pure.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/options/options.h"

namespace dtl {

struct HelpTopic {
  std::string_view name;     // as typed: "hosts"
  std::string_view group;    // the group of its options, as in their rows
  std::string_view summary;  // one line
};

// In the order of --help-all. Command names are topics too; these are the others.
std::span<const HelpTopic> help_topics();

// The names of files whose form `help` shows by an example: "hostfile".
std::vector<std::string> file_topics();

// The command whose text has this option's row: `dtlaunch --help` or `dtlaunch help TOPIC`.
std::string help_command(const Option& option);

// At most 45 lines: what dtlaunch does, the most used options, the commands, where the rest is.
std::string help_text();

// All options.
std::string help_all_text();

// dtlaunch submit --help
std::string submit_help_text();

// The options of one topic, or the example of a file. Throws Error(kUsage) for a word that names
// none; names of commands are not taken here, since each command has a --help of its own.
std::string help_topic_text(const std::string& word);

}  // namespace dtl
