#pragma once
// The command line of dttrain as shells complete it, made of its tables of options. Pure.

#include "base/options/completion.h"

namespace dtl::trainer {

Completion own_completion();

}  // namespace dtl::trainer
