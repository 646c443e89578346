import type { CheckSettings } from "../../application/checks/baseline.ts";
import {
  createProjectChecks,
  type JudgedAttempt,
  type ProjectChecks,
} from "../../application/checks/project-checks.ts";
import type { Draft } from "../../application/jobs/draft.ts";
import type { CheckMemory, CheckRecord } from "../../application/ports/checks.ts";
import type { SandboxManager } from "../../application/ports/containers.ts";
import { printCommand } from "../../application/tasks/container-environments.ts";
import type { ProjectCheck } from "../../domain/checks/find-checks.ts";
import type { AskedFor } from "../../domain/checks/verdict.ts";
import { quoteWords } from "../../domain/containers/clone-plan.ts";
import {
  EMPTY_TREE,
  keepObjectsIn,
  OWN_PROGRAMS,
  treeScript,
} from "../../domain/containers/clone-scripts.ts";
import { checksMessagesFor } from "../../domain/texts/checks.ts";
import type { Locale } from "../../domain/texts/locale.ts";
import {
  type CloneWorkspace,
  createCloneWorkspace,
  createContainerProcesses,
  type PlacedWorkspaceDeps,
} from "../containers/container-workspace.ts";

/** The tests of a task are to be green at its end, whatever they were before. */
const ALL_ASKED: AskedFor = { among: (red) => red, check: true, anyOne: false };
const OBJECTS = "/tmp/.picoclaw-judge";
const TREE = /^[0-9a-f]{40,64}$/;

export interface RunJudgeDeps extends Omit<PlacedWorkspaceDeps, "root" | "processes"> {
  readonly sandbox: SandboxManager;
  readonly container: string;
  /** The repository inside. */
  readonly directory: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly locale: Locale;
  /** The requirements: a task about what decides may change it. */
  readonly request: string;
}

/**
 * Judges the tests of a task file as any coder's draft: the repository as its container has it is the draft, and what stood when
 * the container began is what it is compared with. What runs in between is put back by git; nothing of it is in a job.
 */
export interface RunJudge {
  judge(
    test: { readonly command: string; readonly cwd: string },
    options: { readonly timeoutMs: number },
  ): Promise<JudgedAttempt>;
  close(): Promise<void>;
}

/** Null where git cannot say what stands there: only exit codes tell then. */
export async function openRunJudge(deps: RunJudgeDeps, signal: AbortSignal): Promise<RunJudge | null> {
  const { sandbox, container, directory, variables, locale, request, ...rest } = deps;
  const place = { container_id: container, workspace_path: directory };
  const print = (script: string, options: Parameters<typeof printCommand>[3]) =>
    printCommand(sandbox, place, `${OWN_PROGRAMS}${keepObjectsIn(OBJECTS)}${script}`, options);
  const index = `${OBJECTS}/index`;
  const seen = await print(treeScript(index, EMPTY_TREE), { limitBytes: 4096, signal });
  const start = typeof seen === "string" ? "" : Buffer.from(seen).toString("utf8").trim();
  if (!TREE.test(start)) return null;
  const processes = createContainerProcesses(sandbox, container, { endsBackground: true });
  const workspace = createCloneWorkspace(
    { ...rest, root: directory, processes },
    { base: EMPTY_TREE, start, index, print },
    variables,
  );
  const settings = { ...SETTINGS };
  let opened: { readonly draft: Draft; readonly line: string; readonly checks: ProjectChecks } | null = null;
  let attempt = 0;
  return {
    async judge({ command, cwd }, options) {
      settings.timeout = Math.max(1, Math.ceil(options.timeoutMs / 1000));
      const line = cwd === "" ? command : `cd ${quoteWords([cwd])} && ${command}`;
      if (opened?.line !== line) {
        await opened?.draft.discard("");
        const check: ProjectCheck = { kind: "test", command, line };
        opened = {
          line,
          draft: await openDraft(workspace, signal),
          checks: createChecks(check, { settings, locale, request, signal }),
        };
      }
      workspace.touch();
      attempt++;
      await opened.draft.run({ attempt, work: { commands: [] } });
      return opened.checks.judge(opened.draft, attempt);
    },
    async close() {
      await opened?.draft.discard("").catch(() => {});
    },
  };
}

const SETTINGS: { -readonly [Key in keyof CheckSettings]: CheckSettings[Key] } = {
  command: null,
  timeout: 0,
  auto_limit: 0,
  network: true,
  enabled: "always",
};

async function openDraft(workspace: CloneWorkspace, signal: AbortSignal): Promise<Draft> {
  const opened = await workspace.openDraft({ source: "task", checked: true, signal });
  if (!opened.ok) throw new Error(opened.refusal.message);
  return opened.draft;
}

function createChecks(
  check: ProjectCheck,
  given: {
    readonly settings: CheckSettings;
    readonly locale: Locale;
    readonly request: string;
    readonly signal: AbortSignal;
  },
): ProjectChecks {
  let kept: CheckRecord | null = null;
  const memory: CheckMemory = {
    fingerprint: () => "start",
    recall: () => kept,
    keep(record) {
      kept = record;
    },
  };
  const { locale, ...rest } = given;
  return createProjectChecks({
    ...rest,
    checks: [check],
    memory,
    texts: checksMessagesFor(locale),
    asked: ALL_ASKED,
    now: Date.now,
  });
}
