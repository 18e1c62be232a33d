#!/bin/bash
# Which folder may include which, and which file may include each third-party library, so that
# replacing a library changes one file.
#   includes.sh [ROOT]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
root=${1:-$(cd "$here/../.." && pwd)}

complaints=$(cd "$root" && project_files . | grep -E '^[a-z]+/.*\.(cc|h|c|cpp|hpp)$' |
             xargs -r -d '\n' awk '
  BEGIN {
    may["base"] = "base"
    may["plan"] = "base plan"
    may["ring"] = "base ring"
    may["wire"] = "base plan wire"
    may["launcher"] = "base plan wire launcher"
    may["agent"] = "base plan wire agent"
    may["trainer"] = "base ring trainer"
    folders = "^(base|plan|ring|wire|launcher|agent|trainer|tests|bench|python)$"

    home["^zlib[.]h"] = "^launcher/ssh/[^/]*$"
    home["^utf8proc[.]h"] = "^trainer/pieces/unicode[.]cc$"
    home["^sqlite3"] = "^launcher/history/[^/]*[.]cc$"
    home["^libssh/"] = "^launcher/ssh/[^/]*$"
    home["^pmix(_|/|[.]h)"] = "^agent/pmix/[^/]*$"
    home["^hwloc(/|[.]h)"] = "^agent/node/detect[.]cc$"
    home["^toml([.]hpp|/|11)"] = "^base/toml11[.]h$"
    home["^(cblas|f77blas|lapacke|openblas)"] = "^trainer/maths/gemm[.]cc$"
    home["^(dnnl|oneapi/dnnl)"] = "^trainer/maths/onednn[.]h$"
    home["^boost/"] = "^(wire/asio[.]h|agent/cloud/metadata_client[.]cc)$"
    home["^boost/asio"] = "^wire/asio[.]h$"
    home["^openssl/(bio|err|ssl|x509v3)[.]h"] = "^(base/tls/psk_tls|launcher/trainjob/status_post)[.]cc$"
    home["^openssl/"] = "^(base/sha256|base/tls/psk_tls|launcher/ssh/hmac_sha1|launcher/trainjob/status_post|ring/common/crypto)[.]cc$"
    home["^fmt/.*-inl[.]h"] = "^base/fmt_library[.]cc$"
    # Expensive to compile: never in a header that others include.
    home["^nlohmann/"] = "[.]cc$"
  }
  FNR == 1 { folder = FILENAME; sub("/.*", "", folder) }
  !(folder in may) { nextfile }
  /^[ \t]*#[ \t]*include[ \t]*[<"]/ {
    quoted = ($0 ~ /include[ \t]*"/)
    name = $0
    sub(/^[^<"]*[<"]/, "", name)
    sub(/[>"].*/, "", name)
    place = FILENAME ":" FNR ": "
    target = name
    if (!sub("/.*", "", target)) target = ""
    if (quoted && target !~ folders)
      print place "\"" name "\" does not start at the root of the repository"
    else if (target ~ folders && index(" " may[folder] " ", " " target " ") == 0)
      print place folder " must not include " name " (only: " may[folder] ")"
    for (library in home)
      if (name ~ library && FILENAME !~ home[library])
        print place "<" name "> has its home in " home[library]
  }')
report "the include rule" "$complaints"
