#pragma once
// The one table of dtlaunch's options. --help, the parser, the job file, completion and the check
// of the man page use it, so they cannot disagree. Subcommands have such tables in
// subcommand_options.h, because their options have other meanings. Pure.

#include "base/options/option_table.h"
#include "launcher/options/command_line.h"

namespace dtl {

// The options of one block of a command line, up to a ':' or the end.
struct BlockOptions {
  CommandLine line;     // of the whole job; without its programs
  ProgramLine program;  // of the block's program; -m begins its command
  // What to do instead of a job; command_line.cc sets Action from it.
  bool help = false, help_all = false, version = false;
  bool show_limits = false, show_scheduler = false, names = false;
  bool round_robin = false;  // -rr: distributes one by one, unless -grr gives a number
};

// Built at the first call and never changed, because options are compared by their address in it.
const OptionTable<BlockOptions>& option_table();

}  // namespace dtl
