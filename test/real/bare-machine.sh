#!/usr/bin/env bash
# A machine with Node, npm and git and nothing else: Debian in a container, no network, an ordinary user.
#
#   bare-machine.sh image                 builds its image where it is missing or old (a label carries the hash of the recipe)
#   bare-machine.sh make TREE [OPTION …]  lays a copy of TREE, its node_modules included, into a new container; prints its name.
#                                         OPTIONs are those of `docker create`: another user, fewer limits
#   bare-machine.sh test NAME             runs `npm test` in it (with PICOCLAW_TEST_BRIEF as it was at `make`), and removes it
#
# PICOCLAW_TEST_BARE_WITH names one Debian package more. Needs DOCKER_HOST and the Debian root of docker-engine.sh. Node and npm
# come by npm's own settings.
set -euo pipefail

more=${PICOCLAW_TEST_BARE_WITH:-}
image=picoclaw-bare-machine:${more:-latest}
base=picoclaw-debian:bookworm
node_version=24.21.0
npm_version=11.6.2
id=1000

recipe() {
  cat <<END
FROM $base
RUN apt-get update \\
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends git $more \\
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/archives/*.deb
ADD node.tgz /tmp/node/
ADD npm.tgz /tmp/npm/
RUN mv /tmp/node/package/bin/node /usr/local/bin/node \\
 && mkdir -p /usr/local/lib/node_modules \\
 && mv /tmp/npm/package /usr/local/lib/node_modules/npm \\
 && ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm \\
 && ln -s ../lib/node_modules/npm/bin/npx-cli.js /usr/local/bin/npx \\
 && rm -rf /tmp/node /tmp/npm \\
 && useradd --uid $id --create-home --shell /bin/bash somebody \\
 && install --directory --owner=somebody /home/somebody/picoclaw
USER somebody
WORKDIR /home/somebody/picoclaw
CMD ["sh", "-c", "PICOCLAW_HOME=/tmp/picoclaw-doctor bin/picoclaw doctor --json; rm -r /tmp/picoclaw-doctor; npm test"]
END
}

label() { docker image inspect -f "{{index .Config.Labels \"$2\"}}" "$1" 2>/dev/null || true; }

build() {
  local cpu hash work
  case $(uname -m) in
    x86_64) cpu=x64 ;;
    aarch64) cpu=arm64 ;;
    *) echo "bare-machine: no Node.js package for this processor" >&2 && return 1 ;;
  esac
  hash=$( (recipe && echo "$node_version $npm_version $cpu $(label "$base" picoclaw.recipe)") | sha256sum | cut -c1-12)
  [ "$(label "$image" picoclaw.recipe)" = "$hash" ] && return
  work=$(mktemp -d)
  # shellcheck disable=SC2064
  trap "rm -rf '$work'" EXIT
  (cd "$work" && npm pack --silent "node-linux-$cpu@$node_version" "npm@$npm_version" >/dev/null)
  mv "$work"/node-linux-*.tgz "$work/node.tgz"
  mv "$work"/npm-*.tgz "$work/npm.tgz"
  recipe >"$work/Dockerfile"
  DOCKER_BUILDKIT=0 docker build --quiet --label "picoclaw.recipe=$hash" --tag "$image" "$work" 2>/dev/null >/dev/null
}

make() {
  local container tree=$1 owner=$id
  shift
  case "$*" in *"--user root"*) owner=0 ;; esac
  # Temporary files in memory: tests write through to the disk at every step.
  container=$(docker create --network none --tmpfs /tmp:exec,mode=1777 --env CI=true --env "PICOCLAW_TEST_BRIEF=${PICOCLAW_TEST_BRIEF:-}" --env "PICOCLAW_TEST_WHOLE=${PICOCLAW_TEST_WHOLE:-}" --env LANG=C.UTF-8 "$@" "$image")
  tar -C "$tree" --exclude=./.git --exclude=./coverage --owner=$owner --group=$owner -cf - . |
    docker cp - "$container:/home/somebody/picoclaw"
  echo "$container"
}

run() {
  # shellcheck disable=SC2064
  trap "docker rm -fv '$1' >/dev/null" EXIT
  docker start --attach "$1"
}

case ${1:-} in
  image) build ;;
  make) make "${2:?a folder}" "${@:3}" ;;
  test) run "${2:?a container}" ;;
  *)
    sed -n '2,12s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
