#include <fmt/format.h>

#include "base/options/completion_parts.h"
#include "base/text.h"

namespace dtl {
namespace {

// The words of the line, and where in them the cursor stands.
constexpr std::string_view kReading =
    R"bash(# Completion of @program@ for bash, written by `@program@ --completion bash`.

# The options of a command, in `names`.
_@f@_names() {
  case $1 in
@names@  esac
}

# What stands behind the option $2 of the command $1.
_@f@_option() {
  local bare=${2%%=*}
  while [[ $bare == -* ]]; do bare=${bare#-}; done
  if ((${#bare} > 1)); then bare=${bare,,} bare=${bare//_/-}; fi
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

# A word as typed, without its quotes.
_@f@_plain() {
  plain=$1
  case $plain in
    \'*) plain=${plain#\'} plain=${plain%\'} ;;
    \"*) plain=${plain#\"} plain=${plain%\"} ;;
    *) plain=${plain//\\/} ;;
  esac
}

# bash cuts words at '=', ':' and '@'. Here they are put together again, in `words` up to the cursor;
# `starts` has their numbers in COMP_WORDS. bash replaces the end of the last one: `cut` is the rest.
_@f@_words() {
  local line=${COMP_LINE:0:COMP_POINT} rest piece plain blank breaks after_break='' i end=-1
  words=() starts=() cut=''
  for ((i = 0; i <= COMP_CWORD; i++)); do
    rest=${line#"${line%%[![:blank:]]*}"} blank='' breaks=''
    if [[ $rest != "$line" || $i == 0 ]]; then blank=yes; fi
    piece=${COMP_WORDS[i]}
    if ((i == COMP_CWORD)); then piece=$rest; fi
    if [[ $piece == [=:@]* ]]; then breaks=yes; fi
    line=${rest#"$piece"}
    _@f@_plain "$piece"
    if [[ -z $blank && -n $breaks$after_break ]]; then
      cut=${words[end]}
      words[end]+=$plain
      if [[ -n $breaks ]]; then cut=${words[end]}; fi
    else
      words+=("$plain") starts+=("$i") cut=''
      ((end += 1))
    fi
    after_break=$breaks
  done
}
)bash";

constexpr std::string_view kBashValues = R"bash(
_@f@_hosts() {
  local file=${hostfile/#~\//$HOME/}
  awk '@hosts@' "$file" "$HOME" </dev/null 2>/dev/null
}

_@f@_jobs() { # all or running
  local kept='' state=${XDG_STATE_HOME:-$HOME/.local/state}/dtlaunch
  if [[ $1 == all ]]; then kept=$state/jobs; fi
  awk '@jobs@' "${XDG_RUNTIME_DIR:-/run/user/$EUID}/dtlaunch/jobs" "/run/user/$EUID/dtlaunch/jobs" \
    "$state/run-$HOSTNAME/jobs" "/tmp/dtlaunch-$EUID/jobs" "$kept" </dev/null 2>/dev/null
}

# Programs of $PATH, from the first letter on: all of them are too many to read.
_@f@_programs() {
  local folder file folders
  [[ -n $1 && $1 != */* ]] || return 0
  IFS=: read -ra folders <<<"$PATH"
  for folder in "${folders[@]}"; do
    for file in "$folder/$1"*; do
      if [[ -f $file && -x $file ]]; then found+=("${file##*/}"); fi
    done
  done
}

# Puts those of `found` that begin with $3 into COMPREPLY, with $1 before them; $2 are list items
# that are there already.
_@f@_offer() {
  local item whole
  for item in ${found[@]+"${found[@]}"}; do
    if [[ $item != "$3"* || ,$2 == *,"$item"[,:]* ]]; then continue; fi
    whole=$1$2$item
    COMPREPLY+=("${whole#"$cut"}")
    if [[ $item == *[:=] ]]; then compopt -o nospace 2>/dev/null; fi
  done
}

_@f@_files() { # -f or -d, what stands before the name, the beginning of the name
  local name lines
  mapfile -t lines < <(compgen "$1" -- "$3")
  if ((${#lines[@]} > 0)); then compopt -o filenames 2>/dev/null; fi
  for name in ${lines[@]+"${lines[@]}"}; do
    name=$2$name
    COMPREPLY+=("${name#"$cut"}")
  done
}

# Completes the value $2 by fill, choice and list; $1 is what stands before it in its word.
_@f@_value() {
  local lead=$1 value=$2 items='' found lines
  IFS=" " read -ra found <<<"$choice"
  if [[ -n $list ]]; then
    if [[ $fill == networks && $value == ^* ]]; then lead+=^ value=${value#^}; fi
    if [[ ${value##*\[} != *\]* && $value == *\[* ]]; then return 0; fi
    items=${value%"${value##*,}"} value=${value##*,}
  fi
  case $fill in
    file | hostfile) _@f@_files -f "$lead" "$value" ;;
    folder) _@f@_files -d "$lead" "$value" ;;
    hosts) mapfile -t -O ${#found[@]} found < <(_@f@_hosts) ;;
    networks) for lines in /sys/class/net/*; do found+=("${lines##*/}"); done ;;
    variable) mapfile -t -O ${#found[@]} found < <(compgen -e) ;;
    job | running)
      lines=all
      if [[ $fill == running ]]; then lines=running; fi
      mapfile -t lines < <(_@f@_jobs "$lines")
      found+=(${lines[@]+"${lines[@]%%$'\t'*}"})
      ;;
    command)
      _@f@_programs "$value"
      _@f@_files -f "$lead" "$value"
      ;;
  esac
  _@f@_offer "$lead" "$items" "$value"
}

# The options of the command $1 that begin with $2. With none, the same spelled otherwise.
_@f@_options() {
  local names name bare=$2 plain typed=''
  _@f@_names "$1"
  local found=("${names[@]}")
  _@f@_offer '' '' "$2"
  if ((${#COMPREPLY[@]} > 0)); then return 0; fi
  while [[ $bare == -* ]]; do bare=${bare#-} typed+=-; done
  bare=${bare,,} bare=${bare//_/-}
  for name in "${names[@]}"; do
    plain=$name
    while [[ $plain == -* ]]; do plain=${plain#-}; done
    if [[ ${plain//_/-} != "$bare"* ]]; then continue; fi
    if [[ -n '@anydashes@' ]]; then COMPREPLY+=("$typed$plain"); else COMPREPLY+=("$name"); fi
  done
}

# The command line of another program begins at word $1: its own completion goes on.
_@f@_other_program() {
  local from=${starts[$1]} spec program
  if declare -F _comp_command_offset >/dev/null; then
    _comp_command_offset "$from"
    return
  elif declare -F _command_offset >/dev/null; then
    _command_offset "$from"
    return
  fi
  program=${words[$1]}
  spec=$(complete -p -- "${program##*/}" 2>/dev/null)
  if [[ $spec != *' -F '* ]]; then
    fill=file choice='' list=''
    _@f@_value '' "${words[${#words[@]} - 1]}"
    return
  fi
  spec=${spec#* -F } spec=${spec%% *}
  local line=$COMP_LINE i
  for ((i = 0; i < from; i++)); do
    line=${line#"${line%%[![:blank:]]*}"}
    line=${line#"${COMP_WORDS[i]}"}
  done
  line=${line#"${line%%[![:blank:]]*}"}
  local COMP_POINT=$((COMP_POINT - ${#COMP_LINE} + ${#line})) COMP_LINE=$line
  local COMP_CWORD=$((COMP_CWORD - from)) COMP_WORDS=("${COMP_WORDS[@]:from}")
  "$spec" "$program" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
}
)bash";

constexpr std::string_view kBashMain = R"bash(
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
_@f@_last_word() { # COMMAND, its number of operands so far
  local current=${words[last]} first
  if [[ $current == -*=* ]]; then
    _@f@_option "$1" "$current"
    if [[ $takes != none ]]; then _@f@_value "${current%%=*}=" "${current#*=}"; fi
  elif [[ $current == -* ]]; then
    _@f@_options "$1" "$current"
  else
    _@f@_operand "$1"
    if [[ $fill != command && $2 -gt 0 || -n $first && $at_first == 0 ]]; then fill=nothing choice=''; fi
    if [[ $last == 1 && -z $1 ]]; then choice+=' @subcommands@'; fi
    if [[ $fill == nothing && -z ${choice// /} ]]; then
      _@f@_options "$1" "$current"
    else
      _@f@_value '' "$current"
    fi
  fi
}

_@f@() {
  local -a words starts
  local cut takes fill choice list first skip hostfile='' command='' program='' operands=0
  local at=1 last at_first=1
  _@f@_words
  last=$((${#words[@]} - 1))
  COMPREPLY=()
  if ((last > 1)) && [[ ' @subcommands@ ' == *" ${words[1]} "* ]]; then command=${words[1]} at=2; fi
  for (( ; at < last; at++, at_first = 0)); do
    if [[ -n $program ]]; then
      if [[ ${words[at]} == : ]]; then command=: program=''; fi
    elif [[ ${words[at]} == -- ]]; then
      _@f@_operand "$command"
      if [[ $fill == command ]]; then program=$((at + 1)); fi
    elif [[ ${words[at]} == -?* ]]; then
      _@f@_option "$command" "${words[at]}"
      _@f@_skip
      if [[ $fill == hostfile ]]; then
        hostfile=${words[at]#*=}
        if ((skip > 0)); then hostfile=${words[at + 1]}; fi
      fi
      if ((skip > 0 && at + skip >= last)); then
        if ((at + 1 < last)); then fill=nothing choice=''; fi
        _@f@_value '' "${words[last]}"
        return 0
      fi
      ((at += skip))
      if [[ $takes == last ]]; then program=-; fi
    else
      _@f@_operand "$command"
      if [[ $fill == command ]]; then program=$at; else ((operands += 1)); fi
    fi
  done
  if [[ -z $program ]]; then
    _@f@_last_word "$command" "$operands"
  elif [[ $program == "$last" ]]; then
    fill=command choice='' list=''
    _@f@_value '' "${words[last]}"
  elif [[ $program == - ]]; then
    fill=file choice='' list=''
    _@f@_value '' "${words[last]}"
  else
    _@f@_other_program "$program"
  fi
  return 0
}

complete -F _@f@ @program@
)bash";

std::string bash_names(const Completion& completion) {
  std::string text;
  for (const CompletedCommand& command : completion.commands) {
    std::vector<std::string> names;
    for (const CompletedOption& option : command.options) {
      if (option.offered) names.insert(names.end(), option.names.begin(), option.names.end());
    }
    text += fmt::format("    {}) names=({}) ;;\n", shell_quoted(command.name), join(names, " "));
  }
  return text;
}

}  // namespace

std::string bash_completion(const Completion& completion) {
  std::vector<std::string> subcommands;
  for (const CompletedCommand& command : completion.commands) {
    if (!command.name.empty() && command.name != ":") subcommands.push_back(command.name);
  }
  const bool jobs = uses(completion, Fill::kJob) || uses(completion, Fill::kRunningJob);
  std::string text(kReading);
  text.append(kBashValues).append(kBashMain);
  return fill_in(text, {{"f", function_name(completion.program)},
                        {"program", completion.program},
                        {"names", bash_names(completion)},
                        {"options", option_branches(completion)},
                        {"operands", operand_branches(completion)},
                        {"subcommands", join(subcommands, " ")},
                        {"anydashes", completion.any_dashes ? "yes" : ""},
                        {"hosts", uses(completion, Fill::kHosts) ? kHostsAwk : "BEGIN { }"},
                        {"jobs", jobs ? kJobsAwk : "BEGIN { }"}});
}

}  // namespace dtl
