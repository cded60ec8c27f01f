# Sourced by the other scripts: messages, and the system's package manager.

say() { echo "firesteel setup: $*" >&2; }
fail() {
  echo "firesteel setup: $*" >&2
  exit 1
}

# install_one_of NAME...: the first of the packages that the package manager knows. Fails, quietly, where there
# is no package manager that we know, or where using it would ask for a password.
install_one_of() {
  local root="" name
  if [ "$(id -u)" -ne 0 ]; then root="sudo -n"; fi
  if command -v brew >/dev/null; then # refuses to run as root, needs no sudo
    for name in "$@"; do
      brew info "$name" >/dev/null 2>&1 && { brew install --quiet "$name" >&2; return; }
    done
    return 1
  fi
  if [ -n "$root" ] && ! sudo -n true 2>/dev/null; then return 1; fi
  if command -v apt-get >/dev/null; then
    if [ -z "${lists_are_new:-}" ]; then
      $root apt-get update -qq >&2 || say "apt-get update failed; going on with the lists that are there"
      lists_are_new=yes
    fi
    for name in "$@"; do
      apt-cache show "$name" >/dev/null 2>&1 || continue
      say "apt-get install $name"
      $root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 \
        install -y -qq --no-install-recommends "$name" >&2 && return
    done
  elif command -v dnf >/dev/null; then
    for name in "$@"; do
      $root dnf install -y -q "$name" >&2 2>/dev/null && return
    done
  elif command -v apk >/dev/null; then
    for name in "$@"; do
      $root apk add --quiet "$name" >&2 2>/dev/null && return
    done
  fi
  return 1
}
