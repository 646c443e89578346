import { allowCommand, type RefusedDestination } from "../../policy/network.ts";
import type { RuleId } from "../../policy/rules/command-rule.ts";
import { formatBytes, many } from "../format-text.ts";

/** `{name}`: what the command was decided by; `{detail}`: what the parser said. */
const rules: Readonly<Record<RuleId, readonly [reason: string, instead: string]>> = {
  syntax: [
    "the command cannot be read as shell: {detail}",
    "Check quotes, brackets and here-documents, and send it again.",
  ],
  "too-large": [
    "the command is longer than {detail}",
    "Write long content with the file editing tools, and keep the command short.",
  ],
  "too-complex": [
    "the command is nested or repeated too deeply to be checked: {detail}",
    "Split it into several short commands.",
  ],
  "bash-only": [
    "it is run by `sh`, which reads this bash syntax differently",
    "Use `[ … ]`, `$(( … ))` and plain quotes, or `bash -c '…'`.",
  ],
  "evaluates-data": ["it runs the content of a variable as a command", "Write the command out."],
  "unknown-name": [
    "which program `{name}` runs is known only at run time",
    "Write the program's name out, without variables, patterns or substitutions.",
  ],
  "unseen-script": [
    "`{name}` would run a script that cannot be seen beforehand",
    "Write the commands out, or give the script literally (`sh -c '…'`).",
  ],
  "not-allowed": [
    "`{name}` is not on the list of allowed commands",
    "Use a command on the list (see the system prompt); a person can allow others in command_executor.allowed_commands.additional.",
  ],
  excluded: [
    "`{name}` is excluded by command_executor.allowed_commands.exclude",
    "Use another command on the list.",
  ],
  "rm-rf": [
    "recursive forced deletion is forbidden, to prevent deletion by mistake",
    "Name files (`rm FILE`), or remove one folder of the project with `rm -r FOLDER`.",
  ],
  "rm-wide": [
    "it would delete the whole project, a home folder or system folders",
    "Name the folder inside the project to delete.",
  ],
  "find-delete": [
    "`find -delete` without a name test, or outside the project, deletes too much",
    "Add `-name PATTERN` before `-delete` and start inside the project.",
  ],
  "chmod-777": [
    "granting all permissions to everyone is forbidden",
    "Grant only what is needed: `chmod +x FILE`, `chmod 644 FILE`.",
  ],
  "chmod-setuid": ["setuid and setgid are forbidden", "Run the program as the current user."],
  "git-push": [
    "pushing to another repository is forbidden here",
    "Leave the changes in the working tree; they are committed and pushed after the task.",
  ],
  "git-runs-programs": [
    "this option makes git run other programs or write files",
    "Use git without -c, --exec-path, --ext-diff, --textconv or --output.",
  ],
  publish: [
    "publishing to a registry and logging in to one are forbidden",
    "Build and test only; a person publishes.",
  ],
  "download-and-run": [
    "it would run a download without inspection",
    "Save it to a file (`curl -o FILE URL`), inspect it, then decide.",
  ],
  "curl-sends": [
    "only reading over HTTP is allowed",
    "Use GET or HEAD without data, forms, uploads, config files or sockets.",
  ],
  "tool-runs-programs": [
    "this option or script makes `{name}` run other programs",
    "Run that program as a separate command.",
  ],
  "redefines-name": [
    "it changes what a command name means",
    "Write the command out each time, or define a function.",
  ],
  "sets-variable": [
    "it sets a variable that decides which programs or libraries run",
    "Call the program by its path, or append: `PATH=$PATH:FOLDER`.",
  ],
  "writes-device": [
    "redirecting to devices, kernel files or raw network paths is forbidden",
    "Write to a file in the project, or to /dev/null.",
  ],
  "calls-itself": ["a function that calls itself can start processes without end", "Use a loop."],
  sudo: [
    "privilege escalation is forbidden",
    "Run it without sudo; anything that needs root belongs in the environment's image.",
  ],
  su: ["switching users is forbidden", "Run the command as the current user."],
  chown: ["changing owners is forbidden", "All files of the project are yours already."],
  mount: ["file system operations are forbidden", "Work in /workspace/project and /workspace/tmp."],
  iptables: [
    "changing network settings is forbidden",
    "A person configures the network with command_executor.docker.network.",
  ],
  systemctl: [
    "controlling services is forbidden",
    "Start the program itself in the background (`PROGRAM &`).",
  ],
  kill: [
    "ending processes other than your own is forbidden",
    "End what this command started: `kill $!` or `kill %1`.",
  ],
  reboot: ["controlling the system is forbidden", "The environment is started and stopped for you."],
  dd: ["low-level disk operations are forbidden", "Use `cp`, or `head -c N FILE > OTHER`."],
  mkfs: ["creating file systems is forbidden", "Work in /workspace/project and /workspace/tmp."],
  fdisk: ["partitioning is forbidden", "Work in /workspace/project and /workspace/tmp."],
  nc: ["arbitrary network connections are forbidden", "Use `curl` or `wget` to read over HTTP."],
  nmap: ["scanning networks is forbidden", "Ask for the address you need."],
  ssh: ["remote connections are forbidden", "Work inside this environment."],
  rsync: [
    "transferring files to other machines is forbidden",
    "Use `cp` inside the project; `curl` or `wget` to download.",
  ],
};

