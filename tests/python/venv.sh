# shellcheck shell=bash
# A venv for tests that run Python jobs as users do. Source it after tests/e2e/lib.sh.

# A venv with the packages of the Python in VARIABLE, and ours as if installed by pip.
make_venv() { # VARIABLE MODULE...
  local module
  need_python "$1"
  for module in "${@:2}"; do
    "$root/tests/support/has_modules" "${!1}" "$module" || skip "${!1} has no $module"
  done
  "${!1}" -m venv --without-pip "$work/venv" || skip "${!1} makes no venv"
  python=$work/venv/bin/python3
  local site
  site=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  # *.pth files are read in order of name.
  "${!1}" -c 'import importlib.util, os; print(os.path.dirname(os.path.dirname(importlib.util.find_spec("torch").origin)))' \
    >"$site/a-paths.pth"
  echo "$root/python" >>"$site/a-paths.pth"
  cp "$root/python/dtring-autoload.pth" "$site/"
  # If a gloo thread releases a Python object after Python has ended, the process dies by SIGABRT
  # (torch 2.13, "terminate called without an active exception").
  echo 'import atexit, time; atexit.register(time.sleep, 0.3)' >"$site/z-end-later.pth"
  make_entry torchrun torch.distributed.run
  make_entry accelerate accelerate.commands.accelerate_cli
}

make_entry() { # the program that pip makes for a module's main()
  printf '#!%s\nimport sys\nfrom %s import main\nsys.exit(main())\n' "$python" "$2" >"$work/venv/bin/$1"
  chmod +x "$work/venv/bin/$1"
}
