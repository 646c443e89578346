import { z } from "zod";
import {
  amount,
  choice,
  chosenName,
  count,
  flag,
  hosts,
  namePatterns,
  optionalText,
  optionalUrl,
  positive,
  secret,
  section,
  size,
  text,
  texts,
} from "./primitives.ts";

const memory = (value: string, description: string) =>
  z
    .string()
    // Without the flag `i`: the JSON form of a schema cannot carry flags.
    .regex(/^\d+(?:\.\d+)?(?:[kmgtKMGT][iI]?[bB]?)?$/)
    .default(value)
    .meta({ description, shown: 'Docker size ("4g")' });

const docker = section({
  host: text("unix:///var/run/docker.sock", "Address of the Docker engine."),
  base_image: text(
    "coding-agent-executor:latest",
    "Image for an environment that is not listed under `environments`.",
  ),
  api_timeout: positive(60, "Time limit for a call to the engine, in seconds."),
  stop_grace: count(10, "Seconds between SIGTERM and SIGKILL when a container is stopped."),
  pids_limit: positive(512, "Most processes in one container."),
  mount_docker_socket: flag(
    false,
    "Mount the engine's socket into containers. A container then has root's rights on this machine.",
  ),
  resources: section({
    cpu_limit: amount(2, "CPU cores of one container."),
    memory_limit: memory("4g", "Memory of one container."),
    disk_limit: memory("10g", "Disk space of one container, where the engine can limit it."),
  }),
  network: section({
    external_access: flag(true, "Let containers reach the internet."),
    whitelist_mode: flag(false, "Let containers reach only `allowed_domains`."),
    allowed_domains: texts([], "Domains that containers may reach in whitelist mode."),
    allowed_hosts: texts(
      [],
      "Private addresses that containers may reach, each an exact `host:port`; also without `external_access`.",
    ),
  }),
});

const image = z.string().min(1).meta({ description: "The image of the environment." });
const commands = z
  .array(z.string())
  .optional()
  .meta({ description: "Commands that a model may run there in addition to `allowed_commands`." });
/** A project's own Dockerfile, built when the environment is first used. */
const ownImage = z.strictObject({ dockerfile: z.string().min(1), commands });
const builtin = (name: string) =>
  z
    .union([image, z.strictObject({ image: image.default(name), commands })])
    .default(name)
    .meta({
      description:
        "The image of the environment, and commands that a model may run there in addition to `allowed_commands`.",
      shown: "image, or { image, commands }",
    });

export const commandExecutor = section({
  enabled: flag(false, "Offer container environments to models, and accept tasks from forges."),
  mcp_server: z.unknown().optional().meta({
    description: "Accepted for older files and ignored: no server runs inside an environment.",
    shown: "ignored",
  }),
  environments: z
    .object({
      python: builtin("coding-agent-executor-python:latest"),
      miniforge: builtin("coding-agent-executor-miniforge:latest"),
      node: builtin("coding-agent-executor-node:latest"),
    })
    .catchall(
      z.union([image, z.strictObject({ image, commands }), ownImage]).meta({
        description:
          "The image of the environment, and commands that a model may run there in addition to `allowed_commands`.",
        shown: "image, { image, commands }, or { dockerfile: path in the workspace, commands }",
      }),
    )
    .prefault({}),
  default_environment: chosenName
    .default("python")
    .meta({ description: "The environment for a task that names none." }),
  text_editor: section({ enabled: flag(true, "Offer the text editor tool in environments.") }),
  docker,
  clone: section({
    shallow: flag(true, "Clone only the newest commits."),
    depth: positive(1, "How many commits a shallow clone has."),
    auto_install_deps: flag(true, "Install the project's dependencies after cloning."),
    timeout: positive(300, "Time limit for a clone, in seconds."),
    insecure_hosts: texts([], "Hosts whose TLS certificates are not verified."),
  }),
  install: section({
    timeout: positive(600, "Time limit for installing dependencies, in seconds."),
    cache: flag(
      true,
      "Cache packages whose exact version a lock file names. Tasks cannot write to this cache.",
    ),
    cache_limit: size(
      2 * 1024 ** 3,
      "Largest size of the package cache; the oldest packages are removed first.",
    ),
    npm_registry: optionalUrl("Registry for npm packages; null is npm's own."),
    pip_index: optionalUrl("Index for Python packages; null is PyPI."),
  }),
  execution: section({
    timeout_seconds: positive(1800, "Time limit for a command in an environment, in seconds."),
    max_output_size: size(1024 ** 2, "How much output of one command is kept."),
  }),
  cleanup: section({
    interval_hours: amount(24, "Hours between two removals of left-over containers."),
    stale_threshold_hours: amount(24, "Age in hours from which a left-over container is removed."),
  }),
  allowed_commands: section({
    use_default: flag(true, "Start with the built-in list of commands."),
    additional: texts([], "Commands to add to the list."),
    exclude: texts([], "Commands to remove from the list."),
    custom_list: texts([], "The list of commands when `use_default` is false."),
  }),
  pool: section({ size: count(0, "Containers that are kept ready for each image.") }),
});

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

/** How a patch is carried out, then what the transaction and the confinement need. */
export const hooks = section({
  before_landing: texts(
    [],
    "Commands that run on the result of a job before it is applied, in a sandbox on a copy that is thrown away. If one fails, the job is kept as a preview and the reply names the command.",
  ),
  after_landing: texts([], "Commands that run in the workspace after a job has been applied."),
  on_red: texts(
    [],
    "Commands that run when a job is kept as a preview because its checks failed or `before_landing` refused it.",
  ),
  after_message: texts([], "Commands that run after a message has been answered."),
  timeout: positive(60, "Time limit for each of these commands, in seconds."),
});

