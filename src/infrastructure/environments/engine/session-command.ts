/**
 * A command of a stateful session: the working directory and the exported variables of the one before are put back
 * first, and kept afterwards, also when the command says `exit`. Each is still a process tree of its own, so that a
 * time limit ends it like any other.
 */
export function sessionArgv(session: string, command: string): readonly [string, ...string[]] {
  return [
    "sh",
    "-c",
    SCRIPT,
    "sh",
    `/workspace/tmp/.picoclaw-session-${encodeURIComponent(session)}`,
    command,
  ];
}

const SCRIPT = `
__picoclaw_state=$1 __picoclaw_command=$2
if [ -r "$__picoclaw_state" ]; then . "$__picoclaw_state"; fi
__picoclaw_keep() {
  export PWD
  { export -p; echo 'cd -- "$PWD" 2>/dev/null || :'; } >"$__picoclaw_state.new" && mv -f "$__picoclaw_state.new" "$__picoclaw_state"
}
trap __picoclaw_keep EXIT
set --
eval "$__picoclaw_command"
`;
