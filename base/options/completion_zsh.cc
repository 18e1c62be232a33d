#include <fmt/format.h>

#include "base/options/completion_parts.h"
#include "base/text.h"

namespace dtl {
namespace {

constexpr std::string_view kZshValues = R"zsh(#compdef @program@
# Completion of @program@ for zsh, written by `@program@ --completion zsh`.

# The options of a command with their explanations, in `names`.
_@f@_names() {
  case $1 in
@names@  esac
}

# What stands behind the option $2 of the command $1.
_@f@_option() {
  local bare=${${2%%=*}##-#}
  if (( $#bare > 1 )); then bare=${${(L)bare}//_/-}; fi
  takes=none fill=nothing choice='' list=''
  case $1/$bare in
@options@  esac
}

# What the command $1 takes beside options.
_@f@_operand() {
  fill=nothing choice='' list='' first=''
  case $1 in
@operands@  esac
}

_@f@_hosts() {
  found+=(${(f)"$(awk '@hosts@' "${hostfile/#\~\//$HOME/}" "$HOME" </dev/null 2>/dev/null)"})
}

_@f@_jobs() { # all or running
  local kept='' state=${XDG_STATE_HOME:-$HOME/.local/state}/dtlaunch
  if [[ $1 == all ]]; then kept=$state/jobs; fi
  local -a places=("${XDG_RUNTIME_DIR:-/run/user/$EUID}/dtlaunch/jobs"
    "/run/user/$EUID/dtlaunch/jobs" "$state/run-$HOST/jobs" "/tmp/dtlaunch-$EUID/jobs")
  local -a jobs=(${(f)"$(awk '@jobs@' "${places[@]}" "$kept" </dev/null 2>/dev/null)"})
  jobs=(${jobs/$'\t'/:})
  _describe -t jobs job jobs
}

# Completes the word at the cursor by fill, choice and list.
_@f@_value() {
  local -a found=(${=choice})
  local answer=1
  if [[ -n $list ]]; then
    if [[ $fill == networks ]]; then compset -P '\^'; fi
    if [[ $PREFIX == *\[* && ${PREFIX##*\[} != *\]* ]]; then return 1; fi
    compset -P '*,'
  fi
  case $fill in
    file | hostfile) _files && answer=0 ;;
    folder) _files -/ && answer=0 ;;
    hosts) _@f@_hosts ;;
    networks) found+=(/sys/class/net/*(N:t)) ;;
    variable) found+=(${(k)parameters[(R)*export*]}) ;;
    job) _@f@_jobs all && answer=0 ;;
    running) _@f@_jobs running && answer=0 ;;
    command)
      # All of $PATH is too much to read.
      if [[ -n $PREFIX && $PREFIX != */* ]]; then _command_names -e && answer=0; fi
      _files && answer=0
      ;;
  esac
  local -a open=(${(M)found:#*[:=]})
  found=(${found:#*[:=]})
  if (( $#open > 0 )); then compadd -S '' -a open && answer=0; fi
  if (( $#found > 0 )); then compadd -a found && answer=0; fi
  return answer
}

# The options of the command $1. Where none begins as typed, the same spelled otherwise.
_@f@_options() {
  local -a names other
  local name dashes=${(M)PREFIX##-#}
  local bare=${${(L)${PREFIX##-#}}//_/-}
  _@f@_names "$1"
  other=(${(M)names:#${(b)PREFIX}*})
  if (( $#other > 0 )); then
    _describe -o -t options option names
    return
  fi
  for name in $names; do
    if [[ ${${${name%%:*}##-#}//_/-} != ${(b)bare}* ]]; then continue; fi
    if [[ -n '@anydashes@' ]]; then other+=("$dashes${name##-#}"); else other+=("$name"); fi
  done
  _describe -o -t options option other -U
}
)zsh";

constexpr std::string_view kZshMain = R"zsh(
# How many words behind the one at $at belong to the option there.
_@f@_skip() {
  skip=0
  case $takes in
    one | last) skip=1 ;;
    perhaps) if [[ ${words[at + 1]} != -* ]]; then skip=1; fi ;;
    two) skip=2 ;;
    pair) if [[ ${words[at + 1]} == *=* ]]; then skip=1; else skip=2; fi ;;
  esac
  if [[ ${words[at]} == *=* ]]; then
    skip=0
    if [[ $takes == two ]]; then skip=1; fi
  fi
}

# The word at the cursor, when it is no value of an option before it.
_@f@_last_word() { # COMMAND, its number of operands so far, whether it is the first word
  local current=$PREFIX first answer=1
  if [[ $current == -*=* ]]; then
    _@f@_option "$1" "$current"
    if [[ $takes == none ]]; then return 1; fi
    compset -P '[^=]#='
    _@f@_value
    return
  elif [[ $current == -* ]]; then
    _@f@_options "$1"
    return
  fi
  local -a subcommands=(@subcommands@)
  if [[ $CURRENT == 2 && -z $1 && $#subcommands -gt 0 ]]; then
    _describe -t subcommands subcommand subcommands && answer=0
  fi
  _@f@_operand "$1"
  if [[ $fill != command && $2 -gt 0 || -n $first && $3 == 0 ]]; then fill=nothing choice=''; fi
  if [[ $fill == nothing && -z $choice ]]; then
    _@f@_options "$1" && answer=0
  else
    _@f@_value && answer=0
  fi
  return answer
}

_@f@() {
  local takes fill choice list skip hostfile='' command='' program='' operands=0 at=2 at_first=1
  if (( CURRENT > 2 )) && [[ ' @commands@ ' == *" ${words[2]} "* ]]; then command=${words[2]} at=3; fi
  for (( ; at < CURRENT; at++, at_first = 0)); do
    if [[ -n $program ]]; then
      if [[ ${words[at]} == : ]]; then command=: program=''; fi
    elif [[ ${words[at]} == -- ]]; then
      _@f@_operand "$command"
      if [[ $fill == command ]]; then program=$((at + 1)); fi
    elif [[ ${words[at]} == -?* ]]; then
      _@f@_option "$command" "${words[at]}"
      _@f@_skip
      if [[ $fill == hostfile ]]; then
        hostfile=${(Q)words[at]#*=}
        if (( skip > 0 )); then hostfile=${(Q)words[at + 1]}; fi
      fi
      if (( skip > 0 && at + skip >= CURRENT )); then
        if (( at + 1 < CURRENT )); then fill=nothing choice=''; fi
        _@f@_value
        return
      fi
      (( at += skip ))
      if [[ $takes == last ]]; then program=-; fi
    else
      _@f@_operand "$command"
      if [[ $fill == command ]]; then program=$at; else (( operands += 1 )); fi
    fi
  done
  if [[ -z $program ]]; then
    _@f@_last_word "$command" $operands $at_first
  elif [[ $program == $CURRENT ]]; then
    fill=command choice='' list=''
    _@f@_value
  elif [[ $program == - ]]; then
    _files
  else
    words=("${(@)words[program,-1]}")
    (( CURRENT -= program - 1 ))
    _normal
  fi
}

if [[ ${funcstack[1]-} == _@program@ ]]; then
  _@f@ "$@"
else
  compdef _@f@ @program@
fi
)zsh";

std::string explained(const std::string& name, const std::string& help) {
  return shell_quoted(help.empty() ? name : fmt::format("{}:{}", name, help));
}

std::string zsh_names(const Completion& completion) {
  std::string text;
  for (const CompletedCommand& command : completion.commands) {
    text += fmt::format("    {})\n      names=(\n", shell_quoted(command.name));
    for (const CompletedOption& option : command.options) {
      if (!option.offered) continue;
      for (const std::string& name : option.names) {
        text += fmt::format("        {}\n", explained(name, option.help));
      }
    }
    text += "      )\n      ;;\n";
  }
  return text;
}

}  // namespace

std::string zsh_completion(const Completion& completion) {
  std::vector<std::string> names, explanations;
  for (const CompletedCommand& command : completion.commands) {
    if (command.name.empty() || command.name == ":") continue;
    names.push_back(command.name);
    explanations.push_back(explained(command.name, command.help));
  }
  const bool jobs = uses(completion, Fill::kJob) || uses(completion, Fill::kRunningJob);
  std::string text(kZshValues);
  text.append(kZshMain);
  return fill_in(text, {{"f", function_name(completion.program)},
                        {"program", completion.program},
                        {"names", zsh_names(completion)},
                        {"options", option_branches(completion)},
                        {"operands", operand_branches(completion)},
                        {"commands", join(names, " ")},
                        {"subcommands", join(explanations, " ")},
                        {"anydashes", completion.any_dashes ? "yes" : ""},
                        {"hosts", uses(completion, Fill::kHosts) ? kHostsAwk : "BEGIN { }"},
                        {"jobs", jobs ? kJobsAwk : "BEGIN { }"}});
}

}  // namespace dtl
