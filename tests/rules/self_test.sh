#!/bin/bash
# Shows that each rule script can fail: it must refuse every bad tree below with the text beside it, and
# accept the good twin.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

# Makes a new, empty tree; $tree is its folder.
new_tree() {
  tree=$(mktemp -d "$scratch/tree.XXXXXX")
  cp "$here/../../.clang-format" "$tree"
}

# put FILE TEXT...: writes the lines into the tree.
put() {
  local file=$tree/$1
  mkdir -p "$(dirname "$file")"
  shift
  printf '%s\n' "$@" >"$file"
}

# expect STATUS TEXT SCRIPT ARGUMENTS...
expect() {
  local wanted=$1 text=$2 status=0 output
  shift 2
  local with=bash
  [[ $1 != *.py ]] || with=python3
  output=$("$with" "$here/$1" "${@:2}" 2>&1) || status=$?
  if [ "$status" = 77 ]; then
    echo "not tested: $1 ($output)"
  elif [ "$status" != "$wanted" ] || ! grep -qF -- "$text" <<<"$output"; then
    echo "FAILED: $1 should end with $wanted and say '$text'; it ended with $status and said:"
    printf '%s\n' "$output" | sed 's/^/    /'
    failures=$((failures + 1))
  fi
}

messages_case() {  # messages_case STATUS TEXT LINE
  new_tree
  put launcher/a.cc "$3"
  expect "$1" "$2" messages.py "$tree"
}
pipes_case() {  # pipes_case STATUS TEXT LINE
  new_tree
  put tests/a.sh '#!/bin/bash' "$3"
  expect "$1" "$2" pipes.py "$tree"
}
pipes_case 1 'tests/a.sh:2: a pipe to grep -q' 'ls -l | grep -Eq -- x && y'
pipes_case 0 kept 'grep -q x < <(ls) || grep -q y file'
pipes_case 0 kept 'on node1 sh -c "ss -H | grep -q ."'

messages_case 0 kept 'throw option_error("-np " + text, "not a number", "-np 2");'
messages_case 0 kept '// -np is no number'
messages_case 0 kept 'Error file_error(std::string place);'
messages_case 1 'in the place of "is no"' 'return "x is no number";'
messages_case 1 'an option has no quotes' 'throw Error(Exit::kOs, "a", fmt::format("option '"'-np'"'"));'
messages_case 1 'the file comes first' 'return "cannot read '"'{}'"'";'
messages_case 1 'the option comes first' 'throw option_error("option '"'{}'"'", "why", "-np 2");'
messages_case 1 'give the hint to the function' 'log_error("no job. Try: dtlaunch ps");'
messages_case 1 'no period at the end' 'throw option_error("-np 2", "not here.", "-np 3");'
messages_case 1 'a message begins small' 'log_notice("Nothing is here");'
messages_case 1 'a mistake of the user has a hint' 'throw option_error("-np 2", "why", "");'
messages_case 1 'a mistake of the user has a hint' 'throw file_error("hosts:1", "", "why");'
messages_case 1 'option_error() is for mistakes' 'throw Error(Exit::kUsage, "-np", "why", "-np 2");'

includes_case() {  # includes_case STATUS TEXT FILE INCLUDE
  new_tree
  put "$3" '#pragma once' "#include $4"
  expect "$1" "$2" includes.sh "$tree"
}
includes_case 0 kept plan/a.h '"base/error.h"'
includes_case 0 kept launcher/ssh/session.cc '<libssh/libssh.h>'
includes_case 0 kept tests/x.cc '<hwloc.h>'
includes_case 0 kept trainer/step/trainer.cc '"ring/dtring.h"'
includes_case 1 'plan must not include wire/frame.h' plan/a.h '"wire/frame.h"'
includes_case 1 'launcher must not include agent/x.h' launcher/a.cc '"agent/x.h"'
includes_case 1 'ring must not include plan/request/host.h' ring/a.cc '<plan/request/host.h>'
includes_case 1 'base must not include tests/x.h' base/a.cc '"tests/x.h"'
includes_case 1 'base/a.cc:2: "error.h" does not start' base/a.cc '"error.h"'
includes_case 1 '<libssh/libssh.h> has its home' launcher/session/session.cc '<libssh/libssh.h>'
includes_case 1 '<hwloc.h> has its home' agent/main.cc '<hwloc.h>'
includes_case 1 '<toml.hpp> has its home' launcher/request/job_file.cc '<toml.hpp>'
includes_case 1 '<cblas.h> has its home' trainer/layers.cc '<cblas.h>'
includes_case 1 '<oneapi/dnnl/dnnl.h> has its home' trainer/maths/gemm.cc '<oneapi/dnnl/dnnl.h>'
includes_case 0 kept trainer/json/json_list.cc '<nlohmann/json.hpp>'
includes_case 1 '<nlohmann/json.hpp> has its home' trainer/json/json_list.h '<nlohmann/json.hpp>'
includes_case 1 '<openssl/evp.h> has its home' base/random.cc '<openssl/evp.h>'
includes_case 1 '<fmt/format-inl.h> has its home' base/text.cc '<fmt/format-inl.h>'
includes_case 1 '<utf8proc.h> has its home' trainer/tokens/tokenizer.cc '<utf8proc.h>'
includes_case 1 '<zlib.h> has its home' launcher/agents/push.cc '<zlib.h>'
includes_case 1 '<boost/asio.hpp> has its home' wire/frame.cc '<boost/asio.hpp>'
includes_case 1 'plan must not include ring/dtring.h' plan/b.cc '  "ring/dtring.h"'

