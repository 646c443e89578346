import {
  type InstallTrouble,
  networkSettingKey,
  type PrepareFailure,
  type PrepareNotice,
  type PrepareStep,
} from "../../containers/preparation.ts";
import { many, wordBy } from "../format-text.ts";

const LIMITS = { memory: "memory", swap: "swap", cpu: "CPU", pids: "processes" } as const;

const ENGINE_FAILURES: Readonly<Record<string, string>> = {
  "engine-unreachable": "Docker cannot be reached",
  "engine-forbidden": "This user may not use Docker",
  "engine-timeout": "Docker did not answer in time",
  "engine-error": "Docker reported an error",
  "bad-host": "The address of Docker cannot be used (command_executor.docker.host)",
  "image-missing": "The image does not exist",
  "name-taken": "A container with this name already exists",
  "container-missing": "The container does not exist any more",
  "container-stopped": "The container is not running",
  "no-resources": "Docker has no memory or disk space left",
  "no-proxy": "The container's network proxy could not be started",
  "not-allowed": "The settings do not allow this",
  "bad-spec": "Docker did not accept the container's settings",
  outside: "The path is outside the environment",
  "cwd-missing": "The folder does not exist in the environment",
  "program-missing": "The program does not exist in the environment",
  disconnected: "The connection to the container was lost",
};

type EngineKernel = Readonly<{ cgroup: 1 | 2; driver: string; filesystem: string; rootless: boolean }>;

export const dockerTexts = {
  engine: ({ version, api, host }: Readonly<Record<"version" | "api" | "host", string>>) =>
    `Docker ${version} (API ${api}) at ${host}`,
  /** `needed`: the configuration has environments switched on. */
  notReachable: (detail: string, needed: boolean) =>
    `Docker: not reachable${needed ? "" : " (only task environments need it)"}: ${detail}`,
  notPermitted: (host: string, needed: boolean) =>
    `Docker: this user may not use ${host}${needed ? "" : " (only task environments need it)"}`,
  badHost: (host: string) => `Docker: ${host} is not a valid engine address`,
  kernel: ({ cgroup, driver, filesystem, rootless }: EngineKernel) =>
    `Docker: cgroup v${cgroup}, storage ${driver} on ${filesystem}${rootless ? ", rootless" : ""}`,
  limits: (missing: readonly (keyof typeof LIMITS)[]): string =>
    missing.length === 0
      ? "Environments: CPU, memory, swap and process limits are enforced by the kernel"
      : `Environments: not enforced by this engine: ${missing.map((each) => LIMITS[each]).join(", ")}`,
  disk: (kind: "quota" | "watchdog", limit: string): string =>
    kind === "quota"
      ? `Environments: the disk limit (${limit}) is enforced by the engine`
      : `Environments: the disk limit (${limit}) is monitored, not enforced: a command that exceeds it is ended within seconds; no single file can grow beyond it`,
  network(
    mode: "none" | "open" | "allow-list",
    domains: readonly string[],
    hosts: readonly string[],
  ): string {
    const besides = hosts.length === 0 ? "" : `, and ${hosts.join(", ")}`;
    return {
      none: "Environments: no network at all",
      open: `Environments: public hosts through the proxy${besides}; this machine and private networks are out of reach`,
      "allow-list": `Environments: only ${domains.join(", ") || "no public host"} through the proxy${besides}`,
    }[mode];
  },
  hardening: (seccomp: boolean): string =>
    seccomp
      ? "Environments: run as an ordinary user, without capabilities or new privileges, under seccomp"
      : "Environments: run as an ordinary user, without capabilities or new privileges; this engine has no seccomp",
  socketMounted:
    "Environments: the engine's socket is mounted; anything that runs in an environment has root access to this machine",
  remedy: (what: "start-docker" | "join-group" | "set-host" | "kernel-limits" | "seccomp"): string =>
    ({
      "start-docker": "start Docker (systemctl start docker), or set DOCKER_HOST to a running engine",
      "join-group": "add this user to the group docker (sudo usermod -aG docker $USER, then log in again)",
      "set-host": "set command_executor.docker.host or DOCKER_HOST to unix:///… or tcp://host:port",
      "kernel-limits": "enable the missing cgroup controllers (for swap: the kernel parameter swapaccount=1)",
      seccomp: "use an engine and a kernel with seccomp",
    })[what],
};

