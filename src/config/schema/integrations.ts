import { z } from "zod";
import {
  chosenName,
  count,
  flag,
  httpUrl,
  optionalText,
  optionalUrl,
  secret,
  size,
  text,
  texts,
} from "./primitives.ts";

export const forges = z
  .strictObject({
    github: z
      .strictObject({
        token: secret("env:GITHUB_PERSONAL_ACCESS_TOKEN", "The token, by reference."),
        base_url: optionalUrl("API address of GitHub Enterprise."),
        webhook_secret: secret("env:GITHUB_WEBHOOK_SECRET", "Checks the signature of a webhook."),
        repositories: texts([], "Repositories that `serve` looks through for work, each `owner/name`."),
        poll_interval: count(60, "Seconds between two looks; 0 leaves it to webhooks.", {}),
      })
      .prefault({}),
    gitlab: z
      .strictObject({
        token: secret("env:GITLAB_PERSONAL_ACCESS_TOKEN", "The token, by reference."),
        base_url: optionalUrl("API address; GITLAB_API_URL sets it as well."),
        webhook_secret: secret("env:GITLAB_WEBHOOK_SECRET", "Compared with the token of a webhook."),
        repositories: texts([], "Projects that `serve` looks through for work, each `group/name`."),
        poll_interval: count(60, "Seconds between two looks; 0 leaves it to webhooks.", {}),
      })
      .prefault({}),
  })
  .prefault({});

const environment = z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string());

export const mcpServers = z
  .record(
    chosenName,
    z.strictObject({
      command: z.string().min(1).optional().meta({ description: "The program of a server on stdio." }),
      args: texts([], "Its arguments."),
      env: environment.default({}).meta({
        description: "Its environment; what looks like a secret by reference only.",
        shown: "map of NAME to text or env:NAME",
      }),
      url: httpUrl().optional().meta({
        description: "The address of a server over HTTP.",
        shown: "http(s) URL without credentials",
      }),
    }),
  )
  .default({})
  .meta({
    description: "MCP servers whose tools Shiro may call.",
    shown: "map of name to {command, args, env} or {url}",
    reference: true,
  });

export const tools = z
  .strictObject({
    write_scope: z
      .enum(["read-only", "workspace-write", "unrestricted"])
      .default("workspace-write")
      .meta({ description: "Where tools may write: nowhere, in the workspace, or in any folder." }),
    policy: z
      .strictObject({
        default: z
          .enum(["allow", "deny"])
          .default("allow")
          .meta({ description: "What holds for a tool that neither list names." }),
        allow: texts([], "Tools that may be called."),
        deny: texts([], "Tools that may not be called; wins over allow."),
      })
      .prefault({}),
    apply_patch: z
      .strictObject({
        max_bytes: size(10 * 1024 ** 2, "Largest file the tool changes."),
        max_error_chars: count(4000, "Characters of git's error text that are returned.", { min: 100 }),
      })
      .prefault({}),
  })
  .prefault({});

export const tasks = z
  .strictObject({
    max_steps: count(60, "Steps of one task.", { min: 1 }),
    patience: count(900, "Seconds that a task waits for a model's server that is overloaded or failing.", {}),
    label: text("picoclaw", "Issues with this label are taken in."),
    needs: texts(
      [],
      "Labels that a machine of the fleet must have to carry tasks out (`picoclaw join --labels`).",
    ),
    key_requests: count(5000, "Requests that a worker CLI may make with your API key in one task.", {
      min: 1,
    }),
    key_traffic: size(2 * 1024 ** 3, "Bytes that may go through for them in one task, both ways together."),
    rules: texts([], "What a coder should know about this project."),
    allow_ci_files: flag(
      false,
      "Tasks may change files that the forge's machines run (`.github/workflows` and the like).",
    ),
    test_command: optionalText("Another name of `checks.command`, which wins."),
  })
  .prefault({});

export const databaseUrl = z
  .string()
  .regex(/^(?:env:[A-Za-z_][A-Za-z0-9_]*|postgres(?:ql)?:\/\/\S+)$/)
  .nullable()
  .default(null)
  .meta({
    description: "Where the store and the queue live; null is SQLite in PICOCLAW_HOME.",
    shown: "env:NAME, or postgres:// without a password",
    reference: true,
  });
