#!/usr/bin/env bash
# The step of action.yml: reads the event of the runner, runs `picoclaw solve` on the labelled issue, and hands on its end.
# Words of the event are data: they are read from its file and passed as arguments, never as part of a command.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
program=${INPUT_PROGRAM:-$here/../bin/picoclaw}

output() { printf '%s=%s\n' "$1" "$(printf '%s' "$2" | tr -d '\r\n')" >>"$GITHUB_OUTPUT"; }
summary() { printf '%s\n' "$1" >>"${GITHUB_STEP_SUMMARY:-/dev/null}"; }
# field FILE EXPRESSION: one value of a JSON document; empty where there is none.
field() {
  node -e 'const at = process.argv[2].split("."); let value = JSON.parse(require("fs").readFileSync(process.argv[1], "utf8"));
for (const name of at) value = value?.[name];
process.stdout.write(value === undefined || value === null ? "" : String(value))' "$1" "$2"
}

action=$(field "$GITHUB_EVENT_PATH" action) || exit 2
label=$(field "$GITHUB_EVENT_PATH" label.name) || exit 2
url=$(field "$GITHUB_EVENT_PATH" issue.html_url) || exit 2
if [ "$action" != labeled ] || [ "$label" != "$INPUT_LABEL" ] || [ -z "$url" ]; then
  output state skipped
  output pull-request ""
  echo "Nothing to do: this is not an issue that got the label $INPUT_LABEL."
  exit 0
fi

result=$(mktemp)
trap 'rm -f "$result"' EXIT
"$program" solve --json --candidates "$INPUT_CANDIDATES" -- "$url" >"$result"
code=$?
state=$(field "$result" state 2>/dev/null)
pull=$(field "$result" pull_url 2>/dev/null)
message=$(field "$result" error.message 2>/dev/null)
[ -n "$message" ] || message=$(field "$result" failure.message 2>/dev/null)
output state "${state:-refused}"
output pull-request "$pull"
summary "PicoClaw: ${state:-refused}${pull:+, $pull}"
[ -z "$message" ] || printf '%s\n' "$message" >&2
exit "$code"
