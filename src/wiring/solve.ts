import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { OpenOptions } from "../adapters/cli/program.ts";
import type { OpenedSolve } from "../adapters/cli/solve.ts";
import type { Forge } from "../application/ports/forge.ts";
import type { ModelTool } from "../application/ports/model.ts";
import { createContainerEnvironments } from "../application/tasks/container-environments.ts";
import type { SolveParts } from "../application/tasks/solve-parts.ts";
import { solveTask } from "../application/tasks/solve-task.ts";
import { takeIn } from "../application/tasks/take-in.ts";
import { itemUrl, parseItemUrl } from "../domain/forge/item-url.ts";
import { solveMessagesFor } from "../domain/messages/solve/messages.ts";
import { costOf, priceOf } from "../domain/models/cost.ts";
import { createPublisher } from "../infrastructure/forges/publisher.ts";
import { createOwnerNames } from "../infrastructure/process/owner-name.ts";
import { createSolveStore } from "../infrastructure/store/solve-store.ts";
import { openChatMemory } from "./chat-memory.ts";
import { createEnvironments } from "./environments.ts";
import { knownSites, openForge } from "./forges.ts";
import { openModels } from "./models.ts";
import { openMigratedStore } from "./store.ts";
import { openWorkspace } from "./worker.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** What of the host's environment git needs to reach a forge. */
const PASSED = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO"];
const NEWS_MS = 15_000;
const PROGRESS_MS = 5000;
const RENEW_MS = 15_000;
const GIT_MS = 300_000;

/** Opens tasks from forges: models, environments, publisher and store, wired by hand. */
export async function openSolve(env: Environment, options: OpenOptions): Promise<OpenedSolve> {
  const opened = await openWorkspace(env, options);
  if (!opened.ok) return opened;
  const { worker, loaded, parts: workerParts } = opened;
  const { config, home, secrets } = loaded;
  const { locale } = worker.messages;
  const texts = solveMessagesFor(locale);
  const { now, clock, logger } = workerParts;
  const databaseUrl = secrets.resolve(config.database_url);
  const models = openModels(config, secrets, { locale, home, env, mask: worker.mask });
  const remembered = await openChatMemory({
    home,
    config,
    databaseUrl,
    models,
    costOf(model, usage) {
      const price = priceOf(model, config.budget.prices);
      return price === null ? 0 : costOf(usage, price);
    },
    log: logger,
    locale,
    mask: worker.mask,
    now,
    pid: process.pid,
  });
  const refuse = (message: string) =>
    ({ ok: false, exitCode: 3, messages: worker.messages, problems: [], message }) as const;
  if (!remembered.ok) return refuse(remembered.message);
  const { memory } = remembered;
  const environments = createEnvironments(env, loaded);
  const opening = await openMigratedStore({ home, databaseUrl }, now);
  if ("detail" in environments || !opening.ok) {
    await memory.close();
    return refuse("detail" in environments ? environments.detail : !opening.ok ? opening.trouble.detail : "");
  }
  const { db } = opening;
  const store = await createSolveStore(db, now);
  const owners = createOwnerNames(process.pid);
  const partsFor = async (forge: Forge, taskId: string): Promise<SolveParts> => {
    const metered = await memory.meter.open({
      chatKey: `task:${taskId}`,
      sessionId: taskId,
      groupId: taskId,
    });
    const { tools, promptFragment } = await environments.modelSide();
    return {
      forge,
      environments: createContainerEnvironments({
        manager: environments.manager,
        sandboxes: environments.sandboxes,
        tools: tools as readonly ModelTool[],
        promptFragment,
        callTool: environments.callTool,
        describe: {
          event: (event) =>
            event.type === "step" ? environments.texts.step(event.step, event.subject) : null,
          notice: environments.texts.notice,
          failure: ({ code, subject, detail }) => environments.texts.failure(code, subject, detail),
        },
      }),
      publisher: createPublisher({
        folder: join(home, "publish"),
        path: env.PATH ?? "",
        passed: Object.fromEntries(
          PASSED.flatMap((name) => [name, name.toLowerCase()]).flatMap((name) =>
            env[name] === undefined ? [] : [[name, env[name]]],
          ),
        ),
        timeoutMs: GIT_MS,
      }),
      store,
      model: () => metered.models.forRole(config.roles.default_coder),
      messages: texts,
      config: {
        maxSteps: config.tasks.max_steps,
        label: config.tasks.label,
        testCommand: config.tasks.test_command,
        rules: config.tasks.rules,
        insecureHosts: config.command_executor.clone.insecure_hosts,
        newsEveryMs: NEWS_MS,
        progressEveryMs: PROGRESS_MS,
        renewEveryMs: RENEW_MS,
      },
      log: logger,
      mask: worker.mask,
      now,
      clock,
      owner: owners.next(),
      isGone: owners.isGone,
    };
  };
  return {
    ok: true,
    worker,
    texts,
    async solve({ url, worker: kind, signal, say }) {
      const item = parseItemUrl(url, knownSites(config));
      if (item === null) return { status: "refused", exitCode: 2, message: texts.notAnItem(url) };
      const forge = await openForge(item.forge, {
        config,
        secrets,
        onWait: ({ message }, ms) => say(`${message} (${Math.ceil(ms / 1000)} s)`),
      });
      if (typeof forge === "string")
        return { status: "refused", exitCode: 3, message: texts.noToken(item.forge, forge) };
      const { task, fresh } = await takeIn(
        { store, now, uuid: randomUUID },
        { item, askedBy: "hand", trigger: "hand", worker: kind },
      );
      say(fresh ? texts.started(itemUrl(item)) : texts.resumed(itemUrl(item)));
      const ended = await solveTask(await partsFor(forge, task.id), task.id, { signal, say });
      if (ended === null)
        return { status: "refused", exitCode: 3, message: texts.alreadyRunning(itemUrl(item)) };
      return { status: "ended", task: ended };
    },
    async close() {
      await environments.close();
      await memory.close();
      await db.destroy();
    },
  };
}
