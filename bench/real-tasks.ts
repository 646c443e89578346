/**
 * `npm run bench -- real --tasks FOLDER [--recorded]`: bugs and wishes of public projects, worked on by the configured model. A hidden
 * test judges each result. FOLDER (or PICOCLAW_TEST_REAL_TASKS) holds `make.sh TASK DIR`, `judge.sh TASK DIR` and a folder a task with its
 * `task.json`. `--recorded` gives the answers that test/e2e/real-tasks keeps instead of asking a model.
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import type { Reply } from "../src/application/ports/chat.ts";
import { formatCost } from "../src/domain/texts/format-text.ts";
import { openChat } from "../src/wiring/chat.ts";
import { readRecordedAnswers } from "../test/fakes/model-server/recorded-answers.ts";
import { startModelServer } from "../test/fakes/model-server/server.ts";
import type { Row } from "./measure.ts";
import { remove, tempFolder } from "./workspaces.ts";

const RECORDED = join(import.meta.dir, "../test/e2e/real-tasks");
const MINUTES = 60_000;

interface Played {
  readonly task: string;
  /** The hidden tests of the real fix pass. */
  readonly isSolved: boolean;
  /** PicoClaw ran the project's tests itself, and they were green when it said so. */
  readonly isVerified: boolean;
  readonly requests: number;
  readonly bytes: number;
  /** Null where the model's price is unknown. */
  readonly costUsd: number | null;
  readonly seconds: number;
  /** The first line of a reply that is no success; empty otherwise. */
  readonly trouble: string;
}

export async function realTasks({
  tasks: folder,
  recorded,
}: {
  readonly tasks: string | undefined;
  readonly recorded: boolean;
}): Promise<Row[]> {
  if (folder === undefined) throw new Error("name the folder of the tasks: --tasks FOLDER");
  const names = readdirSync(folder)
    .filter((name) => existsSync(join(folder, name, "task.json")))
    .filter((name) => !recorded || existsSync(join(RECORDED, name)))
    .sort();
  if (names.length === 0) throw new Error(`${folder} holds no task`);
  const scratch = tempFolder("real");
  try {
    const played: Played[] = [];
    for (const name of names) played.push(await play(folder, name, join(scratch, name), recorded));
    return [...played.map(taskRow), sumRow(played, recorded)];
  } finally {
    remove(scratch);
  }
}

async function play(folder: string, task: string, scratch: string, recorded: boolean): Promise<Played> {
  const [workspace, home] = [join(scratch, "project"), join(scratch, "home")];
  mkdirSync(home, { recursive: true });
  const made = script(folder, "make.sh", task, workspace);
  if (!made.includes(`made ${task}`)) throw new Error(`${task} could not be laid out: ${made}`);
  const server = recorded
    ? await startModelServer({ script: readRecordedAnswers(join(RECORDED, task)) })
    : null;
  const counted = countRequests();
  try {
    if (server === null) copyConfiguration(home);
    else writeFileSync(join(home, "config.yaml"), recordedConfiguration(server.baseUrl("anthropic")));
    const env = {
      ...process.env,
      PICOCLAW_HOME: home,
      PICOCLAW_LOCALE: "en",
      ...(server !== null && { ANTHROPIC_API_KEY: "sk-recorded" }),
    };
    const opened = await openChat(env, { cwd: workspace });
    if (!opened.ok) throw new Error(JSON.stringify(opened));
    const { text } = JSON.parse(readFileSync(join(folder, task, "task.json"), "utf8")) as { text: string };
    const begun = performance.now();
    const message = { channel: "cli", chatId: "bench", userId: "bench", text: `/code ${text}` } as const;
    let reply: Reply;
    try {
      reply = await opened.conversation.handle(message, {
        signal: AbortSignal.timeout(30 * MINUTES),
        onEvent: () => {},
      });
    } finally {
      await opened.close();
    }
    const seconds = (performance.now() - begun) / 1000;
    const judged = script(folder, "judge.sh", task, workspace);
    return {
      task,
      isSolved: judged.startsWith(`PASS ${task}`),
      isVerified: saidGreen(reply),
      requests: counted.requests,
      bytes: counted.bytes,
      costUsd: reply.usage?.costUsd ?? null,
      seconds,
      trouble: reply.ok ? "" : (reply.text.split("\n", 1)[0] ?? "").replaceAll("|", "/"),
    };
  } finally {
    counted.end();
    await server?.stop();
  }
}