# rooms_case STATUS TEXT FILE INCLUDE: a tree of two rooms and a hall, and one more include.
rooms_case() {
  new_tree
  put base/CMakeLists.txt 'dtl_room(base SOURCES text.cc)'
  put base/text.h '#pragma once'
  put ring/CMakeLists.txt 'dtl_room(ring/links SOURCES link.cc PUBLIC dtl_base)' \
    'dtl_room(ring/engine SOURCES engine.cc PUBLIC dtl_base dtl_ring_links)'
  put ring/links/link.h '#include "base/text.h"'
  put ring/links/link.cc '#include "ring/links/link.h"'
  put ring/engine/engine.h '#include "base/text.h"' '#include "ring/links/link.h"'
  put ring/main.cc '#include "ring/engine/engine.h"'
  put CONTRIBUTING.md '    base' '    ring/links          base' '    ring/engine         base links'
  [ -z "${3-}" ] || printf '%s\n' "#include $4" >>"$tree/$3"
  expect "$1" "$2" rooms.py "$tree"
}
rooms_case 0 kept
rooms_case 0 kept ring/engine/engine.cc '"base/text.h"'
rooms_case 1 'ring/links/link.cc:2: ring/links must not include ring/engine/engine.h' ring/links/link.cc '"ring/engine/engine.h"'
rooms_case 1 'a circle: ring/links -> ring/engine -> ring/links' ring/links/link.h '"ring/engine/engine.h"'
rooms_case 1 'base must not include ring/links/link.h' base/text.h '"ring/links/link.h"'
rooms_case 1 "a program's own" ring/links/link.cc '"ring/options.h"'
rooms_case 0 kept
sed -i '/links/d' "$tree/CONTRIBUTING.md"
expect 1 "CONTRIBUTING.md lacks the line '    ring/links" rooms.py "$tree"
printf '%s\n' '#pragma once' >"$tree/ring/engine/engine.h"
expect 1 'ring/engine links ring/links and includes nothing of it' rooms.py "$tree"
for i in $(seq 21); do put "ring/links/part$i.h" '#pragma once'; done
expect 1 'ring/links has 22 pairs of files' rooms.py "$tree"

# architecture_case STATUS TEXT: a drawing of one room, and the values of $drawn and $said.
architecture_case() {
  new_tree
  put ring/links/link.cc 'void step();'
  put ARCHITECTURE.md '' '## Rooms' '' "    $drawn" '' '## Ways' '' "$said" 'and `ring/links/link.cc` `step`.'
  expect "$1" "$2" architecture.py "$tree"
}
drawn='base plan wire agent launcher ring trainer links' said='' architecture_case 0 true
drawn='base plan wire agent launcher ring trainer' said='links' architecture_case 1 'lacks ring/links'
drawn='base wire agent launcher ring trainer links' said='plan' architecture_case 1 'lacks plan'
drawn='base plan wire agent launcher ring trainer links' said='`ring/links/gone.cc`' architecture_case 1 'there is no ring/links/gone.cc'
drawn='base plan wire agent launcher ring trainer links' said='`ring/links/link.cc` `run`,' architecture_case 1 'ring/links/link.cc has no run'

new_tree
put base/long.cc $(seq 400)
expect 0 kept size.sh "$tree"
put base/longer.cc $(seq 401)
expect 1 'base/longer.cc: 401 lines, at most 400' size.sh "$tree"

