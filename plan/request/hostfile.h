#pragma once
// Parses a hostfile. dtlaunch-hostfile(5) describes the grammar, which includes the common syntax
// of Hydra, Intel MPI, Open MPI and DeepSpeed, so existing files work unchanged. Pure: text in,
// hosts out, in file order. The code that reads the file checks who may write to it.

#include <string_view>
#include <vector>

#include "plan/request/host.h"

namespace dtl {

// Every error is an Error(kBadInput) that starts with "file:line:column", quotes the invalid text
// and says what to write instead. A file without hosts is an error; it never means localhost. A
// host named again (on any line) adds its slots to the first mention.
std::vector<Host> parse_hostfile(std::string_view text, std::string_view path);

// The value of -hosts: "a,b:2,n[01-04]". Error(kUsage) with the column within the value.
std::vector<Host> parse_host_option(std::string_view value);

}  // namespace dtl
