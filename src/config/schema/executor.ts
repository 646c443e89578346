import { z } from "zod";
import {
  chosenName,
  count,
  flag,
  hosts,
  optionalText,
  optionalUrl,
  secret,
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

const docker = z
  .strictObject({
    host: text("unix:///var/run/docker.sock", "Where the Docker engine answers."),
    base_image: text("coding-agent-executor:latest", "Image of an environment that names none."),
    api_timeout: count(60, "Seconds a call to the engine may take.", { min: 1 }),
    stop_grace: count(10, "Seconds between TERM and KILL.", {}),
    pids_limit: count(512, "Processes in a container.", { min: 1 }),
    mount_docker_socket: flag(
      false,
      "Mount the engine's socket. A container then has the power of root here.",
    ),
    resources: z
      .strictObject({
        cpu_limit: z.number().positive().default(2).meta({ description: "CPU cores." }),
        memory_limit: memory("4g", "Memory."),
        disk_limit: memory("10g", "Disk."),
      })
      .prefault({}),
    network: z
      .strictObject({
        external_access: flag(true, "Reach the internet at all."),
        whitelist_mode: flag(false, "Reach only `allowed_domains`."),
        allowed_domains: texts([], "Domains reachable in whitelist mode."),
        allowed_hosts: texts([], "Private addresses that are reachable, each an exact `host:port`."),
      })
      .prefault({}),
  })
  .prefault({});

const image = z.string().min(1).meta({ description: "An environment's image." });
const commands = z
  .array(z.string())
  .optional()
  .meta({ description: "Commands that a model may run there beside `allowed_commands`." });
/** A project's own Dockerfile, built when the environment is first used. */
const ownImage = z.strictObject({ dockerfile: z.string().min(1), commands });
const builtin = (name: string) =>
  z
    .union([image, z.strictObject({ image: image.default(name), commands })])
    .default(name)
    .meta({
      description: "An environment's image, and what a model may run there beside `allowed_commands`.",
      shown: "image, or { image, commands }",
    });

/** Task environments: their containers, their commands and what a model may do there. */
export const commandExecutor = z
  .strictObject({
    enabled: flag(false, "Offer environments to the models and take in tasks."),
    mcp_server: z
      .unknown()
      .optional()
      .meta({ description: "Accepted and ignored: no server runs inside an environment.", shown: "ignored" }),
    environments: z
      .object({
        python: builtin("coding-agent-executor-python:latest"),
        miniforge: builtin("coding-agent-executor-miniforge:latest"),
        node: builtin("coding-agent-executor-node:latest"),
      })
      .catchall(
        z.union([image, z.strictObject({ image, commands }), ownImage]).meta({
          description: "An environment's image, and what a model may run there beside `allowed_commands`.",
          shown: "image, { image, commands }, or { dockerfile: path in the workspace, commands }",
        }),
      )
      .prefault({}),
    default_environment: chosenName
      .default("python")
      .meta({ description: "The environment when none is named." }),
    text_editor: z
      .strictObject({ enabled: flag(true, "Offer the text editor tool in environments.") })
      .prefault({}),
    docker,
    clone: z
      .strictObject({
        shallow: flag(true, "Clone without history."),
        depth: count(1, "Commits of a shallow clone.", { min: 1 }),
        auto_install_deps: flag(true, "Install the project's dependencies after cloning."),
        timeout: count(300, "Seconds a clone may take.", { min: 1 }),
        insecure_hosts: texts([], "Hosts whose TLS certificate is not checked."),
      })
      .prefault({}),
    install: z
      .strictObject({
        timeout: count(600, "Seconds installing dependencies may take.", { min: 1 }),
        cache: flag(
          true,
          "Keep packages that lock files name exactly, fetched where no task can touch them.",
        ),
        cache_limit: size(2 * 1024 ** 3, "Size of that cache; the oldest goes first."),
        npm_registry: optionalUrl("Index of npm packages, instead of npm's own."),
        pip_index: optionalUrl("Index of Python packages, instead of PyPI."),
      })
      .prefault({}),
    execution: z
      .strictObject({
        timeout_seconds: count(1800, "Seconds a command may take.", { min: 1 }),
        max_output_size: size(1024 ** 2, "Output kept of one command."),
      })
      .prefault({}),
    cleanup: z
      .strictObject({
        interval_hours: z.number().positive().default(24).meta({ description: "Hours between clean-ups." }),
        stale_threshold_hours: z
          .number()
          .positive()
          .default(24)
          .meta({ description: "Age at which a left-over container is removed." }),
      })
      .prefault({}),
    allowed_commands: z
      .strictObject({
        use_default: flag(true, "Start from the built-in list."),
        additional: texts([], "Commands to allow as well."),
        exclude: texts([], "Commands to take out of the built-in list."),
        custom_list: texts([], "The whole list, when use_default is false."),
      })
      .prefault({}),
    pool: z.strictObject({ size: count(0, "Containers kept warm for each image.") }).prefault({}),
  })
  .prefault({});

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

/** How a patch is carried out, then what the transaction and the confinement need. */
export const hooks = z
  .strictObject({
    before_landing: texts(
      [],
      "Commands that run over the result of a job before it lands, confined and in a throw-away view. The first that does not end with 0 keeps the job as a preview, and the reply names it.",
    ),
    after_landing: texts([], "Commands that run in the workspace after a job has landed."),
    on_red: texts(
      [],
      "Commands that run when a job is kept as a preview because its checks are red or a hook refused it.",
    ),
    after_message: texts([], "Commands that run when a message has been answered."),
    timeout: count(60, "Seconds that each of these commands may take.", { min: 1 }),
  })
  .prefault({});

export const worker = z
  .strictObject({
    auto_commit: flag(false, "Commit before and after every job."),
    commit_message_prefix: text("[Worker Auto-Commit]", "Begins the message of an auto-commit."),
    command_timeout: count(300, "Seconds a shell command may take.", { min: 1 }),
    git_timeout: count(30, "Seconds a git operation may take.", { min: 1 }),
    stop_on_error: flag(false, "Stop at the first command that fails."),
    workspace: optionalText("The workspace, when neither --workspace nor the current folder is meant."),
    protected_patterns: texts(
      [".env*", "*credentials*", "*.key", "*.pem"],
      "Files that no command may change, matched on the file name. Templates such as .env.example stay writable.",
    ),
    action_on_protected_file: z
      .enum(["error", "skip", "log"])
      .default("error")
      .meta({ description: "What to do when a command would change one." }),
    show_execution_summary: flag(true, "Say what is about to run."),
    dry_run: flag(false, "List the commands and run none."),
    confine: z
      .enum(["auto", "on", "off"])
      .default("auto")
      .meta({ description: "Run commands confined: where possible, always or refuse, never." }),
    transaction: z
      .enum(["auto", "overlay", "copy", "none"])
      .default("auto")
      .meta({ description: "How changes are staged; with none, shell effects cannot be undone." }),
    copy_limit: size(2 * GIB, "Largest workspace that a `copy` transaction copies."),
    undo_quota: size(
      5 * GIB,
      "Disk for undo data, diffs and journals of a workspace's jobs before the oldest undo data is removed.",
    ),
    journal_days: count(90, "Days after which a job without undo data is forgotten; 0 keeps its journal."),
    env_pass: texts(
      [],
      "Environment variables that commands may see beyond the allow-list, secrets included.",
    ),
    run_hooks: flag(false, "Run the repository's git hooks on auto-commits."),
    home_allow: texts(
      [],
      "What commands may see of the home beyond what tools need, such as `~/.config/foo`; all else of it is hidden.",
    ),
    home_writes: texts(
      [],
      "Where the workspace is the home or contains it: which of its settings and programs jobs may change, such as `~/.bashrc`; all others are refused.",
    ),
    allow_ssh_agent: flag(false, "Let commands reach the SSH agent."),
    output_limit: size(MIB, "Output kept of one command; head and tail stay."),
    limits: z
      .strictObject({
        memory: size(
          0,
          "Memory of each process of a job (what it has written to, not what it has reserved); 0 is no limit.",
        ),
        file_size: size(0, "Largest file that a command may write; 0 is no limit."),
        open_files: count(0, "Files that a process may hold open; 0 is the user's own limit."),
        processes: count(8192, "Processes and threads of a job; not counted as root.", { min: 16 }),
        disk: size(20 * GIB, "Disk that the changes of a job, or its private home, may take; 0 is no limit."),
      })
      .prefault({}),
    network: z
      .strictObject({
        mode: z
          .enum(["on", "off", "allow_list"])
          .default("on")
          .meta({ description: "The network of commands: as the user's, none, or `allowed_domains` only." }),
        allowed_domains: hosts(
          "Hosts reachable with allow_list: `example.org`, `*.example.org`, `host:8443`; an exact `host:port` may be private.",
        ),
        denied_domains: hosts("Hosts that stay unreachable although an entry allows them."),
      })
      .prefault({}),
  })
  .prefault({});

/** Background processes of a workspace. */
export const processes = z
  .strictObject({
    keep: flag(
      false,
      "Background processes outlive the program that started them (a conversation, `serve`). Those that `picoclaw ps start` starts always do.",
    ),
    limit: count(20, "Background processes that may run at once, of all workspaces.", { min: 1 }),
    log_limit: size(2 * MIB, "What is kept of each one's output; the oldest goes first."),
  })
  .prefault({});

export const log = z
  .strictObject({
    level: z
      .enum(["debug", "info", "warn", "error", "silent"])
      .default("info")
      .meta({ description: "Least important line that is written." }),
    file: optionalText("The log file; null is `logs/picoclaw.log` in PICOCLAW_HOME."),
  })
  .prefault({});

export const telemetry = z
  .strictObject({
    otlp_endpoint: optionalUrl(
      "Where `serve` and `join` send traces: an OpenTelemetry collector, OTLP over HTTP; null is nowhere.",
    ),
    otlp_headers: secret(
      "env:OTEL_EXPORTER_OTLP_HEADERS",
      "Headers for it, `name=value` divided by commas, by reference.",
    ),
    service_name: text("picoclaw", "What its traces call this service."),
  })
  .prefault({});
