import type { CheckSettings } from "../../application/checks/baseline.ts";
import {
  createProjectChecks,
  type JudgedAttempt,
  type ProjectChecks,
} from "../../application/checks/project-checks.ts";
import { createAdvise } from "../../application/platform/advise.ts";
import type { ClonePoint, SandboxManager } from "../../application/ports/containers.ts";
import type { Draft } from "../../application/ports/jobs-draft.ts";
import { createTaskMemory, printCommand } from "../../application/tasks/container-environments.ts";
import {
  EMPTY_TREE,
  keepObjectsIn,
  listCommand,
  OWN_PROGRAMS,
  replaceScript,
  treeScript,
} from "../../domain/containers/clone-plan.ts";
import { quoteWords } from "../../domain/platform/paths.ts";
import { checksMessagesFor } from "../../domain/texts/checks.ts";
import type { Locale } from "../../domain/texts/locale.ts";
import {
  type CloneWorkspace,
  createCloneWorkspace,
  createContainerProcesses,
  type PlacedWorkspaceDeps,
} from "../containers/container-workspace.ts";

const OBJECTS = "/tmp/.picoclaw-judge";
const TREE = /^[0-9a-f]{40,64}$/;
const LISTING_BYTES = 16 * 1024 ** 2;

export interface RunJudgeDeps extends Omit<PlacedWorkspaceDeps, "root" | "processes"> {
  readonly sandbox: SandboxManager;
  readonly container: string;
  readonly directory: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly locale: Locale;
  /** Files that the task changed already, as they were before: null is none. */
  readonly before: ReadonlyMap<string, Uint8Array | null>;
}

/**
 * Judges the tests of a task file as any coder's draft: the repository in its container, compared with the one at the task's beginning,
 * in any container. What runs in between is put back by git; nothing of it is in a job.
 */
export interface RunJudge {
  judge(
    test: { readonly command: string; readonly cwd: string },
    options: { readonly timeoutMs: number; readonly words?: string },
  ): Promise<JudgedAttempt>;
  close(): Promise<void>;
}

/** Null where git cannot read the repository's state: then only exit codes count. */
export async function openRunJudge(deps: RunJudgeDeps, signal: AbortSignal): Promise<RunJudge | null> {
  const { sandbox, container, directory, variables, locale, before, ...rest } = deps;
  const place = { container_id: container, workspace_path: directory };
  const print: ClonePoint["print"] = (script, options) =>
    printCommand(sandbox, place, `${OWN_PROGRAMS}${keepObjectsIn(OBJECTS)}${script}`, options);
  const index = `${OBJECTS}/index`;
  const seen = await print(treeScript(index, EMPTY_TREE), { limitBytes: 4096, signal });
  const tree = typeof seen === "string" ? "" : Buffer.from(seen).toString("utf8").trim();
  if (!TREE.test(tree)) return null;
  const start = await withFilesBefore({ print, index, tree }, before, signal);
  if (start === null) return null;
  const processes = createContainerProcesses(sandbox, container, { endsBackground: true });
  const workspace = createCloneWorkspace(
    { ...rest, root: directory, processes },
    { base: EMPTY_TREE, start, index, print },
    variables,
  );
  // Before any worker touched them. Where that fails, so does judging, and a test that cannot be judged is not passed.
  await workspace.see().catch(() => {});
  const settings = { ...SETTINGS };
  let opened: { readonly draft: Draft; readonly line: string; readonly checks: ProjectChecks } | null = null;
  let attempt = 0;
  return {
    async judge({ command, cwd }, options) {
      settings.timeout = Math.max(1, Math.ceil(options.timeoutMs / 1000));
      const line = cwd === "" ? command : `cd ${quoteWords([cwd])} && ${command}`;
      if (opened?.line !== line) {
        await opened?.draft.discard("");
        opened = {
          line,
          draft: await openDraft(workspace, signal),
          checks: createProjectChecks({
            checks: [{ kind: "test", command, line }],
            settings,
            memory: createTaskMemory("start"),
            texts: checksMessagesFor(locale),
            now: Date.now,
            advise: createAdvise(),
            signal,
          }),
        };
      }
      workspace.touch();
      attempt++;
      await opened.draft.run({ attempt, work: { commands: [] } });
      opened.checks.declare(options.words ?? "");
      return opened.checks.judge(opened.draft, attempt);
    },
    async close() {
      await opened?.draft.discard("").catch(() => {});
    },
  };
}

/** The tree with some files as they were; null where git cannot make it. */
async function withFilesBefore(
  { print, index, tree }: Pick<ClonePoint, "print" | "index"> & { readonly tree: string },
  before: ReadonlyMap<string, Uint8Array | null>,
  signal: AbortSignal,
): Promise<string | null> {
  if (before.size === 0) return tree;
  const text = (printed: Uint8Array | string) =>
    typeof printed === "string" ? "" : Buffer.from(printed).toString("utf8").trim();
  const listed = text(await print(listCommand(tree), { limitBytes: LISTING_BYTES, signal }));
  const executable = new Set(
    [...listed.matchAll(/(?:^|\0)100755 [^\t]*\t([^\0]+)/g)].map(([, path]) => path),
  );
  const entries: string[] = [];
  for (const [path, bytes] of before) {
    // Git's own files are in no tree.
    if (/(^|\/)\.git(\/|$)/.test(path)) continue;
    const removed = `0 ${"0".repeat(40)}\t${path}\0`;
    if (bytes === null) entries.push(removed);
    else {
      const id = text(await print("git hash-object -w --stdin", { stdin: bytes, limitBytes: 4096, signal }));
      if (!TREE.test(id)) return null;
      entries.push(`${executable.has(path) ? "100755" : "100644"} ${id}\t${path}\0`);
    }
  }
  const stdin = entries.join("");
  const made = text(await print(replaceScript(index, tree), { stdin, limitBytes: 4096, signal }));
  return TREE.test(made) ? made : null;
}

const SETTINGS: { -readonly [Key in keyof CheckSettings]: CheckSettings[Key] } = {
  command: null,
  timeout: 0,
  auto_limit: 0,
  network: true,
  enabled: "always",
};

async function openDraft(workspace: CloneWorkspace, signal: AbortSignal): Promise<Draft> {
  const opened = await workspace.openDraft({ source: "task", startedBy: "check", checked: true, signal });
  if (!opened.ok) throw new Error(opened.refusal.message);
  return opened.draft;
}
