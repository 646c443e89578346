import type { RuleId } from "../policy/rules/command-rule.ts";

/** `name`: what the command was decided by; `detail`: what the parser said. */
export interface RuleFacts {
  readonly name: string;
  readonly detail: string;
}

/** Why a rule refuses, and what to do instead. */
export interface RuleText {
  readonly reason: string;
  readonly instead: string;
}

/** Reason and advice. */
const RULES: Readonly<Record<RuleId, (facts: RuleFacts) => readonly [reason: string, instead: string]>> = {
  syntax: ({ detail }) => [
    `the command cannot be read as shell: ${detail}`,
    "Check quotes, brackets and here-documents, and send it again.",
  ],
  "too-large": ({ detail }) => [
    `the command is longer than ${detail}`,
    "Write long content with the file editing tools, and keep the command short.",
  ],
  "too-complex": ({ detail }) => [
    `the command is nested or repeated beyond what is read: ${detail}`,
    "Split it into several short commands.",
  ],
  "bash-only": () => [
    "`sh` runs it, and reads this bash form differently",
    "Use `[ … ]`, `$(( … ))` and plain quotes, or `bash -c '…'`.",
  ],
  "evaluates-data": () => ["it runs the content of a variable as a command", "Write the command out."],
  "unknown-name": ({ name }) => [
    `which program \`${name}\` is can only be known when it runs`,
    "Write the program's name out, without variables, patterns or substitutions.",
  ],
  "unseen-script": ({ name }) => [
    `\`${name}\` would run a script that cannot be seen beforehand`,
    "Write the commands out, or give the script literally (`sh -c '…'`).",
  ],
  "not-allowed": ({ name }) => [
    `\`${name}\` is not on the list of allowed commands`,
    "Use a command of the list (see the system prompt); a person can allow it with command_executor.allowed_commands.additional.",
  ],
  excluded: ({ name }) => [
    `\`${name}\` is excluded by command_executor.allowed_commands.exclude`,
    "Use another command of the list.",
  ],
  "rm-rf": () => [
    "recursive forced deletion is forbidden, to prevent deletion by mistake",
    "Name files (`rm FILE`), or remove one folder of the project with `rm -r FOLDER`.",
  ],
  "rm-wide": () => [
    "it would delete the project, a home or system folders as a whole",
    "Name the folder inside the project that shall go.",
  ],
  "find-delete": () => [
    "`find -delete` without a name test, or outside the project, deletes too much",
    "Add `-name PATTERN` before `-delete` and start inside the project.",
  ],
  "chmod-777": () => [
    "permissions for everybody are forbidden",
    "Give what is needed: `chmod +x FILE`, `chmod 644 FILE`.",
  ],
  "chmod-setuid": () => ["setuid and setgid are forbidden", "Run the program as you are."],
  "git-push": () => [
    "nothing is sent to another repository from here",
    "Leave the changes in the working tree; they are committed and pushed after the task.",
  ],
  "git-runs-programs": () => [
    "this option makes git run other programs or write files",
    "Use git without -c, --exec-path, --ext-diff, --textconv or --output.",
  ],
  publish: () => [
    "publishing and logging in at a registry are forbidden",
    "Build and test only; a person publishes.",
  ],
  "download-and-run": () => [
    "a download would be run unseen",
    "Save it to a file (`curl -o FILE URL`), look at it, then decide.",
  ],
  "curl-sends": () => [
    "only reading over HTTP is allowed",
    "Use GET or HEAD without data, forms, uploads, config files or sockets.",
  ],
  "tool-runs-programs": ({ name }) => [
    `this option or script makes \`${name}\` run other programs`,
    "Run that program as a command of its own.",
  ],
  "redefines-name": () => [
    "it changes what a command name means",
    "Write the command out each time, or define a function.",
  ],
  "sets-variable": () => [
    "it sets a variable that decides which programs or libraries run",
    "Call the program by its path, or append: `PATH=$PATH:FOLDER`.",
  ],
  "writes-device": () => [
    "devices, kernel files and raw network paths are not for redirection",
    "Write to a file of the project, or to /dev/null.",
  ],
  "calls-itself": () => ["a function that calls itself can start processes without end", "Use a loop."],
  sudo: () => [
    "privilege escalation is forbidden",
    "Run it without; what needs root belongs into the environment's image.",
  ],
  su: () => ["switching the user is forbidden", "Run the command as the user you are."],
  chown: () => ["changing owners is forbidden", "All files of the project are yours already."],
  mount: () => ["file system operations are forbidden", "Work in /workspace/project and /workspace/tmp."],
  iptables: () => [
    "changing network settings is forbidden",
    "A person configures the network with command_executor.docker.network.",
  ],
  systemctl: () => [
    "controlling services is forbidden",
    "Start the program itself in the background (`PROGRAM &`).",
  ],
  kill: () => [
    "ending processes is forbidden, other than your own",
    "End what this command started: `kill $!` or `kill %1`.",
  ],
  reboot: () => ["controlling the system is forbidden", "The environment is managed for you."],
  dd: () => ["low-level disk operations are forbidden", "Use `cp`, or `head -c N FILE > OTHER`."],
  mkfs: () => ["making file systems is forbidden", "Work in /workspace/project and /workspace/tmp."],
  fdisk: () => ["partitioning is forbidden", "Work in /workspace/project and /workspace/tmp."],
  nc: () => ["arbitrary network connections are forbidden", "Use `curl` or `wget` to read over HTTP."],
  nmap: () => ["scanning networks is forbidden", "Ask for the address you need."],
  ssh: () => ["remote connections are forbidden", "Work inside this environment."],
  rsync: () => [
    "transferring files to other machines is forbidden",
    "Use `cp` inside the project; `curl` or `wget` to download.",
  ],
};

export const commandsTexts = {
  /** `name`: what the command was decided by; `detail`: what the parser said. */
  rule(id: RuleId, facts: RuleFacts): RuleText {
    const [reason, instead] = RULES[id](facts);
    return { reason, instead };
  },
  refused: ({
    rule,
    command,
    text,
  }: {
    readonly rule: RuleId;
    readonly command: string;
    readonly text: RuleText;
  }) => `Command refused (${rule}): ${text.reason}\n  ${command}\n${text.instead}`,
};