# function_case STATUS TEXT FILE LINES: a function of this many lines, including head and braces.
function_case() {
  new_tree
  case $3 in
    *.cc) put "$3" '// "{" is no brace' "$head {" $(seq -f 'f(%g);' $(($4 - 2))) '}' ;;
    *.py) put "$3" 'def long():' $(seq -f 'f(%g)' $(($4 - 1))) && sed -i '2,$s/^/    /' "$tree/$3" ;;
    *.sh) put "$3" 'long() {' $(seq -f 'f%g' $(($4 - 2))) '}' ;;
  esac
  expect "$1" "$2" functions.py "$tree"
}
eight='int a, int b, std::map<int, int> c, int d = g(1, 2), void (*e)(int, int), int f, int g, int h'
head='void A::b() const' function_case 0 kept base/a.cc 60
head='void A::b() const' function_case 1 'base/a.cc:2: A::b has 61 lines, at most 60' base/a.cc 61
head='A::A() : a_{1}, b_(f({2, 3}))' function_case 1 'A::A has 61 lines' base/a.cc 61
head='template <class T, class = std::enable_if_t<(1 > 0)>> auto f(T t) -> int' function_case 1 'f has 61' base/a.cc 61
head='bool operator()(int a) noexcept' function_case 1 'operator() has 61 lines' base/a.cc 61
head="void f($eight)" function_case 0 kept base/a.cc 3
head="void f($eight, int i)" function_case 1 'base/a.cc:2: f takes 9 parameters, at most 8' base/a.cc 3
head="int dt_f($eight, int i)" function_case 0 kept ring/a.cc 3
function_case 0 kept tests/a.py 60
function_case 1 'tests/a.py:1: long has 61 lines' tests/a.py 61
function_case 0 kept tests/a.sh 60
function_case 1 'tests/a.sh:1: long has 61 lines' tests/a.sh 61
new_tree
put base/a.cc 'const T& table() {' '  static const T kTable = {' $(seq -f '{%g},' 99) '  };' '  return kTable;' '}'
expect 0 kept functions.py "$tree"

# used_case STATUS TEXT CALLS TESTS: Pen has paint() and draw(), mix() is free; main's and a test's calls.
used_case() {
  new_tree
  put base/pen.h 'class Pen {' ' public:' '  void draw();' '  int paint() const { return mix(1); }' \
    ' private:' '  int mix_ = 0;' '};' 'int mix(int a);' 'int mix(int a, int b);'
  put base/pen.cc 'void Pen::draw() { draw(); }' 'int mix(int a) { return a; }' \
    'int mix(int a, int b) { return mix(a) + b; }'
  put launcher/main.cc "int main() { Pen pen; $3 }"
  put tests/pen_test.cc "TEST(Pen, Is) { ${4-} }"
  expect "$1" "$2" used.py "$tree"
}
used_case 0 kept 'pen.draw(); pen.paint(); mix(1, 2);'
used_case 0 kept 'std::vector<void (Pen::*)()> all{&Pen::draw, &Pen::paint}; auto f = &mix; run(mix);'
used_case 1 'base/pen.cc:1: Pen::draw: called by tests alone: tests/pen_test.cc' 'pen.paint(); mix(1, 2);' 'pen.draw();'
used_case 1 'base/pen.cc:1: Pen::draw: nobody calls it' 'pen.paint(); mix(1, 2); int draw = 3; f(draw);'
used_case 1 'base/pen.h:4: Pen::paint: nobody calls it' 'pen.draw(); mix(1, 2); // pen.paint();'
used_case 1 'base/pen.cc:2: mix: nobody calls it' 'pen.draw(); Paint paint(2);'
used_case 0 kept 'pen.draw(); pen.paint(); mix(1, 2);'
put base/toml11.cc 'int TomlTypes::parse_int() { return 1; }' 'int main() { return TomlTypes::parse_int(); }'
expect 1 'the exception TomlTypes::parse_int is not needed' used.py "$tree"

new_tree
put tests/base/a_test.cc 'TEST(A, Is) {}'
put tests/base/CMakeLists.txt 'dtl_test(base_test SOURCES a_test.cc)'
put tests/e2e/runs.sh 'true'
put tests/e2e/CMakeLists.txt 'dtl_e2e(runs)'
expect 0 kept built.py "$tree"
put tests/base/CMakeLists.txt 'dtl_test(base_test SOURCES b_test.cc) # a_test.cc'
expect 1 'tests/base/a_test.cc: no CMakeLists.txt names it' built.py "$tree"
put tests/base/CMakeLists.txt 'dtl_test(base_test SOURCES a_test.cc)'
put tests/e2e/forgotten.sh 'false'
expect 1 'tests/e2e/forgotten.sh: no CMakeLists.txt names it' built.py "$tree"

