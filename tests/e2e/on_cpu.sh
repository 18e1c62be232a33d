#!/usr/bin/env bash
# ACCELERATE_USE_CPU is set only if ranks have no device but CPUs.
#   on_cpu.sh [inside FOLDER]   inside: a private mount namespace, whose /dev gets a GPU
. "$(dirname "$0")/lib.sh"
need_program dtlaunch dtagent dtguard
show() { # WANTED ARGUMENTS of dtlaunch...
  local wanted=$1
  shift
  launch -np 1 "$@"
  expect_status 0
  expect_out "^\[$wanted\]$"
}
print=(sh -c 'echo "[${ACCELERATE_USE_CPU-none}]"' sh)

if [ "${1-}" != inside ]; then
  [ "$(id -u)" = 0 ] || skip "only root can give a machine a GPU that it does not have"
  ! compgen -G '/dev/nvidia[0-9]*' && ! [ -e /dev/kfd ] || skip "this machine has a GPU"
  unshare --mount true 2>/dev/null || skip "this machine makes no mount namespaces"
  show true "${print[@]}"
  ACCELERATE_USE_CPU=false show false "${print[@]}"
  show none "${print[@]}" --deepspeed zero2.json
  unshare --mount "$0" inside "$work" || exit
  exit 0
fi

mount -t tmpfs none "$2" && mkdir "$2/upper" "$2/scratch" &&
  mount -t overlay -o "lowerdir=/dev,upperdir=$2/upper,workdir=$2/scratch" none /dev ||
  skip "the kernel lays no files over /dev"
touch /dev/nvidia0
show none "${print[@]}"
show none -genv CUDA_VISIBLE_DEVICES 0 "${print[@]}"
show true -genv CUDA_VISIBLE_DEVICES '' "${print[@]}"
CUDA_VISIBLE_DEVICES=-1 show true "${print[@]}"
