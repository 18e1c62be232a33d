// The scripts are for /bin/sh and use only POSIX tools, because a worker may be a bare container.
// Each piece is a shell function in one string without newlines and single quotes; for_any_shell()
// explains why.
#include "launcher/agents/agent_command.h"

#include <fmt/format.h>

#include "base/error.h"
#include "wire/messages.h"

namespace dtl {
namespace {

constexpr std::string_view kPathCharacters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./+-";

// The login shell only has to understand `exec sh -c '...'`. sh, bash, zsh, csh and fish leave
// single quotes alone. Between them there must be no newline, exclamation mark, backslash or single
// quote. exec, so that no login shell waits beside the agent.
std::string for_any_shell(const std::string& script) {
  return "exec sh -c '" + script + "'";
}

// Sets $c to the push cache. The XDG specification says to ignore a relative XDG_CACHE_HOME.
constexpr std::string_view kFindCache =
    "case $XDG_CACHE_HOME in /*) c=$XDG_CACHE_HOME/dtlaunch;; *) c=$HOME/.cache/dtlaunch;; esac; ";

std::string folder_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

// safe FILE: whether only this user and root can have written the program, its neighbours and the
// folders above it. On success $b is its path without symbolic links; otherwise $x says who can.
// The folders count because whoever may write a folder may replace what is in it. A sticky folder
// (/tmp) is an exception: only the owner of an entry may replace it there. A group with the user's
// own name holds the user alone, which is how Debian and others set up accounts (umask 002).
// ls ends with the line "end", so that an ls that failed halfway does not count as "ok".
constexpr std::string_view kSafe =
    "u=$(id -u); "
    "own() { test \"$(id -un)\" = \"$(id -gn)\" && id -g || echo 0; }; "
    "safe() { x=\"its path cannot be followed\"; b=$(readlink -f \"$1\") && test -f \"$b\" || "
    "return 1; "
    "x=\"its path has odd characters\"; case $b in *[[:cntrl:]]*) return 1;; esac; "
    "p=${b%/*}; set -- / \"$b\"; "
    "for f in dtguard dtpmix dttrain; do test -e \"$p/$f\" && set -- \"$@\" \"$p/$f\"; done; "
    "while test -n \"$p\"; do set -- \"$p\" \"$@\"; p=${p%/*}; done; "
    "x=$({ LC_ALL=C ls -dlnL \"$@\" && echo end; } 2>/dev/null | "
    "while read -r m n o g s i j k f; do "
    "case $m in end) echo ok; break;; [d-]*) ;; *) echo \"$f is no file\"; break;; esac; "
    "case $o in 0|$u) ;; *) echo \"$f belongs to user $o\"; break;; esac; "
    "case $m in d????????[tT]*) ;; ????????w*) echo \"everybody may write $f\"; break;; "
    "?????w*) case $g in 0|$(own)) ;; *) echo \"group $g may write $f\"; break;; esac;; esac; "
    "done); test \"$x\" = ok; }; ";

// shut FILE: sets $s to the folder on the path that this user may not enter, if there is one.
// Without it, a folder with mode 700 looks like a missing dtagent, and the advice would be wrong.
constexpr std::string_view kShut =
    "shut() { p=${1%/*}; while test -n \"$p\"; do "
    "test -d \"$p\" && { test -x \"$p\" || s=$p; }; p=${p%/*}; done; return 1; }; ";

// whole FOLDER: whether the files of a push still have the hash in the folder's name (bundle.h).
// The hash is computed over the digests alone, as load_bundle() does. Without sha256sum nobody can
// tell, and the files count as whole.
constexpr std::string_view kWhole =
    "whole() { command -v sha256sum >/dev/null || return 0; "
    "h=$(cd \"$1\" && for f in dtagent dtguard dtpmix dttrain; do test -e $f && sha256sum <$f; "
    "done | "
    "tr -cd 0-9a-f | sha256sum); n=${1%-dttrain}; n=${n##*-}; "
    "case $h in $n*) test ${#n} -eq 16;; *) return 1;; esac; }; ";

// Where hosts feed each other, take() gets dtagent as the launcher's line says: "here", or "from
// ADDRESS PORT TICKET" of a host that has it. bash fetches it (agent/entrance/push_seeder.h) and
// sha256sum checks it before it runs; hosts that have both say "fetches". timeout: behind a
// firewall there may be no answer at all. The ticket is on no command line. $B and $H are those of
// own_programs().
constexpr std::string_view kFetch =
    "take() { while read -r w a p k; do case $w in "
    "here) head -c $B >\"$t/dtagent\"; return;; "
    "from) echo \"$k 0000000000000000\" | timeout 5 bash -c \"exec 3<>/dev/tcp/$a/$p && cat >&3 && "
    "exec head -c $B "
    "<&3\" >\"$t/dtagent\" 2>/dev/null; "
    "test \"$(sha256sum <\"$t/dtagent\" | tr -cd 0-9a-f)\" = $H && return; "
    "echo; echo \"DTLAUNCH-PUSH failed\";; *) return 1;; esac; done; return 1; }; "
    "command -v bash >/dev/null && command -v timeout >/dev/null && "
    "command -v sha256sum >/dev/null && { echo; echo \"DTLAUNCH-PUSH fetches\"; }; ";

// Of the host's architecture, $M: the bundle's name $N, its files $F, what dtagent --receive is
// promised $P, dtagent's bytes $B and SHA-256 $H. All in the one command, so that it takes no
// question to choose. Without programs for $M, $N is empty, and $F is what an installation has.
std::string own_programs(const Bundles& bundles) {
  std::string text = "M=$(uname -m); N=; case $M in ";
  for (const Bundle& bundle : bundles.all) {
    std::string names, promises;
    for (const BundleFile& file : bundle.files) {
      names += " " + file.name;
      promises += fmt::format(" {}:{}:{}", file.name, file.bytes.size(), file.sha256);
    }
    text += fmt::format("{}) N={} B={} H={} F=\"{}\" P=\"{}\";; ", bundle.architecture, bundle.name,
                        bundle.files[0].bytes.size(), bundle.files[0].sha256, names, promises);
  }
  return text +
         fmt::format("*) F=\"dtagent dtguard{}\";; esac; ", bundles.with_trainer ? " dttrain" : "");
}

}  // namespace

void check_agent_path(const std::string& path) {
  if (!path.empty() && path[0] == '/' &&
      path.find_first_not_of(kPathCharacters) == std::string::npos) {
    return;
  }
  throw Error(
      Exit::kConfig, "cannot start agent",
      fmt::format("the path '{}' has characters that a login shell may read in its own way", path),
      "install dtlaunch under a path of letters, digits and _./+-");
}

std::string agent_command(const std::string& path, const std::string& arguments) {
  // try() keeps the first reason in $w, because users usually mean the first candidate. safe()
  // comes right before exec, and exec uses $b, so nobody can change a symbolic link between the
  // two. Of the pushed ones: "-FILE" for each damaged one, then the first that is whole. Hosts of
  // several architectures may share the cache, so it must also run.
  return for_any_shell(
      fmt::format("{4}{5}{7}w=; s=; try() {{ test -x \"$1\" || shut \"$1\" || return 1; "
                  "safe \"$1\" && exec \"$b\" {1}; "
                  "w=${{w:-$1: $x}}; }}; try {0}; try \"$(command -v dtagent)\"; {2}"
                  "a=$(ls -t \"$c/{3}-\"*/dtagent 2>/dev/null | while read -r a; do "
                  "whole \"${{a%/*}}\" || {{ echo \"-$a\"; continue; }}; "
                  "safe \"$a\" && {{ \"$b\" --version </dev/null >/dev/null 2>&1 || continue; }}; "
                  "echo \"$a\"; break; done | tail -n 1); "
                  "case $a in -*) ;; *) try \"$a\";; esac; "
                  "test -z \"$w\" || {{ echo \"{6}$w\" >&2; exit 126; }}; "
                  "case $a in -*) echo \"{9}${{a#-}}\" >&2; exit 126;; esac; "
                  "test -z \"$s\" && exit 127; echo \"{8}$s\" >&2; exit 126",
                  path, arguments, kFindCache, DTL_VERSION, kSafe, kWhole, kRefusal, kShut,
                  kShutFolder, kDamaged));
}

// sh makes the folder and writes dtagent. From then on dtagent itself takes the other files, checks
// them and moves the folder to its final name (agent/entrance/receive_push.h). A version in the
// cache is therefore whole or absent. dtagent runs as a child here, because the shell has to remove
// the unfinished folder when it fails, and the cache if nothing else is in it. The shell must not
// die before that because the launcher reads no more (SIGPIPE).
std::string push_command(const std::string& path, const Bundles& bundles, const std::string& token,
                         AfterPush after, const std::string& peers) {
  // A host that feeds others does so until the launcher closes the stream.
  const std::string_view wait = peers.empty() ? "" : "cat >/dev/null; ";
  const std::string go = after == AfterPush::kServe ? "exec \"$1/dtagent\" --serve"
                         : after == AfterPush::kTakeFolder
                             ? "exec \"$1/dtagent\" --receive-folder"
                             : fmt::format("echo; echo \"DTLAUNCH-PUSH there $1\"; {}exit 0", wait);
  // fits() also runs --version: a program of another version beside `path` does not replace a push.
  std::string script =
      fmt::format("{}{}{}go() {{ {}; }}; ", own_programs(bundles), kSafe, kWhole, go);
  script += fmt::format(
      "fits() {{ for f in $F; do test -x \"$1/$f\" || return 1; done; safe \"$1/dtagent\" || "
      "return "
      "1; "
      "test \"$(\"$1/dtagent\" --version 2>/dev/null)\" = \"dtagent {} (protocol {})\"; }}; ",
      DTL_VERSION, kProtocol);
  // An installed dtagent comes first: it needs no transfer, and the job uses updates of it.
  script += fmt::format("fits {0} && go {0}; ", folder_of(path));
  script += "p=$(command -v dtagent); p=${p%/*}; test -n \"$p\" && fits \"$p\" && go \"$p\"; ";
  script += kFindCache;
  // The launcher refuses such a host.
  script +=
      "want() { echo; echo \"DTLAUNCH-PUSH want $M $c\"; }; test -n \"$N\" || { want; exit 78; }; ";
  // The temporary name has the token, the process and the host: hosts that share a home directory
  // on NFS may receive a push at the same time.
  script += fmt::format(
      "d=$c/$N; test -x \"$d/dtagent\" && safe \"$d/dtagent\" && whole \"$d\" && go \"$d\"; "
      "t=$c/.new-{}.$$.$(uname -n); ",
      token);
  script += peers.empty() ? "take() { head -c $B >\"$t/dtagent\"; }; " : kFetch;
  // Twice: another push that ends may remove the empty cache in between.
  script += fmt::format(
      "trap : PIPE; want; make() {{ mkdir -p \"$c\" && mkdir \"$t\"; }}; "
      "if (umask 077; make 2>/dev/null || make) && take && "
      "test \"$(wc -c <\"$t/dtagent\")\" -eq $B && chmod 700 \"$t/dtagent\" && "
      "{{ safe \"$t/dtagent\" || {{ echo \"dtagent: cannot use $c: $x\" >&2; false; }}; }} && "
      "\"$t/dtagent\" --receive $N {}$P; then go \"$d\"; fi; "
      "rm -rf \"$t\"; rmdir \"$c\" 2>/dev/null; exit 73",
      peers.empty() ? "" : peers + " ");
  return for_any_shell(script);
}

std::string remove_command() {
  return for_any_shell(std::string(kFindCache) +
                       "r=none; for d in \"$c\"/[0-9]*-* \"$c\"/.new-*; do "
                       "test -d \"$d\" && r=removed && rm -rf \"$d\"; done; "
                       "rmdir \"$c\" 2>/dev/null; echo; echo \"DTLAUNCH-PUSH $r $c\"");
}

}  // namespace dtl
