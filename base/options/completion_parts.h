#pragma once
// What the three writers of completion scripts share. Only for base/completion*.cc.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/options/completion.h"

namespace dtl {

std::string bash_completion(const Completion& completion);
std::string zsh_completion(const Completion& completion);
std::string fish_completion(const Completion& completion);

// Both are awk programs without a single quote or a doubled backslash, so that every shell can
// quote them. kHostsAwk prints host names: arguments are a hostfile or "", and the home folder.
// kJobsAwk prints "ID<TAB>what it is": arguments are the folder of records and that of kept jobs.
extern const char* const kHostsAwk;
extern const char* const kJobsAwk;

bool uses(const Completion& completion, Fill fill);
std::string_view fill_name(Fill fill);
std::string_view follows_name(Follows follows);

// "--per_device" -> "per-device": options are looked up by this. One letter keeps its case.
std::string plain_option(std::string_view name);

// "dtring-perf" -> "dtring_perf"
std::string function_name(const std::string& program);

// In single quotes, for bash and zsh.
std::string shell_quoted(const std::string& text);

// The branches of `case COMMAND/OPTION in` that set takes, fill, choice and list; bash and zsh.
std::string option_branches(const Completion& completion);
// The same of `case COMMAND in`, for operands; sets first, too.
std::string operand_branches(const Completion& completion);

// Replaces each "@name@" of a template. What a replacement holds is left alone.
std::string fill_in(std::string_view text,
                    const std::vector<std::pair<std::string_view, std::string>>& values);

}  // namespace dtl
