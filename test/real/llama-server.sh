#!/usr/bin/env bash
# Lays llama.cpp's own server into FOLDER, out of the Debian packages of a later release, by apt's own settings; nothing
# is installed on this machine, and nothing is compiled. FOLDER/llama-server then runs it with its own libraries.
#
#   bash test/real/llama-server.sh FOLDER [RELEASE]
#   LLAMA_SERVER=FOLDER/llama-server PICOCLAW_TEST_NIGHTLY=1 npx bun test test/contracts/model-real.test.ts
set -euo pipefail
mkdir -p "${1:?usage: llama-server.sh FOLDER [RELEASE]}"
folder=$(cd "$1" && pwd)
release=${2:-forky}
[ -x "$folder/llama-server" ] && "$folder/llama-server" --version >/dev/null 2>&1 && exit 0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{state/lists/partial,cache/archives/partial,debs}
: >"$work/status"
# The mirror that this machine's apt has, whatever it is, with the other release.
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -v security | head -n 1)
keys=/usr/share/keyrings/debian-archive-keyring.gpg
echo "deb [signed-by=$keys] ${mirror:?apt has no mirror} $release main" >"$work/sources.list"
cat >"$work/apt.conf" <<END
Dir::State "$work/state";
Dir::State::status "$work/status";
Dir::Cache "$work/cache";
Dir::Etc::sourcelist "$work/sources.list";
Dir::Etc::sourceparts "-";
Acquire::Languages "none";
APT::Sandbox::User "$(id -un)";
END
export APT_CONFIG=$work/apt.conf
apt-get -qq update
# With its own C library, since that release's may be newer than this machine's.
(cd "$work/debs" && apt-get -qq download llama.cpp-tools libllama0 libggml0 libc6 libgcc-s1 libgomp1 libstdc++6 \
  libssl3t64 libzstd1 zlib1g)
rm -rf "$folder/root"
for package in "$work"/debs/*.deb; do dpkg -x "$package" "$folder/root"; done

cat >"$folder/llama-server" <<'END'
#!/bin/sh
root=$(dirname "$(readlink -f "$0")")/root
libraries=$(echo "$root"/usr/lib/*-linux-gnu)
loader=$(ls "$libraries"/ld-linux-*.so.*)
# The plainest one runs on every processor; with vector instructions an answer takes a fraction of its time.
kind=x64
for flag in avx2 fma f16c bmi2 end; do
  if [ $flag = end ]; then kind=haswell; else grep -qw $flag /proc/cpuinfo || break; fi
done
backend=$libraries/ggml/backends0/libggml-cpu-$kind.so
[ -e "$backend" ] || backend=$(ls "$libraries"/ggml/backends0/libggml-cpu*.so | head -n 1)
GGML_BACKEND_PATH=$backend exec "$loader" --library-path "$libraries:$libraries/llama" "$root/usr/bin/llama-server" "$@"
END
chmod +x "$folder/llama-server"
"$folder/llama-server" --version
