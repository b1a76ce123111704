# Read by the shell that runs `gatehouse` beside this file: replaces the shell with Node ≥ 24, that of the machine or the one in
# node_modules, where gatehouse.js looks too. A Node that only starts another one would stay, with 40 MiB.
case $(node --version 2>/dev/null) in
  v2[4-9].* | v[3-9]?.* | v???.*) exec node "$0" "$@" ;;
esac
here=$(dirname -- "$(readlink -f -- "$0")")
for node in "$here"/../node_modules/node-*/bin/node "$here"/../../../node_modules/node-*/bin/node; do
  if [ -x "$node" ]; then exec "$node" "$0" "$@"; fi
done
# It says what is missing.
exec node "$here/gatehouse.js" "$@"
