#include "base/options/completion_parts.h"

namespace dtl {

// A user's name before a host's is left out: the list of -hosts takes none. `ls` expands the
// patterns of Include; all of them but * and ? is quoted for the shell that runs it.
const char* const kHostsAwk = R"awk(
function add(name) {
  if (name != "" && !(name in seen)) { seen[name] = 1; print name; count++ }
}
# n[01-04,07] and [n01-n04]
function expand(text,  open, shut, head, tail, parts, pieces, i, low, high, stem, k) {
  open = index(text, "["); shut = index(text, "]")
  if (!open) { add(text); return }
  if (shut < open || count > 4096) return
  head = substr(text, 1, open - 1); tail = substr(text, shut + 1)
  pieces = split(substr(text, open + 1, shut - open - 1), parts, ",")
  for (i = 1; i <= pieces; i++) {
    low = high = parts[i]
    if (match(low, /-[^-]*$/)) { high = substr(low, RSTART + 1); low = substr(low, 1, RSTART - 1) }
    if (!match(low, /[0-9]+$/)) continue
    stem = substr(low, 1, RSTART - 1); low = substr(low, RSTART)
    if (match(high, /[0-9]+$/)) high = substr(high, RSTART)
    for (k = low + 0; k <= high + 0 && count <= 4096; k++)
      expand(head stem sprintf("%0" length(low) "d", k) tail)
  }
}
function hostfile(path,  line, word, rest) {
  while ((getline line < path) > 0) {
    sub(/^\357\273\277/, "", line)
    if (comment && !sub(/^.*\*\//, "", line)) continue
    comment = 0
    gsub(/\/\*[^*]*\*\//, " ", line)
    sub(/(#|\/\/).*/, "", line)
    if (sub(/\/\*.*/, "", line)) comment = 1
    if (split(line, word, /[ \t\r]+/) == 0) continue
    word[1] = word[1] == "" ? word[2] : word[1]
    if (word[1] ~ /^\^/) continue
    sub(/^[^@]*@/, "", word[1])
    if (word[1] ~ /^\[.*:.*:.*\]/) { sub(/^\[/, "", word[1]); sub(/\].*/, "", word[1]) }
    else if (word[1] !~ /:.*:/) sub(/:.*/, "", word[1])
    expand(word[1])
  }
  close(path)
}
function quoted(path,  i, c, text) {
  for (i = 1; i <= length(path); i++) {
    c = substr(path, i, 1)
    text = text (c ~ /[A-Za-z0-9_.\/*?-]/ ? c : sprintf("%c", 92) c)
  }
  return text
}
function include(pattern, depth,  command, path, paths, n, i) {
  if (pattern ~ /^~\//) pattern = home substr(pattern, 2)
  else if (pattern !~ /^\//) pattern = home "/.ssh/" pattern
  command = "ls -d -- " quoted(pattern) " 2>/dev/null"
  while ((command | getline path) > 0) paths[++n] = path
  close(command)
  for (i = 1; i <= n; i++) config(paths[i], depth)
}
function config(path, depth,  line, words, n, i) {
  if (depth > 8 || (path in read)) return
  read[path] = 1
  while ((getline line < path) > 0) {
    sub(/^[ \t]+/, "", line); sub(/[ \t\r]+$/, "", line)
    n = split(line, words, /[ \t="]+/)
    if (tolower(words[1]) == "host") {
      for (i = 2; i <= n; i++) if (words[i] !~ /[*?!]/) add(words[i])
    } else if (tolower(words[1]) == "include") {
      for (i = 2; i <= n; i++) if (words[i] != "") include(words[i], depth + 1)
    }
  }
  close(path)
}
BEGIN {
  home = ARGV[2]
  if (ARGV[1] != "") hostfile(ARGV[1])
  config(home "/.ssh/config", 0)
}
)awk";

// A record whose process is gone is a leftover: its number and its start time tell.
const char* const kJobsAwk = R"awk(
function lives(process,  part, stat, words) {
  split(process, part, ":")
  if ((getline stat < ("/proc/" part[1] "/stat")) <= 0) return 0
  close("/proc/" part[1] "/stat")
  sub(/^.*\) /, "", stat)
  split(stat, words, " ")
  return words[20] == part[2]
}
function record(path, kept,  line, blank, of) {
  while ((getline line < path) > 0) {
    blank = index(line, " ")
    of[substr(line, 1, blank - 1)] = substr(line, blank + 1)
  }
  close(path)
  if (of["job"] !~ /^[0-9a-f]+$/ || (of["job"] in seen) || !(kept || lives(of["process"]))) return
  seen[of["job"]] = 1
  print of["job"] "\t" (of["state"] == "" ? "running" : of["state"]) ": " substr(of["command"], 1, 60)
}
function folder(path, file, kept,  command, name, quote, plain) {
  quote = sprintf("%c", 39)
  if (path == "" || index(path, quote)) return
  command = "ls " quote path quote " 2>/dev/null"
  while ((command | getline name) > 0) if (name !~ /\.tmp$/) record(path "/" name file, kept)
  close(command)
}
BEGIN {
  for (i = 1; i < ARGC - 1; i++) folder(ARGV[i], "", 0)
  folder(ARGV[ARGC - 1], "/record", 1)
}
)awk";

}  // namespace dtl