new_tree
put base/a.cc 'int main() {}'
expect 0 kept format.sh "$tree"
put base/b.cc 'int   main ( ) { }'
expect 1 'base/b.cc:1: not as clang-format writes it' format.sh "$tree"

# A program whose --help prints the given lines, and a page with the given option lists.
program() {
  local name=$1
  shift
  put "bin/$name" '#!/bin/sh' "cat <<'END'" "$@" END
  chmod +x "$tree/bin/$name"
}
page() {
  local file=$1 item
  shift
  put "$file" '.Dd November 1, 2024' '.Dt DTLAUNCH 1' '.Os' '.Sh NAME' '.Nm dtlaunch' \
      '.Nd starts jobs' '.Sh DESCRIPTION' 'Options:' '.Bl -tag -width indent'
  for item in "$@"; do printf '%s\n' "$item" 'Text.' >>"$tree/$file"; done
  printf '%s\n' '.El' >>"$tree/$file"
  put man/CMakeLists.txt 'set(pages' "  ${file#man/}" ')'
}
man_case() {  # man_case STATUS TEXT HELP_LINE ITEM...
  local status=$1 text=$2 help=$3
  shift 3
  new_tree
  program dtlaunch 'usage: dtlaunch [options]' "$help"
  page man/dtlaunch.1 "$@"
  expect "$status" "$text" man.sh "$tree/bin" "$tree"
}
man_case 0 kept '  -f, -hostfile FILE  read hosts, not -x' '.It Fl f , Fl hostfile Ar file'
man_case 0 kept '      --dry-run       show the plan' '.It Fl -dry-run'
man_case 0 kept '  -np N, -n N         ranks' '.It Fl np Ar n , Fl n Ar n'
man_case 1 "option 'report' is in --help but not in dtlaunch.1" '  -f FILE, --report FILE  x' \
         '.It Fl f Ar file'
man_case 1 "option 'ppn' is in dtlaunch.1 but not in --help" '  -f FILE  x' '.It Fl f Ar file' \
         '.It Fl ppn Ar n'
man_case 1 '--help shows no option' 'nothing'
below() { printf '%s\n' 'Text.' .El ".Ss $1" '.Bl -tag -width indent' "$2"; }
man_case 0 kept $'\nHow:\n  -f FILE  x' '.It Cm none' "$(below How '.It Fl f Ar file')"
man_case 1 "has 'How: f', and dtlaunch.1 has it below another" $'\nHow\n  -f FILE  x' '.It Cm none' \
         "$(below Why '.It Fl f Ar file')"
man_case 1 'dtlaunch.1:' '  -f FILE  x' '.It Fl f Ar file' '.Xyz nonsense'
new_tree
page man/dtlaunch.1
put man/CMakeLists.txt ''
expect 1 'man/dtlaunch.1 is not installed' man.sh "$tree/bin" "$tree"
new_tree
put bin/dttrain '#!/bin/sh' '[ "$1" = __options ] && set -- --help' 'echo "  --${1#--}  x"'
chmod +x "$tree/bin/dttrain"
page man/dttrain.1 '.It Fl -help' '.It Fl -init' '.It Fl -encode' '.It Fl -layers Ar n'
expect 1 "option 'layers' is in dttrain.1 but not in --help" man.sh "$tree/bin" "$tree"
page man/dttrain.1 '.It Fl -help' '.It Fl -init' '.It Fl -encode'
expect 0 kept man.sh "$tree/bin" "$tree"
new_tree
program dttrain '  --demo  x'
expect 1 'dttrain has no man page man/dttrain.1' man.sh "$tree/bin" "$tree"

