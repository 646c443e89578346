#!/usr/bin/env bash
# `npm test`, every file of it, on the machines that people have, one machine after the other. Each writes its row of the table in
# docs/install.md and docs/ja/install.md. Root, on Debian, from a checkout.
#
#   bash test/real/machines.sh NAME …    or `all`
#
#   root-bare              root; Node, npm and git alone
#   user-bare              an ordinary user; the same
#   root-container         root in a container as Docker makes it: seccomp, control groups that can only be read
#   root-container-bwrap   the same, with bubblewrap
#   no-namespaces          everything installed, but bubblewrap may make no namespace
#   user                   everything installed; an ordinary user
#   root                   everything installed; root
#   node-20 node-22 node-24   npm ci, the demo and the start of a server with that Node
#
# Logs stay in PICOCLAW_TEST_LOGS (/tmp/picoclaw-machines).
set -uo pipefail
# shellcheck source=../../.ci/run
source "$(dirname "${BASH_SOURCE[0]}")/../../.ci/run"
all="root-bare user-bare root-container root-container-bwrap no-namespaces user root node-20 node-22 node-24"
[ "$#" -gt 0 ] || { sed -n '2,17s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2 && exit 2; }
[ "$(id -u)" -eq 0 ] || give_up "root only"
names=$*
[ "$names" = all ] && names=$all
for name in $names; do
  case " $all " in *" $name "*) ;; *) give_up "no machine is called $name; there are $all" ;; esac
done
logs=${PICOCLAW_TEST_LOGS:-/tmp/picoclaw-machines}
mkdir -p "$logs"
longest=7200
# What the machine promises, and then the tests.
look_and_test='PICOCLAW_HOME=$(mktemp -d) bin/picoclaw doctor --json; npm test'

# A container with Node, npm and git: its package more, or none, and the options of `docker create`.
in_container() {
  local more=$1 container
  shift
  retry as_user env PICOCLAW_TEST_BARE_WITH="$more" bash test/real/bare-machine.sh image || return 1
  container=$(as_user env PICOCLAW_TEST_BARE_WITH="$more" bash test/real/bare-machine.sh make "$tree" "$@") || return 1
  as_user timeout --kill-after=20 "$longest" bash test/real/bare-machine.sh test "$container"
}

# The same Debian without a container: this machine's kernel, with its control groups and without a filter of calls.
in_chroot() {
  local who=$1 home=$2 root=$tree.chroot container
  shift 2
  retry as_user bash test/real/bare-machine.sh image || return 1
  container=$(as_user bash test/real/bare-machine.sh make "$tree" "$@") || return 1
  rm -rf --one-file-system "$root" && mkdir "$root" && as_user docker export "$container" | tar -C "$root" -xf - || return 1
  as_user docker rm -v "$container" >/dev/null
  # The mounts end with the process.
  # shellcheck disable=SC2016
  unshare --mount --propagation private bash -c '
    root=$1 who=$2 home=$3 command=$4 longest=$5
    for folder in proc sys dev; do mount --rbind "/$folder" "$root/$folder" || exit 1; done
    mount -t tmpfs -o mode=1777,exec tmpfs "$root/tmp" || exit 1
    exec timeout --kill-after=20 "$longest" chroot --userspec="$who" "$root" env -i HOME="$home" PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin CI=true LANG=C.UTF-8 \
      sh -c "cd /home/somebody/picoclaw && $command"' chroot "$root" "$who" "$home" "$look_and_test" "$longest" </dev/null
  local code=$?
  rm -rf --one-file-system "$root"
  return "$code"
}

# npm ci, once more without a network, the demo, and a server that answers, with a Node of its own: in a folder with an odd
# name, with modes that let nobody else in, and in the C locale.
with_node() {
  local version=$1 folder="$tree.node-$1 it's \"日本\"" cpu=x64 port=0
  [ "$(uname -m)" = aarch64 ] && cpu=arm64
  rm -rf "$folder" && mkdir "$folder" && tar -C "$source_tree" --exclude=./node_modules --exclude=./coverage --exclude=./dist -cf - . | tar -C "$folder" -xf - &&
    mkdir "$folder.node" && (cd "$folder.node" && npm pack --silent "node-linux-$cpu@$version" >/dev/null && tar -xzf node-linux-*.tgz) || return 1
  chown -R "$user:" "$folder" "$folder.node"
  port=$(shuf -i 21000-29999 -n 1)
  # shellcheck disable=SC2016
  (tree=$folder && as_user env PATH="$folder.node/package/bin:$PATH" PICOCLAW_HOME="$folder.node/home" PORT="$port" timeout --kill-after=20 "$longest" bash -c '
    set -e
    node --version
    umask 077
    npm ci --no-audit --no-fund
    npm ci --offline --no-audit --no-fund
    LANG=C bin/picoclaw demo
    bin/picoclaw serve --demo-unless-configured --port "$PORT" & server=$!
    trap "kill $server; wait $server || true" EXIT
    for try in $(seq 600); do curl -fs "http://127.0.0.1:$PORT/healthz" && exit 0; sleep 0.2; done
    exit 1')
  local code=$?
  if [ "$code" -eq 0 ]; then echo "4 passed, 0 failed"; else echo "0 passed, 1 failed"; fi
  return "$code"
}

on_machine() {
  case $1 in
    root-bare) in_chroot 0:0 /root --user root ;;
    user-bare) in_chroot 1000:1000 /home/somebody ;;
    root-container) in_container "" --user root ;;
    root-container-bwrap) in_container bubblewrap --user root ;;
    no-namespaces)
      make_useless_bwrap "$tree.programs"
      as_user env PATH="$tree.programs:$PATH" PICOCLAW_TEST_REQUIRE="${required/,bwrap/}" timeout --kill-after=20 "$longest" sh -c "$look_and_test"
      ;;
    user) as_user timeout --kill-after=20 "$longest" sh -c "$look_and_test" ;;
    root)
      rm -rf "$tree.root" && cp -a "$tree" "$tree.root" && chown -R root: "$tree.root"
      (cd "$tree.root" && env HOME=/root TMPDIR="$memory" DOCKER_HOST="$docker_host" PICOCLAW_TEST_ENGINE="$engine" PICOCLAW_TEST_REQUIRE="$required" \
        timeout --kill-after=20 "$longest" sh -c "$look_and_test") </dev/null
      ;;
    node-*) with_node "${1#node-}" ;;
  esac
}

prepare
# A Node of another version needs no engine.
if [ -n "$(echo "$names" | tr ' ' '\n' | grep -v '^node-')" ]; then
  bash test/real/docker-engine.sh start "$engine" "$(id -g "$user")" >/dev/null || give_up "the engine did not start"
fi
case " $names " in
  *" user "* | *" root "* | *" no-namespaces "*) retry as_user bash test/real/environment-images.sh || give_up "the images could not be built" ;;
esac
echo ready >"$engine.docker"
echo ready >"$engine.images"

for name in $names; do
  log=$logs/$name.log
  began=$SECONDS
  echo "machines: $name"
  on_machine "$name" >"$log" 2>&1
  code=$?
  sed -n -e '/(fail)/p' -e '/^FAIL/p' -e '/^unsteady/p' "$log"
  add_counts "$log" "$code"
  echo "machines: $name: $(tail -n 1 "$log") ($(((SECONDS - began) / 60)) min, $log)"
  "$tree/node_modules/.bin/bun" --no-env-file scripts/machine-table.ts "$name" "$log"
done
finish
