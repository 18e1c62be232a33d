#pragma once
// The texts of `dtlaunch --help`, `--help-all` and `help TOPIC`, built from the tables of options
// and commands. The first fits a screen; the topics together show what --help-all shows. Pure.

#include <span>
#include <string>
#include <string_view>

namespace dtl {

struct HelpTopic {
  std::string_view name;     // as typed: "hosts"
  std::string_view group;    // the group of its options, as in their rows
  std::string_view summary;  // one line
};

// In the order of --help-all. Command names are topics too; these are the others.
std::span<const HelpTopic> help_topics();

// At most 45 lines: what dtlaunch does, the most used options, the commands, and where to read on.
std::string help_text();

// All options.
std::string help_all_text();

// The options of one topic. Throws Error(kUsage) for an unknown word and for names of commands,
// which have their own --help.
std::string help_topic_text(const std::string& word);

}  // namespace dtl