export const worker = section({
  auto_commit: flag(false, "Make a git commit before and after every job."),
  commit_message_prefix: text("[Worker Auto-Commit]", "The beginning of an automatic commit's message."),
  command_timeout: positive(300, "Time limit for a shell command, in seconds."),
  git_timeout: positive(30, "Time limit for a git operation, in seconds."),
  stop_on_error: flag(false, "Stop a job at its first failing command."),
  workspace: optionalText(
    "The folder to work in when `--workspace` is not given; null is the current folder.",
  ),
  protected_patterns: namePatterns(
    [".env*", "*credentials*", "*.key", "*.pem"],
    "Patterns for the names of files that no job may change. Templates such as .env.example stay writable.",
  ),
  env_files: namePatterns(
    [],
    "Secret files that a model's commands may read, as paths or patterns, such as `.env.test` for migrations. Other files that match protected_patterns and that git does not track are hidden from them.",
  ),
  action_on_protected_file: choice(
    ["error", "skip", "log"],
    "error",
    "What to do when a job would change a protected file: fail, leave the file out, or only log it.",
  ),
  show_execution_summary: flag(true, "List the steps of a job before they run."),
  dry_run: flag(false, "List the steps of jobs without running them."),
  confine: choice(
    ["auto", "on", "off"],
    "auto",
    "Run commands in a sandbox: `auto` where this machine can, `on` always (refusing where it cannot), `off` never.",
  ),
  transaction: choice(
    ["auto", "overlay", "copy", "none"],
    "auto",
    "How a job's changes are kept apart until they are applied. With `none`, changes by shell commands cannot be undone.",
  ),
  copy_limit: size(2 * GIB, "Largest workspace that `transaction: copy` may copy."),
  undo_quota: size(
    5 * GIB,
    "Disk space for the undo data, diffs and records of a workspace's jobs. Above it the oldest undo data is removed.",
  ),
  journal_days: count(90, "Days after which the record of a job without undo data is removed; 0 is never."),
  env_pass: texts(
    [],
    "Environment variables that commands get in addition to the usual ones, including secrets.",
  ),
  run_hooks: flag(false, "Run the repository's git hooks on automatic commits."),
  home_allow: texts(
    [],
    "Files and folders of your home that commands may see in addition to those that tools need, such as `~/.config/foo`. The rest is hidden.",
  ),
  home_writes: texts(
    [],
    "If the workspace is your home folder or contains it: the settings and programs there that jobs may change, such as `~/.bashrc`. Changes to all others are refused.",
  ),
  allow_ssh_agent: flag(false, "Let commands use your SSH agent."),
  output_limit: size(MIB, "How much output of one command is kept; longer output loses its middle."),
  limits: section({
    memory: size(
      0,
      "Most memory that each process of a job may use (memory that is only reserved does not count); 0 means no limit.",
    ),
    file_size: size(0, "Largest file that a command may write; 0 means no limit."),
    open_files: count(0, "Most files that a process may have open; 0 is your own limit."),
    processes: count(
      8192,
      "Most processes and threads of a job; fewer where the limit around PicoClaw (a container, systemd, `ulimit -u`) leaves fewer. A job that starts more is ended.",
      16,
    ),
    disk: size(
      20 * GIB,
      "Most disk space that a job's changes may take, and as much again for its private home; 0 means no limit.",
    ),
  }),
  network: section({
    mode: choice(
      ["on", "off", "allow_list"],
      "on",
      "Network access of commands: `on` like your own, `off` none, `allow_list` only `allowed_domains`.",
    ),
    allowed_domains: hosts(
      "Hosts that commands may reach with `allow_list`: `example.org`, `*.example.org`, `host:8443`. Private addresses need an exact `host:port`.",
    ),
    denied_domains: hosts("Hosts that commands may never reach, even if `allowed_domains` names them."),
  }),
  model_network: section({
    mode: choice(
      ["on", "off", "allow_list"],
      "allow_list",
      "Network access of what a model starts (commands of coders, tools, background processes): `allow_list` package registries, hosts of your own package manager settings and forges, the public forge of the repository's remotes, and `allowed_domains`; `on` like your own, `off` none. `worker.network` binds it too.",
    ),
    allowed_domains: hosts(
      "Further hosts that these commands may reach with `allow_list`: `example.org`, `*.example.org`, `host:8443`. Private addresses need an exact `host:port`.",
    ),
    denied_domains: hosts("Hosts that these commands may never reach."),
  }),
});

export const processes = section({
  keep: flag(
    false,
    "Keep background processes running after the conversation or `serve` that started them ends. Those of `picoclaw ps start` always keep running.",
  ),
  limit: positive(20, "Most background processes at the same time, in all workspaces together."),
  log_limit: size(
    2 * MIB,
    "How much output of each background process is kept; the oldest is removed first.",
  ),
});

export const log = section({
  level: choice(
    ["debug", "info", "warn", "error", "silent"],
    "info",
    "The least severe level that is written to the log.",
  ),
  file: optionalText("The log file; null is `logs/picoclaw.log` in PICOCLAW_HOME."),
});

export const telemetry = section({
  otlp_endpoint: optionalUrl(
    "Address of an OpenTelemetry collector (OTLP over HTTP) to which `serve` and `join` send traces; null is none.",
  ),
  otlp_headers: secret(
    "env:OTEL_EXPORTER_OTLP_HEADERS",
    "Headers for the collector, named by an environment variable that holds `name=value` pairs separated by commas.",
  ),
  service_name: text("picoclaw", "The service name in traces."),
});
