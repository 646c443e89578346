import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import {
  type BuildRoom,
  type Contestant,
  type PlayLimits,
  type RoomPlay,
  UNPLAYED,
} from "../application/history/case-room.ts";
import type { ReadIssue } from "../application/ports/history.ts";
import type { OpenedCompare } from "../application/ports/history-opened.ts";
import type { Opening, OpenOptions, Workspace } from "../application/ports/jobs-workspace.ts";
import type { ModelCall } from "../application/ports/models-meter.ts";
import type { ConfigOverrides } from "../config/config.ts";
import { homeConfigFile } from "../config/environment.ts";
import { loadEdited } from "../config/load.ts";
import { HEAD_NAMES } from "../domain/config/configured-kinds.ts";
import type { ModelFailureCode } from "../domain/models/model-facts.ts";
import { mergeObjects } from "../domain/platform/json-members.ts";
import { isInside } from "../domain/platform/paths.ts";
import { createCompareStore } from "../infrastructure/history/compare-store.ts";
import { createAskGit, createCommitLog } from "../infrastructure/history/git-log.ts";
import { openJobStack } from "../infrastructure/history/job-stack.ts";
import { findDependencies, makeRoomFolder, type RoomFolder } from "../infrastructure/history/room-folder.ts";
import { writeDurably } from "../infrastructure/jobs/job-folder.ts";
import { rootsFor } from "../infrastructure/platform/git-roots.ts";
import { findInstallation } from "../infrastructure/platform/installation.ts";
import { toStorage } from "../infrastructure/platform/workspace-storage.ts";
import type { EmptiedFolders } from "../infrastructure/sandbox/surroundings.ts";
import { openChat, openChecksOf } from "./chat.ts";
import type { Environment, Services } from "./services.ts";
import { openWorkspace } from "./workspace.ts";

/** A contestant never reaches beyond its room, and nothing that belongs to the user's own work starts for it. */
const ROOM_SETTINGS = {
  mcp_servers: {},
  hooks: { after_landing: [], on_red: [], after_message: [] },
  database_url: null,
  worker: { auto_commit: false, dry_run: false, network: { mode: "off" } },
  checks: { network: false },
  coder: { on_red: "preview" },
} as const;

export async function openCompare(env: Environment, options: OpenOptions): Promise<Opening<OpenedCompare>> {
  const opened = await openWorkspace(env, options);
  if (!opened.ok) return opened;
  const { workspace, services, deps, config } = opened;
  const { root, storage, archive } = workspace;
  const { home } = services;
  const git = createAskGit(root, env.PATH ?? "", storage);
  const store = createCompareStore(join(storage, "compare"), root, git);
  const installation = findInstallation();
  const isOwn = isInside(root, installation.folder) || isInside(installation.folder, root);
  const trouble = isOwn ? "own-checkout" : workspace.staging.confinable ? null : "not-confined";
  const dependencies = findDependencies(root);
  const made: { issues?: Promise<ReadIssue> } = {};
  const configFile = homeConfigFile(home);
  const emptied: EmptiedFolders = {
    folders: [...new Set([root, ...rootsFor(root), home, toStorage(root, storage, true).outer])],
    shown: dependencies.map((path) => join(root, path)),
  };
  // A script is beside the user's own configuration, not in the home of a room.
  const providers = Object.fromEntries(
    Object.entries(config.providers).flatMap(([name, { script }]) =>
      script === null ? [] : [[name, { script: resolve(home, script) }]],
    ),
  );
  const place = {
    env,
    emptied,
    settings: mergeObjects(mergeObjects(config, { providers }), ROOM_SETTINGS),
  };
  const buildRoom: BuildRoom = async (found) => {
    const state = await found.openState();
    if ("code" in state) return state;
    const parts = { folder: join(home, "rooms"), root, dependencies };
    const room = await makeRoomFolder(git, state, parts).catch((error: Error) => error);
    if (room instanceof Error) return { code: "cannot-run", output: room.message };
    const judge = await openRoom(place, room, {});
    return {
      workspace: judge.workspace,
      checks: judge.checks,
      play: (contestant, request, limits) => playInRoom(place, room, contestant, request, limits),
      close: async () => room.remove(),
    };
  };
  return {
    ...opened,
    cases: () => ({
      root,
      archive,
      files: workspace.files,
      store,
      log: createCommitLog(git),
      readTalk: async (groupId) => {
        const store = await services.openStore({ migrate: false });
        if (!store.ok) return [];
        const { readTalkBefore } = await import("../infrastructure/history/talk-before.ts");
        return readTalkBefore(store.db, groupId)
          .catch(() => [])
          .finally(() => store.close());
      },
      stack: openJobStack({ storage, workspace: root, archive }),
    }),
    compare: { store, buildRoom, now: deps.now, mask: workspace.mask },
    async contestants() {
      const models = await services.models();
      const nameOf = (role: "coder1" | "coder2" | "coder3") => {
        const model = models.forRole(role);
        return "generate" in model ? `${model.provider}/${model.model}` : role;
      };
      const coders = { coder1: nameOf("coder1"), coder2: nameOf("coder2"), coder3: nameOf("coder3") };
      return {
        coders,
        providers: Object.keys(config.providers),
        heads: HEAD_NAMES.filter((name) => name !== "acp"),
      };
    },
    readIssue: async (number) => {
      made.issues ??= openIssues(services, root, deps.now);
      return (await made.issues)(number);
    },
    trouble,
    configFile,
    async changeConfig(edits) {
      const text = existsSync(configFile) ? readFileSync(configFile, "utf8") : "";
      const edited = await loadEdited({ env }, configFile, text, edits);
      if (edited === null) return configFile;
      const { loaded } = edited;
      if (!loaded.ok) return loaded.errors.map((problem) => JSON.stringify(problem)).join("\n");
      writeDurably(configFile, edited.text);
      return null;
    },
  };
}