const installTrouble = wordBy<"kind", InstallTrouble>("kind", {
  exit: ({ exitCode }) => `exit code ${exitCode}`,
  timeout: ({ seconds }) => `time limit of ${seconds} s`,
  refused: ({ hosts }) =>
    `this environment may not reach ${hosts.map((one) => `${one.host} (allow it in ${networkSettingKey(one)})`).join(", ")}`,
  other: ({ detail }) => detail,
});

const noticeText = wordBy<"code", PrepareNotice>("code", {
  "unknown-environment": ({ asked, used }) =>
    `There is no environment "${asked}"; "${used}" is used instead.`,
  nearest: ({ language, used, wanted }) =>
    `There is no image for ${language}; the nearest, "${used}", is used instead. Add one as command_executor.environments.${wanted}.`,
  detected: ({ environment, because }) => `Chose the environment "${environment}" because of ${because}.`,
  uncommitted: ({ count }) =>
    `${many(count, "uncommitted change")} in the folder ${count === 1 ? "is" : "are"} not in the clone.`,
  "no-common-commit": ({ target }) =>
    `There is no common commit with ${target}; compare with \`git diff origin/${target} HEAD\`.`,
  "insecure-host": ({ host }) =>
    `The certificate of ${host} is not checked (command_executor.clone.insecure_hosts).`,
  "program-missing": ({ file, program }) => `${file} was not installed: the image has no ${program}.`,
  "install-failed": ({ why, command, output, leftOut }) => {
    const rest =
      leftOut?.length === 0
        ? "; the packages were installed one by one"
        : `; the rest was installed without ${leftOut?.join(", ")}`;
    return `Installing dependencies failed (${installTrouble(why)}): ${command}${leftOut === null ? "" : rest}${output === "" ? "" : `\n${indent(output)}`}`;
  },
});

