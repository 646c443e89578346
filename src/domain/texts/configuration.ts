import { type ConfigProblem, type ConfigWarning, NOTHING } from "../config/config-problem.ts";
import { filePositionText } from "../config/place-in-file.ts";
import { machineTexts } from "./machine.ts";

/** The configuration, and how a command is called. */
export const configurationTexts = {
  configInvalid: "The configuration is not valid. Nothing was run.",
  /** Valid, and nevertheless without an answer. */
  cannotWork: (role: string, why: string) => `roles.${role} cannot work as it is: ${why}`,
  configValid: "The configuration is valid.",
  configProblem: problemText,
  configWarning: warningText,
  workspaceTrusted: (path: string, files: readonly string[]): string =>
    [
      `${path} is trusted: its checks may run, and its picoclaw.yaml, commands and skills count.`,
      files.length === 0 ? "It has none of these now." : "As they are now:",
      ...files.map((file) => `  ${file}`),
      "What changes, or comes new, must be trusted again.",
    ].join("\n"),
  nothingToTrust: "There is no such folder.",
  usageError: (detail: string) => `Usage error: ${detail}`,
  unknownCommand: (name: string, nearest: string | null) => `Unknown command: ${name}${perhaps(nearest)}`,
  unknownFlag: (name: string, nearest: string | null) => `Unknown option: ${name}${perhaps(nearest)}`,
  missingValue: (flag: string) => `${flag} needs a value.`,
  emptyPatch: (name: string) => `The patch is empty: ${name}`,
  optionsBehind: (flag: string) => `Options stand behind the command: picoclaw COMMAND ${flag}`,
  noInput: "There is no patch. Name a file, or pass it on standard input.",
  warningLabel: "Warning:",
  unexpectedError: (detail: string) => `Unexpected error: ${detail}`,
};

function perhaps(nearest: string | null | undefined): string {
  return (nearest ?? null) === null ? "" : ` (did you mean ${nearest}?)`;
}

function problemText(problem: ConfigProblem): string {
  switch (problem.code) {
    case "unknown-key":
      return `${filePositionText(problem.at)}unknown key ${problem.key}${perhaps(problem.nearest)}`;
    case "invalid-value": {
      const who = problem.variable === undefined ? problem.key : `${problem.variable} (${problem.key})`;
      if (problem.value === NOTHING)
        return `${filePositionText(problem.at)}${who} is missing; expected ${problem.expected}`;
      return `${filePositionText(problem.at)}${who} cannot be ${problem.value}; expected ${problem.expected}`;
    }
    case "literal-secret":
      return `${filePositionText(problem.at)}${problem.key} must not hold the secret itself. Put it into an environment variable and write env:NAME.`;
    case "unset-reference":
      return `${filePositionText(problem.at)}${problem.key} refers to the environment variable ${problem.variable}, which is not set.`;
    case "invalid-yaml":
      return `${filePositionText(problem.at)}not valid YAML: ${problem.detail}`;
    case "unreadable-file":
      return `${filePositionText(problem.at)}the configuration file cannot be read: ${problem.detail}`;
  }
}

function warningText(warning: ConfigWarning): string {
  switch (warning.code) {
    case "unknown-variable":
      return `ignored the unknown environment variable ${warning.variable}${perhaps(warning.nearest)}`;
    case "unusable-variable":
      return `ignored the environment variable ${warning.variable}: it does not fit ${warning.key}.`;
    case "untrusted-keys":
      return (
        `ignored in ${warning.file}, because the folder is not trusted: ${warning.keys.join(", ")}. ` +
        machineTexts.remedy("trust-workspace")
      );
    case "ignored-key":
      return `${filePositionText(warning.at)}${warning.key} has no effect and was ignored.`;
    case "docker-socket":
      return "mount_docker_socket is on: a container has the power of root on this machine.";
    case "cloud-allowed":
      return "security.local_only is off: chat text may be sent to cloud models.";
  }
}