export const commandsTexts = { refused: "Command refused", rules };

const REASONS: Readonly<Record<RefusedDestination, string>> = {
  "bad-host": "not a host",
  "not-allowed": "not in worker.network.allowed_domains",
  port: "allowed, but not on this port: add host:port to worker.network.allowed_domains",
  denied: "in worker.network.denied_domains",
  address: "its address is private: only an exact host:port in worker.network.allowed_domains opens it",
};

const MODEL_REASONS: Readonly<Record<RefusedDestination, string>> = {
  "bad-host": "not a host",
  "not-allowed": "not on the list of worker.model_network",
  port: "on the list, but not on this port",
  denied: "in denied_domains",
  address: "its address is private: only an exact host:port opens it",
};

const allowed = (command: string | null) => (command === null ? "" : `. To allow it: ${command}`);

interface RefusedWords {
  readonly host: string;
  readonly port?: number | undefined;
  readonly reason: RefusedDestination;
  readonly count: number;
  readonly list?: "model";
}

const LIMITED =
  "Commands are limited, not confined (Landlock): they write only to the workspace's copy, a private home and a private TMPDIR, and read only the system and tools. Not prevented: changing modes and times of files outside, Unix sockets, UDP.";

const shown = (limit: string, value: number) =>
  limit === "open_files" || limit === "processes" ? String(value) : formatBytes(value);

