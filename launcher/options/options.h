#pragma once
// The one table of dtlaunch's options. --help, the parser, the job file, completion and the check
// of the man page follow from it, so they cannot disagree. Subcommands have tables of the same kind
// in subcommand_options.h, because their options mean other things. Pure.

#include "base/options/option_table.h"
#include "launcher/options/command_line.h"

namespace dtl {

// What the options of one block of a command line say, up to a ':' or the end.
struct BlockOptions {
  CommandLine line;     // of the whole job; its programs are not touched
  ProgramLine program;  // of the block's program; -m begins its command
  // What to do in the place of a job; command_line.cc makes an Action of it.
  bool help = false, help_all = false, version = false;
  bool show_limits = false, show_scheduler = false;
  bool round_robin = false;  // -rr: deals one by one, unless -grr says how many
};

// Made at the first call, and never changed. Options are compared by their address in it.
const OptionTable<BlockOptions>& option_table();

}  // namespace dtl
