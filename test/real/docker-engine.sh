#!/usr/bin/env bash
# A Docker engine of one's own for the tests, beside whatever the machine has. Root only.
#
#   docker-engine.sh start DIR [GROUP]   starts dockerd with socket, pid file and log in DIR, imports the Debian root; DIR/tls
#                                        has its address for TLS (host) and the files of a client, as DOCKER_CERT_PATH wants
#   docker-engine.sh stop DIR            ends it by its pid, waits for it
#   docker-engine.sh root                makes the Debian root once and prints where its archive is
#
# Images and the archive are kept under ~/.cache/picoclaw-test (PICOCLAW_TEST_CACHE): the archive by the content of
# its recipe below, the engine's data in `dockerd/`, or in DIR while another engine holds that.
set -euo pipefail

cache=${PICOCLAW_TEST_CACHE:-$HOME/.cache/picoclaw-test}
suite=bookworm
packages=ca-certificates
mirror=${PICOCLAW_TEST_DEBIAN_MIRROR:-http://deb.debian.org/debian}
image=picoclaw-debian:$suite

say() { echo "docker-engine: $*" >&2; }

debian_root() {
  local recipe archive work
  recipe=$(printf '%s\n' minbase "$suite" "$packages" "$(dpkg --print-architecture)" 1 | sha256sum | cut -c1-12)
  archive=$cache/debian-$suite-$recipe.tar
  if [ ! -s "$archive" ]; then
    mkdir -p "$cache"
    work=$(mktemp -d "$cache/debootstrap.XXXXXX")
    say "making a Debian $suite root (once; $archive)"
    if ! debootstrap --variant=minbase --include="$packages" "$suite" "$work/root" "$mirror" >"$work/log" 2>&1; then
      tail -n 20 "$work/log" >&2
      rm -rf "$work"
      return 1
    fi
    rm -rf "$work/root/var/cache/apt/archives/"*.deb "$work/root/var/lib/apt/lists/"* "$work/root/dev/"*
    echo "deb $mirror-security $suite-security main" >>"$work/root/etc/apt/sources.list"
    tar -C "$work/root" --numeric-owner -cf "$work/root.tar" .
    mv "$work/root.tar" "$archive"
    rm -rf "$work"
  fi
  echo "$archive"
}

# Certificates of an authority that is made up for one engine; the server's is for loopback.
make_certificates() {
  local tls=$1 group=$2 name subject usage
  (
    cd "$tls"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=made-up-authority \
      -keyout ca-key.pem -out ca.pem
    for name in server:127.0.0.1:serverAuth client:client:clientAuth; do
      IFS=: read -r name subject usage <<<"$name"
      openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$subject" \
        -keyout "$name-key.pem" -out "$name.csr"
      openssl x509 -req -in "$name.csr" -CA ca.pem -CAkey ca-key.pem -CAcreateserial -days 2 -out "$name-cert.pem" \
        -extfile <(printf 'subjectAltName=IP:127.0.0.1\nextendedKeyUsage=%s\n' "$usage")
    done
    mv client-cert.pem cert.pem
    mv client-key.pem key.pem
  ) >"$tls/log" 2>&1 || { tail -n 20 "$tls/log" >&2; return 1; }
  chmod 750 "$tls"
  chmod 640 "$tls"/*
  [ -z "$group" ] || chgrp -R "$group" "$tls"
}

free_port() {
  local port
  for port in $(shuf -i 20000-29999 -n 50); do
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
  done
}

start() {
  local dir=$1 group=${2:-} data try tls port
  mkdir -p "$dir"
  data=$dir/data
  # The lock lives as long as the engine: a second one at the same time keeps its data to itself.
  mkdir -p "$cache/dockerd"
  exec 8>"$cache/dockerd.lock"
  local bridge=()
  if flock -n 8; then
    data=$cache/dockerd
    # Images alone are kept: networks and volumes are made anew, as on a machine that never ran an engine. One that was
    # killed has left its mounts.
    awk -v below="$data/" 'index($2, below) == 1 { print $2 }' /proc/mounts | sort -r | xargs -r -n 1 umount --lazy
    rm -rf "$data/network" "$data/volumes"
  else
    exec 8>&-
    # Two engines on one bridge would give the same addresses twice.
    ip link add "pc$$" type bridge
    ip addr add "10.213.$(($$ % 250)).1/24" dev "pc$$"
    ip link set "pc$$" up
    bridge=(--bridge "pc$$")
    echo "pc$$" >"$dir/bridge"
  fi
  tls=$dir/tls
  port=$(free_port)
  mkdir -p "$tls"
  echo "tcp://127.0.0.1:$port" >"$tls/host"
  make_certificates "$tls" "$group"
  setsid nohup dockerd --host "tcp://127.0.0.1:$port" --tlsverify --tlscacert "$tls/ca.pem" --tlscert "$tls/server-cert.pem" \
    --tlskey "$tls/server-key.pem" --data-root "$data" --exec-root "$dir/run" --pidfile "$dir/dockerd.pid" \
    --host "unix://$dir/docker.sock" ${group:+--group "$group"} ${bridge[@]+"${bridge[@]}"} >"$dir/log" 2>&1 </dev/null &
  exec 8>&-
  export DOCKER_HOST=unix://$dir/docker.sock
  for try in $(seq 150); do
    docker version >/dev/null 2>&1 && break
    kill -0 "$!" 2>/dev/null || break
    sleep 0.2
  done
  if ! docker version >/dev/null 2>&1; then
    say "dockerd did not come up; the end of its log:"
    tail -n 20 "$dir/log" >&2
    return 1
  fi
  # Remains of a killed run.
  docker ps -aq | xargs -r docker rm -fv >/dev/null
  docker network prune -f >/dev/null
  docker image prune -f >/dev/null
  docker volume ls -q --filter label=picoclaw.installation | xargs -r docker volume rm -f >/dev/null
  import_root
  echo "$DOCKER_HOST"
}

import_root() {
  local archive recipe
  archive=$(debian_root)
  recipe=${archive##*-}
  recipe=${recipe%.tar}
  [ "$(docker image inspect -f '{{index .Config.Labels "picoclaw.recipe"}}' "$image" 2>/dev/null)" = "$recipe" ] && return
  say "importing $image"
  docker import --change 'CMD ["/bin/sh"]' --change "LABEL picoclaw.recipe=$recipe" "$archive" "$image" >/dev/null
}

stop() {
  end_engine "$1"
  [ ! -f "$1/bridge" ] || ip link del "$(cat "$1/bridge")" || true
}

end_engine() {
  local dir=$1 pid try
  pid=$(cat "$dir/dockerd.pid" 2>/dev/null) || return 0
  # After a crash the pid may be another process's.
  tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -qF -- "--pidfile $dir/dockerd.pid" || return 0
  kill "$pid" 2>/dev/null || return 0
  for try in $(seq 150); do
    kill -0 "$pid" 2>/dev/null || return 0
    sleep 0.2
  done
  kill -9 "$pid" 2>/dev/null || true
}

case ${1:-} in
  start) start "${2:?a folder}" "${3:-}" ;;
  stop) stop "${2:?a folder}" ;;
  root) debian_root ;;
  *)
    sed -n '2,11s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
