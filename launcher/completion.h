#pragma once
// The command line of dtlaunch and its subcommands as shells complete it, made of their tables of
// options and of what other launchers call them. Pure.

#include "base/options/completion.h"

namespace dtl {

Completion own_completion();

}  // namespace dtl
