/** Any text of people, models and projects is rendered and read in linear, not quadratic time. */
import { expect, test } from "bun:test";
import { toMrkdwn } from "../../../src/adapters/channels/slack-channel.ts";
import { toTelegramHtml } from "../../../src/adapters/channels/telegram-channel.ts";
import { fileDiffs } from "../../../src/adapters/web/diff-view.ts";
import { timeline } from "../../../src/adapters/web/job-view.ts";
import { markdown } from "../../../src/adapters/web/markdown.ts";
import { visible } from "../../../src/adapters/web/markup.ts";
import type { PageContext } from "../../../src/adapters/web/page-context.ts";
import { readImageList } from "../../../src/adapters/web/request-bodies.ts";
import { readPlanSteps } from "../../../src/application/chat/describe-event.ts";
import { showChangelog } from "../../../src/application/coder/extended-files.ts";
import { diffText } from "../../../src/application/jobs/job-facts.ts";
import type { JournalLine } from "../../../src/application/ports/jobs.ts";
import {
  divideCode,
  fillOwnCommand,
  isGo,
  readAllCoders,
  readAsideQuestion,
  readExplicitRoute,
  readPlanFirst,
  readPullWish,
  readSentenceCommand,
} from "../../../src/domain/chat/message-commands.ts";
import {
  compileTrustedRule,
  deriveRule,
  matchRules,
  SHIPPED_RULES,
  tellsFault,
} from "../../../src/domain/chat/routing-rules.ts";
import { maySchedule, readScheduleForm } from "../../../src/domain/chat/schedule-sentence.ts";
import { cutToTokens, readMemoryLine } from "../../../src/domain/chat/session.ts";
import { readDeclarations } from "../../../src/domain/checks/declarations.ts";
import { readCheckFailure, readFailures } from "../../../src/domain/checks/failures.ts";
import { readAskedFile } from "../../../src/domain/coder/file-excerpts.ts";
import { looksLikePatch, readNoChange, readProposal } from "../../../src/domain/coder/proposal.ts";
import { namedFiles } from "../../../src/domain/coder/rank-files.ts";
import { mentions, readOrder } from "../../../src/domain/forges/trigger.ts";
import { estimateTokens } from "../../../src/domain/models/model-facts.ts";
import { compareLines, toHunks } from "../../../src/domain/patch/compare-lines.ts";
import { hasMoreMembers, parseEvent, parseEventForm } from "../../../src/domain/platform/json-members.ts";
import { maskSecrets } from "../../../src/domain/platform/mask.ts";
import { literalTerms, requestTerms } from "../../../src/domain/platform/request-terms.ts";
import { splitText } from "../../../src/domain/texts/format-text.ts";
import { messagesFor } from "../../../src/domain/texts/jobs.ts";
import { consoleMessagesFor } from "../../../src/domain/texts/web.ts";
import { fillInImages } from "../../../src/infrastructure/models/wire.ts";

function shuffledLines(count: number): string[] {
  const all = Array.from({ length: count }, (_, n) => `line ${n}\n`);
  let seed = 11;
  for (let n = all.length - 1; n > 0; n -= 1) {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    const other = seed % (n + 1);
    [all[n], all[other]] = [all[other] as string, all[n] as string];
  }
  return all;
}

const lines = (count: number) => Array.from({ length: count }, (_, n) => `line ${n}\n`);
const difference = (count: number) => [
  {
    path: "a",
    before: Buffer.from(lines(count).join("")),
    after: Buffer.from(shuffledLines(count).join("")),
  },
];
const repeated = (piece: string) => (n: number) => piece.repeat(n);

