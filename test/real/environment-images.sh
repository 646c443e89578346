#!/usr/bin/env bash
# The images that the suites of environments run on, from Debian packages and npm alone. What is there unchanged stays:
# each image carries a hash of its recipe. Needs DOCKER_HOST, the Debian root of docker-engine.sh, and `npm ci` done.
set -euo pipefail
cd "$(dirname "$0")/../.."
export PICOCLAW_LOCALE=en PICOCLAW_HOME=${PICOCLAW_HOME:-$(mktemp -d)}
for image in python node; do
  sh bin/picoclaw images build "$image" --from picoclaw-debian:bookworm
done
# Conda's index cannot be reached everywhere: a stand-in, named as one.
DOCKER_BUILDKIT=0 docker build --quiet --tag coding-agent-executor-miniforge-stand-in:latest images/miniforge-stand-in 2>/dev/null
# One that is made fit from an image without git, kept under that image's id.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git init -q "$work/project"
git -C "$work/project" -c user.name=CI -c user.email=ci@example.org commit -q --allow-empty -m first
echo 'command_executor: { environments: { bare: picoclaw-debian:bookworm } }' >"$work/settings.yaml"
sh bin/picoclaw env prepare --config "$work/settings.yaml" --task make-images --env bare --repo "$work/project" >/dev/null
sh bin/picoclaw env cleanup --config "$work/settings.yaml" --task make-images >/dev/null
