# shellcheck shell=bash
# pack_again CMAKE BUILD TARGET FOLDER: packing a second time, later, with other temporary files, time zone,
# language, umask and user settings, gives the same bytes in BUILD/FOLDER. Needs `fail` and $work.
# scripts/release --twice also builds twice.
pack_again() {
  (cd "$2/$4" && sha256sum -- * >"$work/first.sha256")
  mkdir -p "$work/a longer name for temporary files" "$work/home"
  (umask 077
   HOME=$work/home TMPDIR="$work/a longer name for temporary files" TZ=Asia/Kathmandu LC_ALL=C.UTF-8 DTL_QUICK=${DTL_QUICK-1} \
     "$1" --build "$2" --target "$3" >"$work/log" 2>&1) || fail "again: $(tail -n 20 "$work/log")"
  (cd "$2/$4" && sha256sum --quiet -c "$work/first.sha256") || fail "packed again, these differ"
}