type Case = readonly [name: string, n: number, make: (n: number) => unknown, run: (given: never) => unknown];
const TEXTS: readonly (readonly [string, (n: number) => string])[] = [
  ["paragraphs", repeated("some words\n\n")],
  ["one paragraph", repeated("some words\n")],
  ["short fences", repeated("```\nx\n```\n")],
  ["fences that stay open", repeated("```x\n")],
  ["fences of every length", (n) => Array.from({ length: n }, (_, i) => "~".repeat(3 + (i % 50))).join("\n")],
  ["rules of tables", repeated("a|b\n-|\n")],
  ["tables", (n) => `a|b\n-|-\n${"1|2\n".repeat(n)}`],
  ["a line of blanks", (n) => `|\n${" ".repeat(n * 8)}x`],
  ["a fence of blanks", (n) => `\`\`\`${" ".repeat(n * 8)}\``],
  ["backticks", (n) => "`".repeat(n * 8)],
  ["stars", (n) => "**a".repeat(n * 3)],
  ["list", repeated("- item\n")],
  ["lists in lists", repeated("- a\n  - b\n    - c\n")],
  ["quotes", repeated("> a\n>> b\n")],
  ["links that stay open", (n) => "[a](".repeat(n * 2)],
  ["italics that stay open", (n) => " *a _b".repeat(n)],
  ["addresses", (n) => "https://".repeat(n)],
  ["empty lines", repeated("\n\n\n\n")],
  ["escapes of a terminal", (n) => "\x1b[1;".repeat(n * 2)],
  ["marks of an order", (n) => `${"!".repeat(n * 8)}x`],
  ["brackets that stay open", (n) => "[".repeat(n * 8)],
  ["addresses that stay open", (n) => "[a](https://".repeat(n)],
];
const journalOf = (commands: number): readonly JournalLine[] =>
  Array.from({ length: commands }, (_, index): JournalLine[] => {
    const target = `d/f${index}`;
    const command = { type: "file_edit", action: "create", target, content: "" };
    const done = { success: true, output: "", error: "", duration: 1, notes: [] };
    const changes = [{ path: target, kind: "added" as const }];
    return [
      { at: AT, event: { type: "command_started", index, command } },
      { at: AT, event: { type: "command_finished", index, ...done, changes } },
    ];
  }).flat();
const AT = "2026-01-02T03:04:05.000Z";
const PAGE = {
  t: consoleMessagesFor("en"),
  words: messagesFor("en"),
  timezone: "UTC",
  now: new Date(AT),
} as unknown as PageContext;
const CASES: readonly Case[] = [
  [
    "a comparison of shuffled lines",
    5_000,
    (n) => [lines(n), shuffledLines(n)],
    (given: [string[], string[]]) => compareLines(...given),
  ],
  [
    "a comparison of lines that repeat",
    5_000,
    (n) => [lines(n).map((_, i) => `${i % 9}`), lines(n).map((_, i) => `${(i * 7) % 11}`)],
    (given: [string[], string[]]) => toHunks(...given),
  ],
  ["a unified diff", 4_000, difference, diffText],
  ["the rows of a page", 4_000, difference, fileDiffs],
  [
    "members of JSON",
    100_000,
    (n) => `{${'"k\\"":"v\\\\",'.repeat(n)}"z":1}`,
    (text: string) => hasMoreMembers(text, Infinity),
  ],
  ...TEXTS.map(([name, make]): Case => [`a page of ${name}`, 4_000, make, markdown]),
  ...TEXTS.map(([name, make]): Case => [`a Telegram message of ${name}`, 4_000, make, toTelegramHtml]),
  ...TEXTS.map(([name, make]): Case => [`a Slack message of ${name}`, 4_000, make, toMrkdwn]),
  ["a patch looked for in empty lines", 4_000, repeated("\n\n\n\n"), looksLikePatch],
  ["a file asked for by blanks", 4_000, (n) => `|\n${" ".repeat(n * 8)}x`, readAskedFile],
  ["the timeline of a job", 6_000, journalOf, (journal: readonly JournalLine[]) => timeline(PAGE, journal)],
  ...TEXTS.map(([name, make]): Case => [`what is seen of ${name}`, 8_000, make, visible]),
  ...TEXTS.map(
    ([name, make]): Case => [`a mention in ${name}`, 8_000, make, (text: string) => mentions(text, "bot")],
  ),
  ...TEXTS.map(
    ([name, make]): Case => [`an order in ${name}`, 8_000, make, (text: string) => readOrder(text, "bot")],
  ),
];

const LATER_CASES: readonly Case[] = [
  ["an image in base64", 200_000, (n) => [{ data: "iVBOR AAA".repeat(n) }], readImageList],
  [
    "a request with many images",
    2_000,
    (n) => Array.from({ length: n }, () => "QUJD".repeat(100)),
    (images: string[]) => fillInImages(images.map((_, at) => `text "m${at}_"`).join(), { mark: "m", images }),
  ],
  [
    "a changelog that stands in a request",
    20_000,
    (n) => `# Changes\n\n## Unreleased\n${"* A line of it.\n".repeat(n)}`,
    (text: string) =>
      showChangelog({
        request: "write it into the changelog",
        paths: ["CHANGELOG.md"],
        shown: new Set(),
        textOf: () => text,
        budget: 20_000,
      }),
  ],
  ["a service's event", 40_000, (n) => `[${"1,".repeat(n)}1]`, parseEvent],
  ["a service's event of one text", 200_000, (n) => JSON.stringify({ text: '\\"'.repeat(n) }), parseEvent],
  ["a service's form", 200_000, (n) => `payload=${"%22+".repeat(n)}`, parseEventForm],
];

