export const headTexts = {
  notInstalled: (name: string, program: string) =>
    `${name} is not installed on this machine: there is no \`${program}\` on the PATH. PicoClaw cannot start it until you install it.`,
  noCommand: "No agent is set: `head.command` is empty. Example: `head: {command: [opencode, acp]}`.",
  noLogin: (name: string, variables: readonly string[], file: string | null) =>
    [
      `${name} has no key here. Set ${variables.join(" or ")}${name === "claude-code" ? " (`claude setup-token` creates a token for unattended use)" : ""}.`,
      ...(file === null
        ? []
        : [
            `There is a login in ${file}; it is used only with \`head.login: file\`. The vendor's terms say whether that is permitted.`,
          ]),
    ].join(" "),
  loginExpired: (name: string, program: string) =>
    `The login of ${name} has expired, and PicoClaw does not refresh it: start \`${program}\` once yourself, then send the message again.`,
  loginRefused: (name: string, variables: readonly string[]) =>
    `${name} is logged in with Google, and Google's terms do not let another program use that login. Set ${variables.join(" or ")}.`,
  notConfined:
    "Your own agent runs only where it can be confined: bubblewrap and overlays must work, `worker.confine` must not be off, and the workspace must not contain your home folder. `picoclaw doctor` says what is missing.",
  busy: (name: string) =>
    `${name} is already working for this chat in another process. Try again when it has finished.`,
  unauthorized: (name: string, variables: readonly string[]) =>
    `${name} was refused by its model's server: the key or login is wrong.${variables.length === 0 ? "" : ` See ${variables.join(" or ")}.`}`,
  unreachable: (name: string, detail: string) => `${name} cannot reach its model's server: ${detail}`,
  quota: (name: string, setting: string) => `${name} was ended: \`${setting}\` is used up for this message.`,
  timedOut: (name: string, seconds: number) =>
    `${name} was ended after ${seconds} seconds (\`head.timeout\`). Its session is kept.`,
  silent: (name: string, seconds: number) =>
    `${name} was ended: it said nothing for ${seconds} seconds (\`head.silence\`). Its session is kept.`,
  flooded: (name: string) => `${name} was ended: its output did not stop.`,
  asking: (name: string, times: number) => `${name} was ended: it asked for permission ${times} times.`,
  sessionLost: (name: string) => `${name} has lost its earlier session; a new one is started.`,
  failed: (name: string, detail: string) => `${name} ended with an error: ${detail}`,
  dryRun: (name: string) =>
    `Dry mode: ${name} is not started, as it would work at once. \`/preview\` shows its work without applying it.`,
  kept: "What it had changed by then is kept as a preview.",
  usage: (names: readonly string[]) =>
    `/head NAME REQUEST lets your own agent work on one message: ${names.join(", ")}.`,
  ready: "ready",
  unknown: (name: string) => `There is no agent named ${name}. To see which there are: /head`,
  always: (name: string) => `Messages to a coder go to ${name} (roles.coder.head).`,
};