export const environmentsTexts = {
  step: (step: PrepareStep, subject: string): string =>
    ({
      choosing: "choosing the environment",
      "pulling-image": `pulling image ${subject}`,
      "building-image": `building image ${subject} (once; this takes a while)`,
      "deriving-image": `adding git and the user to image ${subject} (once)`,
      "removing-existing": `removing the earlier container ${subject}`,
      creating: `creating a container from ${subject}`,
      cloning: `cloning ${subject}`,
      "checking-out": "checking out the files",
      fetching: `fetching ${subject} packages (once)`,
      installing: `installing dependencies: ${subject}`,
      ready: `ready: ${subject}`,
    })[step],
  notice: noticeText,
  failure: (code: PrepareFailure["code"], subject: string, detail: string): string => {
    const rest = detail === "" ? "" : `:\n${detail}`;
    return {
      aborted: "Stopped. The environment was removed.",
      engine: `${ENGINE_FAILURES[subject] ?? "Docker failed"}${rest}`,
      "image-missing": `Image not found: ${subject}${rest}`,
      "image-failed": `The image ${subject} could not be built${rest}`,
      "repository-missing": `No such repository: ${subject}${rest}`,
      "repository-denied": `Access to ${subject} was denied${rest}`,
      "ref-missing": `No such branch or tag in ${subject}${rest}`,
      "not-a-repository": `Not a git repository: ${subject}${rest}`,
      "host-unreachable": `The host of ${subject} cannot be reached from an environment${rest}`,
      "clone-timeout": `Cloning ${subject} took longer than ${detail}`,
      "clone-failed": `Cloning ${subject} failed${rest}`,
      "disk-full": `The environment's disk is full after cloning ${subject}${rest}`,
      "credential-kept": `A credential was found in the clone of ${subject}; the environment was removed`,
      "bad-input": `${subject}: ${detail}`,
    }[code];
  },
  remedy: (remedy: NonNullable<PrepareFailure["remedy"]>, subject: string): string =>
    ({
      "images-build": `Build it with: picoclaw images build ${subject.replace(/:latest$/, "")}`,
      "check-image":
        "Check command_executor.environments: use a name that `docker pull` accepts (a private registry needs `docker login`), or a local image (`docker images`).",
      "start-docker": "Start Docker, or set DOCKER_HOST to a running engine. `picoclaw doctor` shows more.",
      "check-token":
        "Check the token (GITHUB_PERSONAL_ACCESS_TOKEN, GITLAB_PERSONAL_ACCESS_TOKEN) and its read permissions.",
      "allow-host":
        "Allow the host in command_executor.docker.network (allowed_domains, or allowed_hosts for a private address).",
      "check-name": "Check the spelling, and that it exists.",
      "use-https": "Use the https address of the repository.",
      "raise-limit":
        "Raise command_executor.clone.timeout or command_executor.docker.resources.disk_limit, or clone less (clone.shallow).",
    })[remedy],
  prepared: ({ name, environment, image, path }: Record<"name" | "environment" | "image" | "path", string>) =>
    `Environment ready: ${name}\n  environment ${environment}, image ${image}\n  project in ${path}`,
  nextSteps: (task: string) =>
    `  picoclaw env exec --task ${task} -- COMMAND\n  picoclaw env cleanup --task ${task}`,
  installed: ({ done, total }: { done: number; total: number }) =>
    `  dependencies: ${done} of ${total} installed`,
  noEnvironments: "There are no environments.",
  listHeader: ["TASK", "ENVIRONMENT", "STATE", "IMAGE", "CREATED"],
  unknownTask: (task: string) => `There is no environment for task ${task}. See: picoclaw env list`,
  notReady: (task: string) =>
    `The environment of task ${task} is not ready yet. Its state: picoclaw env info --task ${task}`,
  removed: (name: string) => `Removed: ${name}`,
  nothingToRemove: (name: string) => `Nothing to remove: ${name}`,
  leftOver: (kind: string, name: string, reason: string) => `Left over: ${kind} ${name} (${reason})`,
  pruned: (count: number) => many(count, "stale container removed.", "stale containers removed."),
  image: (name: string, what: "unchanged" | "building" | "built" | "kept") =>
    what === "kept"
      ? `${name}: kept as it is, because its Debian base image could not be pulled (to use another one: --from IMAGE)`
      : `${name}: ${what}`,
  images: (there: readonly string[], missing: readonly string[]) =>
    [
      `Images of environments: ${there.length === 0 ? "none yet" : there.join(", ")}`,
      ...(missing.length === 0 ? [] : [`missing, built on first use: ${missing.join(", ")}`]),
    ].join("; "),
  unknownImage: (name: string, known: readonly string[]) =>
    `Unknown image: ${name}. Known: ${known.join(", ")}`,
  missingOption: (flag: string) => `${flag} is required`,
  badTask: (given: string) => `Not a task id: ${JSON.stringify(given)} (letters, digits, ".", "_" and "-")`,
  badTimeout: (given: string) => `--timeout takes a number of seconds above 0: ${given}`,
  noCommand: "No command. Write it after `--`.",
  unknownEnvironment: (name: string, known: readonly string[]) =>
    `Unknown environment: ${name}. Known: ${known.join(", ")}`,
  unknownSubcommand: (given: string, known: readonly string[]) =>
    `Unknown: ${given}. Known: ${known.join(", ")}`,
  buildFrom:
    "The Debian base image could not be pulled. Name an image that you have (images build --from IMAGE), or build one from Debian's packages (sudo picoclaw images build --from debian-rootfs).",
  rootNeedsRoot: "Building a Debian root file system needs debootstrap and root: install it, then use sudo.",
};

function indent(text: string): string {
  return text.replace(/^/gm, "    ");
}