# A build folder whose only program is a line of C, compiled with the given flags.
build_case() { # SCRIPT STATUS TEXT PROGRAM FLAGS...
  new_tree
  mkdir -p "$tree/bin"
  printf '%s\n' '#include <string.h>' '#include <stdlib.h>' '#include <math.h>' \
    'int main(int n, char** v) { char a[64]; strcpy(a, v[n - 1]); return atan(strlen(a)) > 9 ? atoi(a) : a[n]; }' >"$tree/main.c"
  cc -w "$tree/main.c" -o "$tree/bin/$4" "${@:5}" || { echo "not tested: $1 (no compiler)"; return; }
  expect "$2" "$3" "$1" "$tree" "$tree"
}
hard=(-O2 -fPIE -pie -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -Wl,-z,relro,-z,now)
build_case hardening.sh 0 kept dtlaunch "${hard[@]}" -lm
put compile_commands.json '"command": "c++ -D_FORTIFY_SOURCE=2 -fstack-clash-protection -c a.cc",' "\"file\": \"$tree/wire/a.cc\""
expect 1 'wire/a.cc: compiled without -fstack-protector-strong' hardening.sh "$tree" "$tree"
build_case hardening.sh 1 'bin/dtlaunch: Position Independent Executable: no' dtlaunch "${hard[@]}" -fno-pie -no-pie -lm
build_case hardening.sh 1 'bin/dtlaunch: Stack protected: no' dtlaunch "${hard[@]}" -fno-stack-protector -lm
build_case hardening.sh 1 'bin/dtlaunch: Fortify Source functions: no' dtlaunch "${hard[@]}" -U_FORTIFY_SOURCE -lm
build_case hardening.sh 1 'bin/dtlaunch: Immediate binding: no' dtlaunch "${hard[@]}" -Wl,-z,lazy -lm
build_case hardening.sh 1 'bin/dtlaunch: Read-only relocations: no' dtlaunch "${hard[@]}" -Wl,-z,norelro -lm
build_case hardening.sh 1 'bin/dtagent: not position-independent' dtagent "${hard[@]}" -static -lm
build_case hardening.sh 1 'bin/dtagent: not read-only after relocation' dtagent "${hard[@]}" -static-pie -Wl,-z,norelro -lm
build_case hardening.sh 1 'bin/dtagent: its stack is executable' dtagent "${hard[@]}" -static-pie -Wl,-z,execstack -lm
build_case hardening.sh 0 kept dtguard "${hard[@]}" -static-pie -lm
mkdir "$tree/agent"
if (cd "$tree" && cc -w -c -O2 -U_FORTIFY_SOURCE -fno-stack-protector main.c && ar r agent/libdtl_agent_node.a main.o) 2>/dev/null; then
  expect 1 'agent/libdtl_agent_node.a: without stack protector' hardening.sh "$tree" "$tree"
  expect 1 'agent/libdtl_agent_node.a: without checked functions' hardening.sh "$tree" "$tree"
fi
older=(-lm -x c++ "$here/../../base/older_start.cc")
build_case symbol_versions.sh 0 kept dttrain "${older[@]}"
build_case symbol_versions.sh 1 'asks for __libc_start_main of GLIBC_2.34' dttrain -lm
build_case symbol_versions.sh 1 'bin/dttrain: needs libz.so.1' dttrain -Wl,--no-as-needed -lz "${older[@]}"
build_case symbol_versions.sh 1 'dtguard: is not static, it needs libc.so.6' dtguard -lm
# A test library with a symbol of a future glibc.
new_tree
mkdir -p "$tree/bin"
put libc.c 'int later(void) { return 0; }'
put libc.map 'GLIBC_2.99 { later; };'
put main.c 'int later(void); int main(void) { return later(); }'
if cc -shared -fPIC "$tree/libc.c" -Wl,--version-script="$tree/libc.map" -Wl,-soname,libm.so.6 -o "$tree/libm.so.6" 2>/dev/null &&
   cc "$tree/main.c" "$tree/libm.so.6" -o "$tree/bin/dtlaunch"; then
  expect 1 'bin/dtlaunch: asks for later of GLIBC_2.99' symbol_versions.sh "$tree"
fi

new_tree
put tests/wire/a_test.cc 'TEST(Frame, IsChecked) {}'
put tests/e2e/CMakeLists.txt 'dtl_e2e(cut)' '# dtl_e2e(gone)'
put man/dtlaunch-security.7 '.Sh PROMISED' '.It' 'One.' '.Bq Li Frame.IsChecked e2e.cut' '.Sh MORE' '.It' 'Two.'
expect 0 kept promises.py "$tree"
put man/dtlaunch-security.7 '.Sh REFUSED' '.It' 'One.' '.Bq Li Frame.IsCheked e2e.cut'
expect 1 'dtlaunch-security.7:2: there is no test Frame.IsCheked' promises.py "$tree"
put man/dtlaunch-security.7 '.Sh REFUSED' '.It' 'One.' '.Bq Li e2e.gone'
expect 1 'there is no test e2e.gone' promises.py "$tree"
put man/dtlaunch-security.7 '.Sh PROMISED' '.It' 'One.' '.Bq Li e2e.cut' '.It' 'And two.'
expect 1 'dtlaunch-security.7:5: no test shows that: And two.' promises.py "$tree"

