# completion_line.bash LINE SCRIPT...: prints what these scripts' completion functions offer for LINE
# with the cursor at its end, one per line. Loads the package DTL_BASH_COMPLETION=FILE first, if set.
# Prints words as readline passes them: cut at '=', ':' and '@', with quotes.

cut_line() { # LINE: in COMP_WORDS
  local line=$1 quote='' word='' kind='' char i
  COMP_WORDS=()
  for ((i = 0; i < ${#line}; i++)); do
    char=${line:i:1}
    if [[ -n $quote ]]; then
      word+=$char
      if [[ $char == "$quote" ]]; then quote=''; fi
    elif [[ $char == ' ' ]]; then
      if [[ -n $kind ]]; then COMP_WORDS+=("$word"); fi
      word='' kind=''
    else
      case $char in [=:@]) now=break ;; *) now=plain ;; esac
      if [[ -n $kind && $kind != "$now" ]]; then
        COMP_WORDS+=("$word")
        word=''
      fi
      kind=$now word+=$char
      case $char in
        \\) ((i += 1)); word+=${line:i:1} ;;
        [\'\"]) quote=$char ;;
      esac
    fi
  done
  COMP_WORDS+=("$word")
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
}

COMP_LINE=$1
shift
COMP_WORDBREAKS=$' \t\n"\'@><=;|&(:'
if [[ -n ${DTL_BASH_COMPLETION:-} ]]; then . "$DTL_BASH_COMPLETION"; fi
set -u
for script in "$@"; do . "$script"; done
# The package does not work with `set -u`; our part must.
if [[ -n ${DTL_BASH_COMPLETION:-} ]]; then set +u; fi
cut_line "$COMP_LINE"
COMP_POINT=${#COMP_LINE}
spec=$(complete -p -- "${COMP_WORDS[0]}")
spec=${spec#* -F }
"${spec%% *}" "${COMP_WORDS[0]}" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' ${COMPREPLY[@]+"${COMPREPLY[@]}"}