/** Whether the reply says that the project's checks judged the change and found nothing worse. */
function saidGreen(reply: Reply): boolean {
  const checks = reply.said?.flatMap((piece) => (piece.kind === "coder" ? [piece.facts.checks] : [])).at(-1);
  if (checks === undefined || !reply.ok) return false;
  return (checks.verdict === "same" || checks.verdict === "better") && (checks.counts?.failed ?? 0) === 0;
}

/** Every request that this process sends by `fetch`, for any protocol of a model. */
function countRequests() {
  const original = globalThis.fetch;
  const end = () => {
    globalThis.fetch = original;
  };
  const count = { requests: 0, bytes: 0, end };
  globalThis.fetch = Object.assign(
    (...[input, init]: Parameters<typeof fetch>) => {
      if (init?.method === "POST" && typeof init.body === "string") {
        count.requests += 1;
        count.bytes += Buffer.byteLength(init.body);
      }
      return original(input, init);
    },
    { preconnect: original.preconnect },
  );
  return count;
}

function copyConfiguration(home: string): void {
  const from = process.env.PICOCLAW_HOME ?? join(homedir(), ".picoclaw");
  for (const name of ["config.yaml", "models.json"])
    if (existsSync(join(from, name))) copyFileSync(join(from, name), join(home, name));
}

function recordedConfiguration(url: string): string {
  return `providers:\n  claude: { base_url: "${url}" }\n`;
}

function script(folder: string, name: string, task: string, workspace: string): string {
  const ran = spawnSync("bash", [join(folder, name), task, workspace], {
    encoding: "utf8",
    timeout: 10 * MINUTES,
  });
  return ran.stdout + ran.stderr;
}

const count = (played: readonly Played[], is: (one: Played) => boolean) => played.filter(is).length;
const kilobytes = (bytes: number) => `${(bytes / 1000).toFixed(0)} KB`;
const dollars = (usd: number | null) => formatCost(usd ?? 0, usd === null);
const requestsText = (requests: number) => (requests === 1 ? "1 request" : `${requests} requests`);

function taskRow({ task, isSolved, isVerified, requests, bytes, costUsd, seconds, trouble }: Played): Row {
  const words = [
    isSolved ? "solved" : "not solved",
    isVerified ? "verified by us" : "not verified",
    requestsText(requests),
    kilobytes(bytes),
    dollars(costUsd),
    `${seconds.toFixed(0)} s`,
    ...(trouble === "" ? [] : [trouble]),
  ];
  return { name: task, figure: words.join(", "), target: "solved", ok: isSolved };
}

function sumRow(played: readonly Played[], recorded: boolean): Row {
  const falselyGreen = count(played, ({ isVerified, isSolved }) => isVerified && !isSolved);
  const costs = played.map(({ costUsd }) => costUsd);
  const words = [
    `solved ${count(played, ({ isSolved }) => isSolved)} of ${played.length}`,
    `verified by us ${count(played, ({ isVerified }) => isVerified)}`,
    `claimed green but red ${falselyGreen}`,
    requestsText(played.reduce((sum, { requests }) => sum + requests, 0)),
    kilobytes(played.reduce((sum, { bytes }) => sum + bytes, 0)),
    dollars(costs.includes(null) ? null : costs.reduce<number>((sum, usd) => sum + (usd ?? 0), 0)),
  ];
  const name = `real tasks, ${recorded ? "recorded answers" : "the configured model"}`;
  return { name, figure: words.join(", "), target: "none claimed green but red", ok: falselyGreen === 0 };
}