versions_case() {  # versions_case STATUS TEXT PROJECT CHANGELOG PROGRAM [SPEC]
  new_tree
  put CMakeLists.txt "project(dtlaunch VERSION $3 LANGUAGES CXX)"
  put pyproject.toml '[[tool.dynamic-metadata]]' 'input = "CMakeLists.txt"' "regex = 'VERSION (?P<value>[0-9.]+)'"
  put CHANGELOG.md "## $4 - 2026-11-29" '' '## 1.2.9 - 2026-11-22'
  put docs/releases/1.3.0.md '# Release'
  put packaging/debian/changelog.in 'dtlaunch (@VERSION@-1) unstable' '' 'dtlaunch (1.2.9-1) unstable'
  put packaging/rpm/dtlaunch.spec "Version:  ${6-$3}" '%changelog' "* Sun Nov 29 2026 us - ${6-$3}-1"
  put man/dtlaunch.1 '/home/me/.cache/dtlaunch/1.3.0-0123'
  put dtlaunch '#!/bin/sh' "echo 'dtlaunch $5, protocol 1'"
  chmod +x "$tree/dtlaunch"
  expect "$1" "$2" versions.py --bin "$tree" "$tree"
}
versions_case 0 'kept by 1.3.0' 1.3.0 1.3.0 1.3.0
sed -i '1i ## Unreleased\n' "$tree/CHANGELOG.md"
expect 0 'kept by 1.3.0' versions.py --bin "$tree" "$tree"
versions_case 1 "CHANGELOG.md: its newest entry is of 1.3.1, the version is 1.3.0" 1.3.0 1.3.1 1.3.0
versions_case 1 "CHANGELOG.md: 1.2.9 is below 1.2.8" 1.3.0 1.2.8 1.3.0
versions_case 1 "CHANGELOG.md: 'Unreleased - 2026-11-29' is not a version" 1.3.0 Unreleased 1.3.0
versions_case 1 "dtlaunch --version says 'dtlaunch 1.2.9, protocol 1'" 1.3.0 1.3.0 1.2.9
versions_case 1 'docs/releases/1.4.0.md: there are no release notes' 1.4.0 1.4.0 1.4.0
versions_case 1 'man/dtlaunch.1: it shows 1.3.0' 1.4.0 1.4.0 1.4.0
versions_case 1 'packaging/debian/changelog.in: 1.2.9 is below 1.2.9' 1.2.9 1.2.9 1.2.9
versions_case 1 'dtlaunch.spec: Version is 1.2.9, the version is 1.3.0' 1.3.0 1.3.0 1.3.0 1.2.9

workflow_case() {  # workflow_case STATUS TEXT PERMISSION JOB STEP
  new_tree
  put scripts/test '#!/bin/sh'
  put .github/workflows/test.yml 'on: [push]' "permissions: {contents: $3}" 'jobs:' '  test:' "    $4" '    steps:' "      - $5"
  expect "$1" "$2" github.py "$tree"
}
pinned=0123456789abcdef0123456789abcdef01234567
workflow_case 0 'kept by 1 files' read 'timeout-minutes: 5' "uses: actions/checkout@$pinned"
workflow_case 0 'kept by 1 files' read 'timeout-minutes: 5' 'run: scripts/test --all'
workflow_case 1 "test.yml: its permissions are not" write 'timeout-minutes: 5' 'run: scripts/test'
workflow_case 1 'test.yml: job test: it has no timeout-minutes' read 'name: x' 'run: scripts/test'
workflow_case 1 'actions/checkout@v4 is not pinned' read 'timeout-minutes: 5' 'uses: actions/checkout@v4'
workflow_case 1 'there is no scripts/tests' read 'timeout-minutes: 5' 'run: scripts/tests'
workflow_case 1 'test.yml: mapping values are not allowed' read 'timeout-minutes: 5: 6' 'run: scripts/test'
new_tree
put .github/ISSUE_TEMPLATE/bug.yml 'name: Bug' 'description: x' 'body:' '  - {type: input, id: a, attributes: {label: A}}' \
  '  - {type: input, id: a, attributes: {label: B}}'
expect 1 'bug.yml: its fields need ids of their own' github.py "$tree"

if [ "$failures" != 0 ]; then exit 1; fi
echo "every rule can fail"
