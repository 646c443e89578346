import { DECLARING, type ShellAssignment } from "../shell-script.ts";
import { type Call, type CommandRule, hasShort, optionsOf } from "./command-rule.ts";

/** Commands that would change the meaning of a name, a later command or an open file. */
export const SHELL_RULES: readonly CommandRule[] = [
  {
    id: "redefines-name",
    programs: ["alias", "hash", "enable", "unset"],
    matches: ({ name, args }) =>
      name === "unset"
        ? hasShort(optionsOf(args), "f")
        : args.some((word) => word.value !== "-r" && word.value !== "-p"),
  },
  {
    id: "sets-variable",
    matches: (call) => assignmentsOf(call).some(changesMeaning),
  },
  {
    id: "writes-device",
    matches: ({ command }) =>
      command.redirects.some(({ target: { value } }) => {
        if (value === null) return false;
        if (/^\/dev\/(?:tcp|udp)\//.test(value)) return true;
        return (
          /^\/(?:dev|proc|sys)\//.test(value) &&
          !/^\/dev\/(?:null|zero|u?random|std(?:in|out|err)|tty|fd\/\d+|shm\/.+)$/.test(value)
        );
      }),
  },
  {
    id: "calls-itself",
    matches: ({ name, command }) => command.inFunction !== null && command.inFunction === name,
  },
];

const MEANING =
  /^(?:LD_.*|DYLD_.*|BASH_ENV|ENV|SHELLOPTS|BASHOPTS|PS4|PROMPT_COMMAND|BASH_FUNC_.*|GIT_(?:SSH|SSH_COMMAND|EXTERNAL_DIFF|PAGER|EDITOR|SEQUENCE_EDITOR|ASKPASS|EXEC_PATH|PROXY_COMMAND|CONFIG.*|TEMPLATE_DIR)|SSH_ASKPASS|PAGER|EDITOR|VISUAL|LESSOPEN|LESSCLOSE|MANPAGER|BROWSER|GCONV_PATH|IFS_)$/;

function changesMeaning({ name, value }: ShellAssignment): boolean {
  // Appending leaves every name that is found already what it is.
  if (name === "PATH") return !/^"?\$(?:PATH|\{PATH\}):/.test(value.text);
  return MEANING.test(name);
}

function assignmentsOf({ name, args, command }: Call): readonly ShellAssignment[] {
  const found = [...command.assignments];
  const names: string[] = [];
  for (const [index, word] of args.entries()) {
    if (DECLARING.has(name)) {
      const [, variable, text] = /^(\w+)\+?=(.*)$/s.exec(word.text) ?? [];
      if (variable !== undefined)
        found.push({ name: variable, value: { text: text ?? "", value: word.value } });
    }
    if (name === "read" || name === "mapfile" || name === "readarray" || name === "getopts")
      names.push(word.text);
    if (name === "printf" && args[index - 1]?.value === "-v") names.push(word.text);
  }
  return [...found, ...names.map((each) => ({ name: each, value: { text: "", value: null } }))];
}
