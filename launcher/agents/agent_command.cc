#include "launcher/agents/agent_command.h"

#include <fmt/format.h>

#include "base/error.h"
#include "wire/messages.h"

namespace dtl {
namespace {

constexpr std::string_view kPathCharacters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./+-";

// sh, bash, zsh, csh and fish all leave single quotes alone, as long as there is no newline, no
// exclamation mark, no backslash and no single quote between them.
std::string for_any_shell(const std::string& script) {
  return "exec sh -c '" + script + "'";
}

// Where pushes go: $c.
constexpr std::string_view kFindCache =
    "case $XDG_CACHE_HOME in /*) c=$XDG_CACHE_HOME/dtlaunch;; *) c=$HOME/.cache/dtlaunch;; esac; ";

std::string folder_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
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
  return for_any_shell(
      fmt::format("a={0}; test -x \"$a\" && exec \"$a\" {1}; "
                  "command -v dtagent >/dev/null && exec dtagent {1}; {2}"
                  "a=$(ls -t \"$c/{3}-\"*/dtagent 2>/dev/null | head -n 1); "
                  "test -n \"$a\" && test -O \"$a\" && exec \"$a\" {1}; exit 127",
                  path, arguments, kFindCache, DTL_VERSION));
}

// The folder is made, and dtagent written, by sh; from then on dtagent itself takes care (agent/
// receive.h). It cannot replace the shell, which cleans up when it fails.
std::string push_command(const std::string& path, const Bundle& bundle, const std::string& token,
                         AfterPush after) {
  std::string names, promises;
  for (const BundleFile& file : bundle.files) {
    names += " " + file.name;
    promises += fmt::format(" {}:{}:{}", file.name, file.bytes.size(), file.sha256);
  }
  const std::string_view go = after == AfterPush::kServe
                                  ? "exec \"$1/dtagent\" --serve"
                                  : "echo; echo \"DTLAUNCH-PUSH there $1\"; exit 0";
  std::string script = fmt::format("go() {{ {}; }}; ", go);
  script += fmt::format(
      "fits() {{ for f in{}; do test -x \"$1/$f\" || return 1; done; "
      "test \"$(\"$1/dtagent\" --version 2>/dev/null)\" = \"dtagent {} (protocol {})\"; }}; ",
      names, DTL_VERSION, kProtocol);
  script += fmt::format("fits {0} && go {0}; ", folder_of(path));
  script += "p=$(command -v dtagent); p=${p%/*}; test -n \"$p\" && fits \"$p\" && go \"$p\"; ";
  script += kFindCache;
  script += fmt::format(
      "d=$c/{}; test -O \"$c\" && test -O \"$d/dtagent\" && go \"$d\"; "
      "t=$c/.new-{}.$$.$(uname -n); echo; echo \"DTLAUNCH-PUSH want $(uname -m) $c\"; "
      "if (umask 077; mkdir -p \"$c\" && mkdir \"$t\") && head -c {} >\"$t/dtagent\" && "
      "test \"$(wc -c <\"$t/dtagent\")\" -eq {} && chmod 700 \"$t/dtagent\" && "
      "\"$t/dtagent\" --receive {}{}; then go \"$d\"; fi; "
      "rm -rf \"$t\"; exit 73",
      bundle.name, token, bundle.files[0].bytes.size(), bundle.files[0].bytes.size(), bundle.name,
      promises);
  return for_any_shell(script);
}

std::string remove_command() {
  return for_any_shell(std::string(kFindCache) +
                       "r=none; for d in \"$c\"/[0-9]*-* \"$c\"/.new-*; do "
                       "test -d \"$d\" && r=removed && rm -rf \"$d\"; done; "
                       "rmdir \"$c\" 2>/dev/null; echo; echo \"DTLAUNCH-PUSH $r $c\"");
}

}  // namespace dtl
