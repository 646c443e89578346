import { randomUUID } from "node:crypto";
import type { Opening, OpenOptions } from "../application/ports/opening.ts";
import type { OpenSolve } from "../application/ports/open-solve.ts";
import { takeInTask } from "../application/tasks/take-in.ts";
import { itemUrl, parseItemUrl } from "../domain/forges/forge-items.ts";
import { WORKER_KIND_NAMES } from "../domain/config/worker-kind-names.ts";
import { isWorkerKind } from "../infrastructure/tasks/solve-worker.ts";
import { knownSites, openForge } from "./forges.ts";
import { openSolver } from "./solver.ts";

/** `solve URL`: takes an item in and carries it out in this process. */
export async function openSolve(
  env: Readonly<Record<string, string | undefined>>,
  options: OpenOptions,
): Promise<Opening<OpenSolve>> {
  const opened = await openSolver(env, options);
  if (!opened.ok) return opened;
  const { config, secrets, texts, store, run, engineTrouble } = opened.solver;
  return {
    ok: true,
    ...opened.solver,
    async solve({ url, worker: kind, candidates, fresh, signal, say, onStep }) {
      const item = parseItemUrl(url, knownSites(config));
      if (item === null) return { status: "refused", exitCode: 2, message: texts.notAnItem(url) };
      if (kind !== null && !isWorkerKind(kind))
        return { status: "refused", exitCode: 2, message: texts.unknownWorker(kind, WORKER_KIND_NAMES) };
      const forge = await openForge(item.forge, {
        config,
        secrets,
        onWait: ({ message }, ms) => say(`${message} (${Math.ceil(ms / 1000)} s)`),
      });
      if (typeof forge === "string")
        return { status: "refused", exitCode: 3, message: texts.noToken(item.forge, forge) };
      // Before anything is said on the issue.
      const trouble = await engineTrouble(signal);
      if (trouble !== null) return { status: "refused", exitCode: 3, message: trouble };
      const { task, began } = await takeInTask(
        { store, now: () => new Date(), uuid: randomUUID },
        { item, askedBy: "hand", trigger: "hand", worker: kind, candidates, fresh },
      );
      say(began === "new" ? texts.started(itemUrl(item)) : texts.resumed(itemUrl(item)));
      const ended = await run(forge, task.id, { signal, say, ...(onStep !== undefined && { onStep }) });
      if (ended === null)
        return { status: "refused", exitCode: 3, message: texts.alreadyRunning(itemUrl(item)) };
      return { status: "ended", task: ended, steps: await store.steps(ended.id) };
    },
  };
}
