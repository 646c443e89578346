#!/bin/sh
# PicoClaw @VERSION@ for @PLATFORM@ in one file: it unpacks itself once, into the user's cache, and runs from there.
set -eu
: "${HOME:?picoclaw: HOME is not set}"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/picoclaw
home=$cache/@ID@
if [ ! -f "$home/complete" ]; then
  (umask 077 && mkdir -p "$cache")
  fresh=$(mktemp -d "$cache/new.XXXXXX")
  trap 'rm -rf "$fresh"' EXIT
  tail -n +@LINES@ "$0" | tar -xzf - -C "$fresh"
  : >"$fresh/complete"
  # Of two that unpack at once, one is first; the other's is thrown away.
  [ -e "$home" ] || mv "$fresh" "$home"
  rm -rf "$fresh"
  trap - EXIT
fi
exec "$home/bin/picoclaw" "$@"