const PATHS = Array.from({ length: 20_000 }, (_, n) => `src/d${n % 50}/f${n}.test.ts`);
const RULES = SHIPPED_RULES.map((rule) => compileTrustedRule(rule, "shipped"));
/** Every function that reads a message before a model does. */
const READERS: Readonly<Record<string, (message: string) => unknown>> = {
  requestTerms,
  namedFiles: (message) => namedFiles(message, PATHS),
  readDeclarations,
  readCheckFailure,
  readFailures: (message) => readFailures(message.split("\n"), new Map([["a", "fail"]])),
  matchRules: (message) => matchRules(RULES, message),
  deriveRule: (message) => deriveRule(message, "CHAT"),
  tellsFault,
  readSentenceCommand,
  readAsideQuestion,
  readPullWish,
  readScheduleForm,
  maySchedule,
  readExplicitRoute,
  readPlanFirst,
  readAllCoders,
  isGo,
  divideCode,
  fillOwnCommand: (message) => fillOwnCommand("do $1: $ARGUMENTS", message),
  estimateTokens,
  cutToTokens: (message) => cutToTokens(message, 1_000),
  readMemoryLine,
  maskSecrets,
  splitText: (message) => splitText(message, 4_000),
  literalTerms,
  readNoChange,
  readProposal,
  readPlanSteps,
};
/** One word, or what a careless pattern takes for one. */
const PIECES = [
  "A",
  "a/",
  "a-",
  "a.",
  "a_",
  "aA1",
  "a(",
  "(",
  "[",
  ".",
  "/",
  "-",
  "@",
  ":",
  "`",
  '"',
  "'",
  "「",
];
const MORE_PIECES = [
  "<",
  "#",
  "=",
  "0",
  "あ",
  "漢",
  "。",
  " ",
  "\n",
  "\t",
  "sk-ant-",
  "a.b ",
  "--base ",
  "http://a",
];
const LONGEST_MESSAGE = 100_000;
const messageOf = (piece: string, chars: number) => `毎日9時に ${piece.repeat(chars / piece.length)} x`;

test.each(Object.entries(READERS))("%s takes time that grows with the message", async (_, read) => {
  for (const piece of [...PIECES, ...MORE_PIECES]) {
    const [eighth, whole] = [messageOf(piece, LONGEST_MESSAGE / 8), messageOf(piece, LONGEST_MESSAGE)];
    const { small, large } = await leastTimes(eighth, whole, read);
    expect({ piece, ms: large }).toEqual({ piece, ms: Math.min(large, limitFor(small)) });
  }
});

/** Processor time, so that a busy machine does not count. */
async function timeOf(given: unknown, run: (given: never) => unknown): Promise<number> {
  const before = process.cpuUsage();
  await run(given as never);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

/**
 * Twice as much may take 2.5 times as long, so eight times as much 2.5 to the third: linear work takes 8 times as long and
 * quadratic work 64 times, and a slow or busy machine blurs neither. Below 50 ms the garbage collector shows more than the work.
 */
const limitFor = (small: number) => Math.max(2.5 ** 3 * small, small + 50);

/**
 * The least of three and more runs of the small one, and of the large one the first that is within the limit: a busy machine
 * can only add time, and work that grows faster than its input exceeds the limit in every try.
 */
async function leastTimes(
  little: unknown,
  much: unknown,
  run: (given: never) => unknown,
): Promise<{ readonly small: number; readonly large: number }> {
  let [small, large] = [Infinity, Infinity];
  for (let tries = 0; tries < 25 && (tries < 3 || large > limitFor(small)); tries += 1) {
    small = Math.min(small, await timeOf(little, run));
    if (tries >= 2) large = Math.min(large, await timeOf(much, run));
  }
  return { small, large };
}

test.each([...CASES, ...LATER_CASES])(
  "%s: twice as much takes at most 2.5 times as long",
  async (_, n, make, run) => {
    const { small, large } = await leastTimes(make(n / 2), make(n * 4), run);
    expect(large).toBeLessThanOrEqual(limitFor(small));
  },
);

test("a diff of a shuffled file of 10,000 lines is soon shown", async () => {
  const before = process.cpuUsage();
  expect((await diffText(difference(10_000))).length).toBeGreaterThan(100_000);
  const { user } = process.cpuUsage(before);
  // By the square of its lines it is 50 seconds.
  expect(user / 1_000).toBeLessThan(5_000);
});
