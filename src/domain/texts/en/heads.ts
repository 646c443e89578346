import type { HeadName } from "../../config/configured-kinds.ts";
import { wordBy } from "../format-text.ts";

/** Why an agent cannot work, or could not continue. Texts are masked. */
export type HeadTrouble =
  | { readonly code: "not-installed"; readonly name: HeadName; readonly program: string }
  /** `head.command` is empty. */
  | { readonly code: "no-command" }
  | {
      readonly code: "no-login";
      readonly name: HeadName;
      readonly variables: readonly string[];
      /** A login of a person that is there and may not be used as things are set. */
      readonly file: string | null;
    }
  | { readonly code: "login-expired"; readonly name: HeadName; readonly program: string }
  /** Its vendor lets no other program use this login. */
  | { readonly code: "login-refused"; readonly name: HeadName; readonly variables: readonly string[] }
  /** Nothing confines here, or the workspace holds the user's home. */
  | { readonly code: "not-confined" }
  | { readonly code: "busy"; readonly name: HeadName }
  | { readonly code: "unauthorized"; readonly name: HeadName; readonly variables: readonly string[] }
  | { readonly code: "unreachable"; readonly name: HeadName; readonly detail: string }
  | { readonly code: "quota"; readonly name: HeadName; readonly reached: "requests" | "bytes" }
  | { readonly code: "timed-out"; readonly name: HeadName; readonly seconds: number }
  | { readonly code: "silent"; readonly name: HeadName; readonly seconds: number }
  | { readonly code: "flooded"; readonly name: HeadName; readonly bytes: number }
  /** It asked for permission again and again. */
  | { readonly code: "asking"; readonly name: HeadName; readonly times: number }
  /** The session to continue no longer exists; the next turn begins another. */
  | { readonly code: "session-lost"; readonly name: HeadName }
  | { readonly code: "failed"; readonly name: HeadName; readonly detail: string };

export const headTexts = {
  trouble: wordBy<"code", HeadTrouble>("code", {
    "not-installed": ({ name, program }) =>
      `${name} is not installed on this machine: there is no \`${program}\` on the PATH. PicoClaw cannot start it until you install it.`,
    "no-command": "No agent is set: `head.command` is empty. Example: `head: {command: [opencode, acp]}`.",
    "no-login": ({ name, variables, file }) =>
      [
        `${name} has no key here. Set ${variables.join(" or ")}${name === "claude-code" ? " (`claude setup-token` creates a token for unattended use)" : ""}.`,
        ...(file === null
          ? []
          : [
              `There is a login in ${file}; it is used only with \`head.login: file\`. The vendor's terms say whether that is permitted.`,
            ]),
      ].join(" "),
    "login-expired": ({ name, program }) =>
      `The login of ${name} has expired, and PicoClaw does not refresh it: start \`${program}\` once yourself, then send the message again.`,
    "login-refused": ({ name, variables }) =>
      `${name} is logged in with Google, and Google's terms do not let another program use that login. Set ${variables.join(" or ")}.`,
    "not-confined":
      "Your own agent runs only if it can be confined: bubblewrap and overlays must work, `worker.confine` must not be off, and the workspace must not contain your home folder. `picoclaw doctor` says what is missing.",
    busy: ({ name }) =>
      `${name} is already working for this chat in another process. Try again when it has finished.`,
    unauthorized: ({ name, variables }) =>
      `${name} was refused by its model's server: the key or login is wrong.${variables.length === 0 ? "" : ` See ${variables.join(" or ")}.`}`,
    unreachable: ({ name, detail }) => `${name} cannot reach its model's server: ${detail}`,
    quota: ({ name, reached }) =>
      `${name} was ended: \`${reached === "requests" ? "tasks.key_requests" : "tasks.key_traffic"}\` is used up for this message.`,
    "timed-out": ({ name, seconds }) =>
      `${name} was ended after ${seconds} seconds (\`head.timeout\`). Its session is kept.`,
    silent: ({ name, seconds }) =>
      `${name} was ended: it said nothing for ${seconds} seconds (\`head.silence\`). Its session is kept.`,
    flooded: ({ name }) => `${name} was ended: its output did not stop.`,
    asking: ({ name, times }) => `${name} was ended: it asked for permission ${times} times.`,
    "session-lost": ({ name }) => `${name} has lost its earlier session and starts a new one.`,
    failed: ({ name, detail }) => `${name} ended with an error: ${detail}`,
  }),
  dryRun: (name: string) =>
    `Dry mode: ${name} is not started, because it would change files at once. \`/preview\` shows its work without applying it.`,
  usage: (names: readonly string[]) =>
    `/head NAME REQUEST lets your own agent work on one message: ${names.join(", ")}.`,
  ready: "ready",
  unknown: (name: string) => `There is no agent named ${name}. To list them: /head`,
  always: (name: string) => `Messages to a coder go to ${name} (roles.coder.head).`,
};