export const confinementTexts = {
  refusedHost: ({ host, port, reason, count, list }: RefusedWords) =>
    list === undefined
      ? `network: ${many(count, "request")} to ${host} refused (${REASONS[reason]})`
      : `network: ${many(count, "request")} to ${host} refused (${MODEL_REASONS[reason]})${allowed(allowCommand({ host, port, reason }))}`,
  hostsReached: (hosts: readonly { readonly host: string; readonly count: number }[]) =>
    `network: commands of the model reached ${hosts.map(({ host, count }) => `${host} (${count})`).join(", ")}`,
  modelNetworkTold:
    "New: commands that a model starts reach package registries, your own hosts and what you allow, no other host (worker.model_network; mode: on is the network of earlier versions). Your own commands are as before.",
  modelNetworkOpen:
    "worker.model_network is allow_list, but nothing confines commands here: a model's commands reach every host. To see what helps: picoclaw doctor",
  limited: `${LIMITED} To confine them: picoclaw doctor`,
  limitedPromise: LIMITED,
  homeLeftOut: (paths: readonly string[]) =>
    `home: settings and state of your programs were left as they were: ${paths.join(", ")}; worker.home_writes lists what jobs may change`,
  homeHidden: (paths: readonly string[]) =>
    `home: ${paths.join(", ")} ${paths.length === 1 ? "is" : "are"} hidden from jobs; worker.home_allow lists what they may see`,
  networkLimited: (network: "off" | "allow-list", list?: "model"): string =>
    list === "model"
      ? network === "off"
        ? "network: it is off for this job (a preview, or worker.model_network.mode: off)"
        : "network: a model's commands reach listed hosts only, and only through the proxy in HTTP_PROXY; a program that ignores it reaches nothing (worker.model_network)"
      : network === "off"
        ? "network: it is off for this job (a preview without --allow-net, or worker.network.mode: off)"
        : "network: only the hosts of worker.network.allowed_domains are reachable, and only through the proxy in HTTP_PROXY; a program that ignores it reaches nothing",
  secretHidden: (paths: readonly string[]) =>
    `${paths.join(", ")}: hidden from a model's commands, because git does not track ${paths.length === 1 ? "it and its name is" : "them and their names are"} protected; worker.env_files lists what these commands may read`,
  limitMet: (limit: "memory" | "file_size" | "open_files" | "processes", value: number) =>
    `${limit}: the command seems to have reached worker.limits.${limit} (${shown(limit, value)})`,
  diskReached: (what: "changes" | "home", bytes: number, limitBytes: number) =>
    `${what === "changes" ? "The changes of the job" : "The private home of the job"} took ${formatBytes(bytes)} of disk, more than worker.limits.disk (${formatBytes(limitBytes)}), so the job was ended.${what === "home" ? " The private home was emptied." : ""}`,
  /** `configured`: `worker.limits.processes`. */
  processesReached: (most: number, configured: number) =>
    most < configured
      ? `The job started more than the ${most} processes that are available to it here, so it was ended. The limit around PicoClaw (the pids limit of a container, TasksMax of systemd, ulimit -u) was reached: raise that one. worker.limits.processes allows ${configured}; a smaller number there lowers the limit further.`
      : `The job started more processes than worker.limits.processes allows (${configured}), so it was ended. If it needs them, raise worker.limits.processes.`,
  noProcessesLeft: (left: number) =>
    `Only ${left} more ${left === 1 ? "process" : "processes"} can be started here, too few to run commands. End other programs, or raise the limit around PicoClaw (the pids limit of a container, TasksMax of systemd, ulimit -u).`,
  memoryRanOut:
    "Memory ran out while the job ran, and the system ended the job. Let it use less (fewer parallel processes, smaller files in /tmp or /dev/shm, which are kept in memory; worker.limits.memory bounds each process), or give PicoClaw more: the limit is that of the machine or of the container or service around PicoClaw.",
  /** The same as `memoryRanOut`, for a single command of the job. */
  memoryRanOutIn:
    "memory: memory ran out while the command ran, and the system ended a process. Let it use less (fewer parallel processes, smaller files in /tmp or /dev/shm), or raise the memory limit of the machine, or of the container or service around PicoClaw",
  /** `holds`: there is a sandbox to hold the limits in. */
  limitsPromise: (limits: Readonly<Record<string, number>>, holds: boolean): string => {
    if (!holds)
      return "Commands have no memory or disk limits here: worker.limits needs a sandbox, all but processes.";
    const set = Object.entries(limits).filter(([, value]) => value > 0);
    const named = set.map(([limit, value]) => `${limit} ${shown(limit, value)}`).join(", ");
    return `Limits of a job: ${named}. Memory, file_size and open_files are per process; when memory runs out, a job is ended first.`;
  },
  macos:
    "On macOS commands are not confined yet: they run in a copy with your own rights. Undo covers the workspace; worker.confine: on refuses them.",
  networkUnavailable: (mode: string, setting = "worker.network") =>
    `${setting}.mode is ${mode}, but the network of commands cannot be limited here, so nothing was run. See picoclaw doctor; ${setting}.mode: on runs them with the network.`,
  networkPromise: (mode: "on" | "off" | "allow_list", holds: boolean, domains: readonly string[]): string => {
    if (mode === "on") return "Commands use the network as you do (worker.network.mode: on).";
    if (!holds)
      return `worker.network.mode is ${mode}, which cannot be enforced here: jobs with commands are refused.`;
    return mode === "off"
      ? "Commands have no network access (worker.network.mode: off)."
      : `Commands reach the network only through a proxy, and only: ${domains.length === 0 ? "nothing" : domains.join(", ")}`;
  },
  modelNetworkPromise: (mode: "on" | "off" | "allow_list", holds: boolean, further: readonly string[]) => {
    if (mode === "on")
      return "What a model starts uses the network as you do (worker.model_network.mode: on).";
    if (!holds)
      return mode === "off"
        ? "worker.model_network.mode is off, which cannot be enforced here: a model's commands are refused."
        : "worker.model_network is allow_list, but nothing confines commands here: the list does not hold, and a model's commands reach every host.";
    return mode === "off"
      ? "What a model starts has no network access (worker.model_network.mode: off)."
      : `What a model starts reaches package registries, the hosts of your own settings, known forges of the repository${further.length === 0 ? "" : `, ${further.join(", ")}`}, and nothing else (worker.model_network).`;
  },
};
