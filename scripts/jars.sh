# Sourced by scripts that fetch servers for the tests, after packages.sh: jars of the Maven repositories, into
# FIRESTEEL_TEST_CACHE (default: ~/.cache/firesteel-tests).

cache=${FIRESTEEL_TEST_CACHE:-$HOME/.cache/firesteel-tests}

# ivy ARGUMENT...: the client of the Maven repositories, which PySpark brings.
ivy() {
  local python=${PYTHON:-.venv/bin/python} jar
  jar=$("$python" -c 'import glob, os, pyspark; print(glob.glob(os.path.dirname(pyspark.__file__) + "/jars/ivy-*.jar")[0])') ||
    fail "PySpark is needed to fetch jars: run scripts/setup-venv first, or set PYTHON to a Python that has it."
  "${JAVA_HOME:+$JAVA_HOME/bin/}java" -jar "$jar" -error "$@" >&2
}

# fetch_jars NAME TITLE ORGANISATION:MODULE:VERSION...: the jars and what they need, into $cache/NAME. Quick when
# they are there.
fetch_jars() {
  local target=$cache/$1 title=$2 jar organisation module version
  shift 2
  if [ -f "$target/.complete" ]; then return; fi
  say "fetching $title into $target"
  mkdir -p "$target"
  for jar in "$@"; do
    IFS=: read -r organisation module version <<<"$jar"
    ivy -cache "$target/cache" -confs default -types jar bundle nar -dependency "$organisation" "$module" "$version" \
      -retrieve "$target/[artifact]-[revision](-[classifier]).[ext]" ||
      fail "$jar could not be fetched from the Maven repositories."
  done
  rm -rf "$target/cache"
  touch "$target/.complete"
}

# fetch_listed_jars NAME TITLE DIRECTORY: the jars that jars.xml in DIRECTORY names and no others, into directories
# in $cache/NAME. Quick when they are there.
fetch_listed_jars() {
  local target=$cache/$1 title=$2 list=$3/jars.xml settings=$3/ivysettings.xml
  if cmp -s "$list" "$target/.complete"; then return; fi
  say "fetching $title into $target"
  rm -rf "$target"
  ivy -settings "$settings" -cache "$target/cache" -ivy "$list" -retrieve "$target/[conf]/[artifact]-[revision].[ext]" ||
    fail "$title could not be fetched from the Maven repositories."
  rm -rf "$target/cache"
  cp "$list" "$target/.complete"
}
