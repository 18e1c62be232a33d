// The scripts for bash, zsh and fish. Each splits the line into words as its shell does, asks the
// program, and adds what only the shell knows: file names and the completion of other programs.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/options/completion.h"

namespace dtl {
namespace {

// The scripts have their own comments, for those who read them in a shell. @f@, @program@ and
// @complete@ are replaced by completion_script().
constexpr std::string_view kBash =
    R"bash(# Completion of @program@ for bash, written by `@program@ --completion bash`. It asks the program what may
# stand at the cursor.

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

_@f@_names() { # -f or -d, what stands before the name in its word
  local name lines
  mapfile -t lines < <(compgen "$1" -- "${words[${#words[@]} - 1]#"$2"}")
  if ((${#lines[@]} > 0)); then compopt -o filenames 2>/dev/null; fi
  for name in ${lines[@]+"${lines[@]}"}; do
    name=$2$name
    COMPREPLY+=("${name#"$cut"}")
  done
}

# Another program's line begins at word $1: its own completion goes on.
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
    _@f@_names -f ''
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

_@f@() {
  local -a words starts answer
  local cut word program
  _@f@_words
  COMPREPLY=()
  program=${words[0]/#~\//$HOME/}
  type -P -- "$program" >/dev/null || program=@program@
  mapfile -t answer < <("$program" @complete@ "${words[@]:1}" 2>/dev/null)
  for word in ${answer[@]+"${answer[@]:1}"}; do
    word=${word%%$'\t'*}
    COMPREPLY+=("${word#"$cut"}")
    if [[ $word == *[:=] ]]; then compopt -o nospace 2>/dev/null; fi
  done
  case ${answer[0]-} in
    files*) _@f@_names -f "${answer[0]#*$'\t'}" ;;
    folders*) _@f@_names -d "${answer[0]#*$'\t'}" ;;
    line*) _@f@_other_program "${answer[0]#*$'\t'}" ;;
  esac
  return 0
}

complete -F _@f@ @program@
)bash";

constexpr std::string_view kZsh = R"zsh(#compdef @program@
# Completion of @program@ for zsh, written by `@program@ --completion zsh`. It asks the program what may
# stand at the cursor.

_@f@() {
  local -a answer spaced open
  local line word done=1 program=${${(Q)words[1]}/#\~\//$HOME/}
  whence -p -- "$program" >/dev/null || program=@program@
  local -a before=("${(@Q)words[2,CURRENT-1]}")
  if (( CURRENT == 2 )); then before=(); fi
  answer=("${(@f)$("$program" @complete@ "${before[@]}" "${(Q)PREFIX}" 2>/dev/null)}")
  for line in "${(@)answer[2,-1]}"; do
    word=${${line%%$'\t'*}//:/\\:}
    if [[ -n ${line#*$'\t'} ]]; then word+=:${line#*$'\t'}; fi
    if [[ ${line%%$'\t'*} == *[:=] ]]; then open+=("$word"); else spaced+=("$word"); fi
  done
  # -U: what is spelled otherwise than typed is offered, too.
  if (( $#spaced > 0 )); then _describe -t values value spaced -U && done=0; fi
  if (( $#open > 0 )); then _describe -t values value open -U -S '' && done=0; fi
  line=${answer[1]#*$'\t'}
  case $answer[1] in
    files*)
      compset -P "${(b)line}"
      _files && done=0
      ;;
    folders*)
      compset -P "${(b)line}"
      _files -/ && done=0
      ;;
    line*)
      words=("${(@)words[line+1,-1]}")
      (( CURRENT -= line ))
      _normal && done=0
      ;;
  esac
  return done
}

if [[ ${funcstack[1]-} == _@program@ ]]; then
  _@f@ "$@"
else
  compdef _@f@ @program@
fi
)zsh";

constexpr std::string_view kFish =
    R"fish(# Completion of @program@ for fish, written by `@program@ --completion fish`. It asks the program what may
# stand at the cursor.

# Names that begin with $argv[1]. What no command is completed with is names of files.
function __@f@_names
    set -l typed (string escape --no-quoted -- $argv[1] | string replace -r '^\\\\~' '~')
    complete -C "__@f@_no_such_command $typed"
end

function __@f@_complete
    set -l words (commandline -opc)
    set -l raw (commandline -ct)
    set -l current (string unescape -- $raw; or string replace -ra '^[\'"]' '' -- $raw)
    set -l program @program@
    command -q -- $words[1]; and set program $words[1]
    set -l before $words
    set -e before[1]
    set -l answer (command $program @complete@ $before "$current" 2>/dev/null)
    set -l head (string split -m 1 \t -- $answer[1])
    set -e answer[1]
    printf '%s\n' $answer
    switch "$head[1]"
        case files folders
            set -l found (__@f@_names (string sub -s (math (string length -- "$head[2]") + 1) -- "$current"))
            test $head[1] = folders; and set found (string match -r '.*/$' -- $found)
            for name in $found
                echo $head[2]$name
            end
        case line
            set -l from (math $head[2] + 1)
            complete -C (string join ' ' -- (string escape -- $words[$from..-1]))" $raw"
    end
end

complete -c @program@ -f -a '(__@f@_complete)'
)fish";

// "dtring-perf" -> "dtring_perf"
std::string function_name(const std::string& program) {
  std::string name = program;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string_view script_for(const std::string& shell) {
  if (shell == "bash") return kBash;
  if (shell == "zsh") return kZsh;
  if (shell == "fish") return kFish;
  throw option_error("--completion " + shell, "unknown shell", "--completion bash, zsh or fish");
}

}  // namespace

std::string completion_script(const std::string& program, const std::string& shell) {
  std::string script(script_for(shell));
  // Program last: the other values contain no placeholders.
  script = replace_all(script, "@f@", function_name(program));
  script = replace_all(script, "@complete@", kCompleteCommand);
  return replace_all(script, "@program@", program);
}

}  // namespace dtl
