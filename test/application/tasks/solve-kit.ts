import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAdvise } from "../../../src/application/platform/advise.ts";
import type { ModelRequest } from "../../../src/application/ports/models.ts";
import type { SolveStore, SolveTask } from "../../../src/application/ports/tasks.ts";
import { createWorkKeeper } from "../../../src/application/serve/take-work.ts";
import { takeInTask } from "../../../src/application/tasks/intake.ts";
import { solveTask } from "../../../src/application/tasks/solve-task.ts";
import type { SolveDeps } from "../../../src/application/tasks/solve-work.ts";
import { readProjectSettings } from "../../../src/config/task-file.ts";
import type { ItemRef } from "../../../src/domain/forges/forge-items.ts";
import { createMasker } from "../../../src/domain/platform/mask.ts";
import type { TaskStep } from "../../../src/domain/tasks/task-steps.ts";
import { solveMessagesFor } from "../../../src/domain/texts/tasks.ts";
import { createPublisher } from "../../../src/infrastructure/forges/publisher.ts";
import { timers } from "../../../src/infrastructure/platform/timers.ts";
import { createCoderModel, type Said } from "../../fakes/coder-model.ts";
import { hastyFetch, openForge } from "../../fakes/forges/forge-client.ts";
import { startGitHub } from "../../fakes/forges/github-server.ts";
import { seedRepository } from "../../fakes/forges/seed-repository.ts";
import {
  addItem,
  addPerson,
  addRepository,
  createWorld,
  type Item,
  type World,
} from "../../fakes/forges/world.ts";
import { createFolderEnvironments } from "../../fakes/task-environments.ts";
import { openTasks } from "./solve-store-kit.ts";

export const PLAN = '{"steps": ["read", "fix the sum"], "risk": "low", "environment": null}';
export const DONE = '{"done": true, "summary": "The sum adds now."}';
export const FIX = "sed -i 's/a - b/a + b/' calc.sh";
export const PROJECT = {
  "calc.sh": "add() { echo $((a - b)); }\n",
  "test.sh": ". ./calc.sh; test $(a=1 b=2 add) = 3\n",
  "package.json": JSON.stringify({ scripts: { test: "sh test.sh" } }),
};

export function shell(command: string, text = ""): Said {
  return { text, calls: [{ name: "command-executor_execute_command", arguments: { command } }] };
}

export type Answers = readonly Said[] | ((turn: number, request: ModelRequest) => Said | Promise<Said>);

export interface SolveRun {
  readonly config?: Partial<SolveDeps["config"]>;
  readonly fresh?: boolean;
  /** Another item than the issue. */
  readonly item?: Item;
  readonly candidates?: number;
  readonly worker?: string | null;
  readonly deps?: Partial<SolveDeps>;
  readonly signal?: AbortSignal;
}

export interface SolveSetUp {
  readonly folder: string;
  readonly world: World;
  /** Of the forge. */
  readonly url: string;
  readonly environments: SolveDeps["environments"];
  readonly store: SolveStore;
}

/** The surroundings of a task: a GitHub and git that are real, environments that are folders, and a model that is given. */
export function solvePartsFor(
  { folder, world, url, environments, store }: SolveSetUp,
  model: SolveDeps["model"],
  config: Partial<SolveDeps["config"]>,
): SolveDeps {
  return {
    forge: openForge("github", { world, url, fetch: hastyFetch(1000) }),
    environments,
    publisher: createPublisher({
      folder: join(folder, "own"),
      path: process.env.PATH ?? "",
      passed: {},
      timeoutMs: 20_000,
      owner: "test",
    }),
    store,
    model,
    messages: solveMessagesFor("en"),
    config: {
      maxSteps: 20,
      patienceMs: 600_000,
      label: "picoclaw",
      testCommand: null,
      checks: { command: null, timeout: 60, auto_limit: 60, network: false, enabled: "always" },
      attempts: 4,
      head: null,
      rules: [],
      insecureHosts: [],
      allowCi: false,
      newsEveryMs: 0,
      // Only a test that gives an order through the store waits for it; each question is work.
      ordersEveryMs: 250,
      progressEveryMs: 0,
      ...config,
    },
    log: { debug() {}, info() {}, warn() {}, error() {} },
    advise: createAdvise(),
    mask: createMasker({ secrets: [world.token] }).mask,
    secrets: () => [world.token],
    now: () => new Date(),
    clock: () => performance.now(),
    pause: async () => {},
    costUsd: () => 0,
    workers: { refusal: async () => null, count: async () => {} },
    uuid: () => crypto.randomUUID(),
    readSettings: readProjectSettings,
    keeper: createWorkKeeper({ queue: { beat: async () => [] }, timers, onTrouble: () => {} }),
  };
}

/** The same tests without npm, which takes most of the time: for what is not about finding them. */
export const PLAIN_TEST = { testCommand: "sh test.sh" };

/** One issue of a project on a GitHub with real git, worked on in folders of this machine. */
export async function createSolveKit(
  files: Readonly<Record<string, string>> = PROJECT,
  settings: Partial<SolveDeps["config"]> = {},
  path?: string,
) {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-solve-"));
  const environments = createFolderEnvironments(folder, path);
  const world = createWorld();
  const alice = addPerson(world, "alice");
  const repository = addRepository(world, "acme/calc", seedRepository(folder, files));
  repository.permissions.set("alice", "write");
  const issue = addItem(repository, {
    kind: "issue",
    title: "Sum is wrong",
    body: "1 + 2 is -1",
    author: alice,
  });
  const server = startGitHub(world);
  const { store } = await openTasks(join(folder, "store.db"));
  const ref = (item: Item): ItemRef => ({
    forge: "github",
    site: server.url,
    repository: "acme/calc",
    kind: item.kind,
    number: item.number,
  });
  const partsOf = (model: SolveDeps["model"], config: Partial<SolveDeps["config"]>): SolveDeps =>
    solvePartsFor({ folder, world, url: server.url, environments, store }, model, { ...settings, ...config });

  return {
    /** Of the forge. */
    url: server.url,
    environments,
    world,
    alice,
    repository,
    issue,
    store,
    pulls: () => [...repository.items.values()].filter(({ kind }) => kind === "pull"),
    /** As `solve` of the issue's address: a new task, or the one that did not come to its end. */
    async solve(
      answers: Answers,
      {
        config = {},
        fresh = false,
        worker = null,
        candidates = 1,
        item = issue,
        deps,
        signal,
      }: SolveRun = {},
    ) {
      const model = createCoderModel((request, turn) =>
        typeof answers === "function" ? answers(turn, request) : (answers[turn] ?? "nothing more"),
      );
      const { task, began } = await takeInTask(
        { store, now: () => new Date(), uuid: () => crypto.randomUUID() },
        { item: ref(item), askedBy: "alice", trigger: "hand", worker, candidates, fresh },
      );
      const live: TaskStep[] = [];
      const ended = await solveTask({ ...partsOf(() => model, config), ...deps }, task.id, {
        signal: signal ?? new AbortController().signal,
        say: () => {},
        onStep: (step) => live.push(step),
      });
      return {
        task: ended as SolveTask,
        began,
        model,
        live,
        /** The last request to the model. */
        last: () => JSON.stringify(model.asked.at(-1)?.messages),
      };
    },
    stop() {
      server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
