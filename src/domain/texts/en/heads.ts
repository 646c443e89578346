export const headTexts = {
  notInstalled: (name: string, program: string) =>
    `${name} is not on this machine: there is no \`${program}\` on the PATH. PicoClaw does not install it. Nothing was run.`,
  noCommand: "No agent is set: `head.command` is empty. Example: `head: {command: [opencode, acp]}`.",
  noLogin: (name: string, variables: readonly string[], file: string | null) =>
    [
      `${name} has no key here. Set ${variables.join(" or ")}${name === "claude-code" ? " (`claude setup-token` makes a token for use without a person)" : ""}.`,
      ...(file === null
        ? []
        : [
            `There is a login in ${file}; it is used only with \`head.login: file\`, and whether its vendor permits that is in the vendor's terms.`,
          ]),
    ].join(" "),
  loginExpired: (name: string, program: string) =>
    `The login of ${name} has expired, and PicoClaw refreshes none: start \`${program}\` once by yourself, then send the message again.`,
  loginRefused: (name: string, variables: readonly string[]) =>
    `${name} is logged in with Google, and Google's terms do not let another program use that login. Set ${variables.join(" or ")}.`,
  notConfined:
    "A head works only where it can be confined: in a draft on an overlay with bubblewrap, `worker.confine` not off, and the workspace not around your home. `picoclaw doctor` says what is missing.",
  busy: (name: string) => `${name} already works for this chat in another process.`,
  unauthorized: (name: string, variables: readonly string[]) =>
    `${name} was refused by its model's server: the key or login is wrong.${variables.length === 0 ? "" : ` See ${variables.join(" or ")}.`}`,
  unreachable: (name: string, detail: string) => `${name} does not reach its model's server: ${detail}`,
  quota: (name: string, setting: string) => `${name} was ended: \`${setting}\` is used up for this message.`,
  timedOut: (name: string, seconds: number) =>
    `${name} was ended after ${seconds} seconds (\`head.timeout\`). Its session is kept.`,
  silent: (name: string, seconds: number) =>
    `${name} was ended: it said nothing for ${seconds} seconds (\`head.silence\`). Its session is kept.`,
  flooded: (name: string) => `${name} was ended: it printed without end.`,
  asking: (name: string, times: number) => `${name} was ended: it asked for permission ${times} times.`,
  sessionLost: (name: string) => `${name} does not know its earlier session any more; a new one is begun.`,
  failed: (name: string, detail: string) => `${name} ended with an error: ${detail}`,
  dryRun: (name: string) =>
    `Dry mode: ${name} is not started, as it would work at once. \`/preview\` shows its work without applying it.`,
  kept: "What it had changed until then is kept as a preview.",
  usage: (names: readonly string[]) =>
    `/head NAME REQUEST lets an agent of your own work on one message: ${names.join(", ")}.`,
  ready: "ready",
  unknown: (name: string) => `There is no head named ${name}.`,
  always: (name: string) => `Messages to a coder go to ${name} (roles.coder.head).`,
};