const ISSUES_MS = 300_000;

async function openIssues(services: Services, root: string, now: () => Date): Promise<ReadIssue> {
  const [{ openProjectForges }, { parseRemoteUrl }] = await Promise.all([
    import("./project-forge.ts"),
    import("../domain/forges/forge-items.ts"),
  ]);
  const forges = openProjectForges(services, root, now);
  const signal = AbortSignal.timeout(ISSUES_MS);
  const state = await forges.repository.read(signal);
  const remote = state.status === "read" ? state.remote : null;
  const ref = remote === null ? null : parseRemoteUrl(remote.url, forges.sites);
  const forge = ref === null ? "" : await forges.open(ref.forge, () => {});
  return async (number) => {
    if (ref === null || typeof forge === "string") return null;
    const item = await forge.readItem({ ...ref, kind: "issue", number }, signal);
    if (!item.ok) return item.failure.code === "not-found" ? "" : null;
    // The words of a pull tell the way.
    const { title, body, ref: found } = item.value;
    return found.kind === "issue" ? `${title}\n\n${body}`.trim() : "";
  };
}

interface RoomDeps {
  readonly env: Environment;
  readonly emptied: EmptiedFolders;
  readonly settings: Readonly<Record<string, unknown>>;
}

function roomOptions({ env, settings }: RoomDeps, room: RoomFolder, more: Readonly<Record<string, unknown>>) {
  const flags = mergeObjects(settings, more) as ConfigOverrides;
  const options = { cwd: room.project, workspace: room.project, flags };
  return { env: { ...env, PICOCLAW_HOME: room.newHome() }, options };
}

async function openRoom(deps: RoomDeps, room: RoomFolder, more: Readonly<Record<string, unknown>>) {
  const { env, options } = roomOptions(deps, room, more);
  const opened = await openWorkspace(env, options, { emptied: deps.emptied });
  if (!opened.ok) throw new Error(opened.message ?? JSON.stringify(opened.problems));
  return { workspace: opened.workspace, checks: openChecksOf(opened) };
}

/** By the answer to a request of an agent. One that is too long is the agent's own. */
const failureOf = (status: number) =>
  status < 400 ? null : status === 400 || status === 413 ? "context-too-long" : String(status);

/** Failed requests that a contestant has to answer for: its model wrote too much, or nothing that can be read. */
const OWN_FAILURES: ReadonlySet<string> = new Set<ModelFailureCode>([
  "context-too-long",
  "cut-off",
  "empty",
  "malformed",
]);

/** One message to the contestant, in a chat and a home of its own; its change stays a preview of the room. */
async function playInRoom(
  deps: RoomDeps,
  room: RoomFolder,
  contestant: Contestant,
  request: string,
  { budgetUsd, signal }: PlayLimits,
): Promise<RoomPlay> {
  const begun = performance.now();
  const calls: Pick<ModelCall, "failure">[] = [];
  const end = (more: Partial<RoomPlay>): RoomPlay => ({
    ...{ ...UNPLAYED, requests: calls.length, ...more },
    seconds: (performance.now() - begun) / 1000,
  });
  const limits = budgetUsd === null ? {} : { coder: { budget_usd: Math.max(budgetUsd, 0.001) } };
  const { env, options } = roomOptions(deps, room, mergeObjects(contestant.settings, limits));
  const opened = await openChat(env, options, {
    emptied: deps.emptied,
    isOnce: true,
    onModelCall: (call) => void calls.push(call),
    onContestAnswer: (status) => void calls.push({ failure: failureOf(status) }),
  });
  const unanswered = (words: string) =>
    end({ failure: { code: "unanswered", text: words.trim().split("\n").slice(0, 3).join(" ") } });
  if (!opened.ok) return unanswered(opened.message ?? JSON.stringify(opened.problems));
  try {
    const text = `/preview ${contestant.command} ${request}`;
    const message = { channel: "cli", chatId: "compare", userId: "compare", text };
    const reply = await opened.conversation.handle(message, { signal });
    const { inputTokens = 0, outputTokens = 0, costUsd = null } = reply.usage ?? {};
    const used = { tokens: inputTokens + outputTokens, usd: costUsd };
    const job = reply.jobs.at(-1);
    const isSpent = !reply.ok && budgetUsd !== null && (costUsd ?? 0) >= budgetUsd;
    if (isSpent) return end({ ...used, failure: { code: "budget" } });
    // A server's limit, at the first request or in the middle of the work, says nothing of the contestant.
    const asked = calls.at(-1) ?? { failure: used.tokens > 0 ? null : "unanswered" };
    const last = asked.failure;
    if (!reply.ok && last !== null && !OWN_FAILURES.has(last))
      return calls.some(({ failure }) => failure === null)
        ? end({ ...used, failure: { code: "cut-off", failure: last } })
        : unanswered(reply.text);
    return end({
      ...used,
      ...readPreview(opened.workspace, job?.job_id),
      done: reply.ok && job !== undefined,
    });
  } catch (error) {
    return unanswered(error instanceof Error ? error.message : String(error));
  } finally {
    await opened.close();
  }
}

function readPreview({ archive }: Workspace, jobId: string | undefined) {
  if (jobId === undefined) return {};
  const checked = archive
    .events(jobId)
    .map(({ event }) => event)
    .findLast((event) => event.type === "check_finished" && event.over === "draft" && event.altered !== true);
  return {
    checked: checked?.type === "check_finished" && checked.exit_code === 0,
    differences: [...archive.walkDifferences(jobId)].filter(({ path }) => !path.startsWith(".git/")),
  };
}
