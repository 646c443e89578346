import { z } from "zod";
import { count, flag, hosts, optionalText, optionalUrl, secret, size, text, texts } from "./primitives.ts";

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

/** How a patch is carried out, then what the transaction and the confinement need. */
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
