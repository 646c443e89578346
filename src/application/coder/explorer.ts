import { shortOutput } from "../../domain/checks/read-results.ts";
import {
  type AskedFile,
  readAskedFile,
  showFile,
  showLines,
  splitBudget,
} from "../../domain/coder/file-excerpts.ts";
import type { LineRange } from "../../domain/patch/compare-lines.ts";
import { readObject } from "../../domain/platform/json-members.ts";
import { requestTerms } from "../../domain/platform/request-terms.ts";
import { cutMiddle } from "../../domain/texts/format-text.ts";
import type { ToolResult } from "../models/tool-loop.ts";
import type { ProjectFiles } from "../ports/drafts.ts";
import type { ModelAnswer, ModelMessage, ModelTool, ToolCall } from "../ports/models.ts";
import type { TryOutRefusal, TryOutResult } from "./bench.ts";
import { folderTree, LONGEST_FILE, rulesOnTheWay } from "./coder-context.ts";
import { type SearchedFiles, searchProject } from "./search-project.ts";

/** The files and searches that a coder requests before it writes. */
export interface AskedContext {
  /** `path` or `path:from-to`. */
  readonly files: readonly string[];
  readonly searches: readonly string[];
}

const SEARCH_CHARS = 6_000;
const MOST_LISTED_NAMES = 20_000;

/** Shows what a coder asked for: the budget is split over all of it, and a cut part says what to ask for next. */
export function showAsked(
  project: SearchedFiles,
  { files, searches }: AskedContext,
  { request, limit }: { readonly request: string; readonly limit: number },
): string {
  const terms = requestTerms(request);
  const found = searches.map((pattern) =>
    searchProject(project, { pattern }, Math.min(SEARCH_CHARS, limit / (searches.length + 1))),
  );
  const left = limit - found.reduce((sum, text) => sum + text.length, 0);
  const read = files.map((text) => {
    const asked = resolveAskedFile(project, text);
    return { ...asked, text: project.read(asked.path, LONGEST_FILE)?.text ?? null };
  });
  const shares = splitBudget(
    read.map(({ text, lines }) =>
      text === null ? 0 : lines === undefined ? text.length : lengthOf(text, lines),
    ),
    left,
  );
  const shown = read.map(({ path, lines, text }, at) => {
    if (text === null) return wordMissingFile(project, path);
    const share = shares[at] ?? 0;
    return lines === undefined
      ? showFile(path, text, { terms, limit: share, fill: true })
      : showLines(path, text, lines, share);
  });
  return [...found, ...shown].join("\n\n");
}

function lengthOf(text: string, { from, to }: LineRange): number {
  return text
    .split("\n")
    .slice(from - 1, to)
    .reduce((sum, line) => sum + line.length + 1, 0);
}

/** A path may itself end in text that looks like a range. */
function resolveAskedFile(project: SearchedFiles, text: string): AskedFile {
  const plain = text.trim().replace(/^\.?\//, "");
  return project.read(plain, 1) === null ? readAskedFile(text) : { path: plain };
}

function wordMissingFile(project: SearchedFiles, path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  const stem = name.replace(/\..*$/, "");
  const near = project
    .list(MOST_LISTED_NAMES)
    .filter((one) => stem.length > 2 && one.toLowerCase().includes(stem))
    .slice(0, 5);
  const hint = near.length === 0 ? "" : `; there are ${near.join(", ")}`;
  return `<file path="${path}">does not exist, or may not be shown${hint}</file>`;
}

/** The tools with which a coder looks around before it writes; none of them changes the workspace. */
export interface Explorer {
  readonly tools: readonly ModelTool[];
  /** Never rejects. */
  call(call: ToolCall): Promise<ToolResult>;
}

export interface ExplorerDeps {
  /** The current files; with a draft, the draft's. */
  readonly project: () => Pick<ProjectFiles, "list" | "read" | "find">;
  readonly request: string;
  /** Characters of one result. */
  readonly limit: number;
  /** Runs a command in a throw-away view; absent if there is none, null if it cannot be made. */
  readonly run?: (command: string, seconds?: number) => Promise<TryOutResult | TryOutRefusal | null>;
  /** Lets a sub-agent work; absent if there are none. Never rejects. */
  readonly delegate?: (asked: Delegation) => Promise<ToolResult>;
  readonly mask: (text: string) => string;
  /** Paths of the project's rules that the coder has seen; rules of other folders are shown with their first file. */
  readonly seenRules?: Set<string>;
  /** Tools of other origin, such as MCP servers. */
  readonly beside?: {
    readonly tools: readonly ModelTool[];
    /** Null for an unknown tool. */
    call(call: ToolCall): Promise<ToolResult> | null;
  } | null;
}

/** A part of a coder's work for a sub-agent. */
export interface Delegation {
  readonly task: string;
  /** The files to start with. */
  readonly files: readonly string[];
  readonly writes: boolean;
}

const object = (properties: Readonly<Record<string, unknown>>, ...required: string[]) => ({
  type: "object",
  properties,
  ...(required.length > 0 && { required }),
});
/** Schemas without descriptions: every word of them is sent with every request. */
const TEXT = { type: "string" };
const NUMBER = { type: "integer" };

const READ: ModelTool = {
  name: "read_file",
  description: "Shows a file, or some of its lines.",
  parameters: object({ path: TEXT, start_line: NUMBER, end_line: NUMBER }, "path"),
};
const SEARCH: ModelTool = {
  name: "search",
  description:
    "Finds lines by text or regular expression, in path if given, each with context lines around it; definitions first.",
  parameters: object({ pattern: TEXT, path: TEXT, context: NUMBER, skip_files: NUMBER }, "pattern"),
};
const TREE: ModelTool = {
  name: "tree",
  description: "Lists the files in a folder, or all files.",
  parameters: object({ path: TEXT }),
};
const RUN: ModelTool = {
  name: "run",
  description:
    "Runs a shell command in a scratch view of the workspace, without network: to reproduce a bug or try an edit. Later runs see what it writes in the workspace until your next proposal; /tmp is fresh each time. It is ended after 120 s, or after seconds.",
  parameters: object({ command: TEXT, seconds: NUMBER, from: NUMBER }, "command"),
};

export const DELEGATE_TOOL = "delegate";

const DELEGATE: ModelTool = {
  name: DELEGATE_TOOL,
  description:
    "Gives a part of the work to a sub-agent: it answers a question or, with write, changes files in your draft. It knows only the task and the workspace. Calls in one answer run in parallel.",
  parameters: object(
    { task: TEXT, files: { type: "array", items: TEXT }, write: { type: "boolean" } },
    "task",
  ),
};

export function createExplorer(deps: ExplorerDeps): Explorer {
  const printed = new Map<string, TryOutResult>();
  const tools = [
    READ,
    SEARCH,
    TREE,
    ...(deps.run === undefined ? [] : [RUN]),
    ...(deps.delegate === undefined ? [] : [DELEGATE]),
    ...(deps.beside?.tools ?? []),
  ];
  return {
    tools,
    async call(call) {
      const { name, arguments: given } = call;
      const others = deps.beside?.call(call) ?? null;
      if (others !== null) return others;
      const { ok, text: told } = await answer({ ...deps, printed, tools }, name, readObject(given));
      return { ok, text: deps.mask(told) };
    },
  };
}

async function answer(
  {
    project,
    request,
    limit,
    run,
    delegate,
    printed,
    seenRules,
    tools,
  }: ExplorerDeps & { readonly printed: Map<string, TryOutResult>; readonly tools: readonly ModelTool[] },
  name: string,
  args: Readonly<Record<string, unknown>>,
): Promise<ToolResult> {
  switch (name) {
    case "read_file": {
      const asked = wishOf(args);
      if (asked === "") return wrong("read_file needs a path");
      const files = [withoutHoles(project(), asked, limit)];
      const shown = showAsked(project(), { files, searches: [] }, { request, limit });
      if (shown.includes(">does not exist, or may not be shown")) return { ok: false, text: shown };
      const { path } = resolveAskedFile(project(), asked);
      const rules = seenRules === undefined ? "" : rulesOnTheWay(project(), path, seenRules);
      return { ok: true, text: [shown, rules].filter((part) => part !== "").join("\n\n") };
    }
    case "search": {
      const pattern = stringOf(args.pattern);
      if (pattern === "") return wrong("search needs a pattern");
      const asked = {
        pattern,
        under: stringOf(args.path),
        // Other tools call it `after` and `before`.
        context: countOf(args.context ?? args.after ?? args.before),
        skipFiles: countOf(args.skip_files),
      };
      return { ok: true, text: searchProject(project(), asked, Math.min(limit, 8_000)) };
    }
    case "tree":
      return {
        ok: true,
        text: folderTree(project().list(20_000), stringOf(args.path), Math.min(limit, 6_000)),
      };
    case "run": {
      const command = stringOf(args.command);
      if (run === undefined) return wrong("nothing can be run here");
      if (command === "") return wrong("run needs a command");
      const from = countOf(args.from);
      // Another page of the same output does not run the command again.
      const ran =
        (from > 0 ? printed.get(command) : undefined) ??
        (await run(command, countOf(args.seconds) || undefined));
      if (ran === null) return wrong("nothing can be run here");
      if ("refused" in ran) return wrong(`nothing can be run here: ${ran.refused}`);
      printed.set(command, ran);
      const { exitCode, output } = ran;
      return {
        ok: exitCode === 0,
        text: `${wordEnd(ran)}\n${showOutput(output, { from, limit: Math.min(limit, 8_000), command })}`,
      };
    }
    case DELEGATE_TOOL: {
      const task = stringOf(args.task) || stringOf(args.question);
      if (delegate === undefined) return wrong("you cannot delegate: do it yourself");
      if (task === "") return wrong("delegate needs a task");
      const writes = args.write === true || args.write === "true";
      return delegate({ task, files: namesOf(args.files), writes });
    }
    default:
      return wrong(`there is no tool ${name}; there are ${tools.map((tool) => tool.name).join(", ")}`);
  }
}

function wordEnd({ exitCode, outcome, seconds, limitSeconds, mostSeconds }: TryOutResult): string {
  const took = seconds < 1 ? "" : ` after ${Math.round(seconds)} s`;
  if (exitCode !== null) return `Exit code ${exitCode}${took}.`;
  if (outcome !== "timed-out") return `It was ended${took}: ${outcome}. Its output up to there:`;
  return `Ended after ${limitSeconds} s, its limit (seconds: ${mostSeconds} is the most that is left). Its output up to there:`;
}

/** Shows a file without gaps: one that is too long is cut at its end, with the number of the next line. */
function withoutHoles(project: SearchedFiles, asked: string, limit: number): string {
  const { path, lines } = resolveAskedFile(project, asked);
  if (lines !== undefined) return asked;
  return (project.read(path, LONGEST_FILE)?.text.length ?? 0) > limit ? `${path}:1-` : asked;
}

interface ShownOutput {
  readonly from: number;
  readonly limit: number;
  readonly command: string;
}

/** Whole lines from `from` on, and the number of the next; without it, of a long test run the failures, of other output head and tail. */
function showOutput(output: string, { from, limit, command }: ShownOutput): string {
  if (from < 1 && output.length <= limit) return output;
  const lines = output.split("\n");
  if (from < 1)
    return `${shortOutput(output, limit, command)}\n(not all of ${lines.length} lines; the same command with from: LINE shows them from there, without a second run)`;
  const begin = Math.min(from, lines.length);
  // A page has at least one line, so that every page leads to the next.
  const shown = [cutMiddle(lines[begin - 1] as string, limit)];
  let left = limit - (shown[0] as string).length;
  for (const line of lines.slice(begin)) {
    left -= line.length + 1;
    if (left < 0) break;
    shown.push(line);
  }
  const to = begin + shown.length - 1;
  const next = to < lines.length ? [`(from: ${to + 1} shows the next)`] : [];
  return [`(lines ${begin}-${to} of ${lines.length})`, ...shown, ...next].join("\n");
}

function countOf(value: unknown): number {
  const count = Number(value ?? 0);
  return Number.isInteger(count) && count > 0 ? count : 0;
}

function wrong(told: string): ToolResult {
  return { ok: false, text: told };
}

/** The path and lines of a `read_file` call, as `path:12-80`. Models also write numbers as text, and ranges into the path. */
export function wishOf(given: unknown): string {
  const args = readObject(given);
  const path = stringOf(args.path) || stringOf(args.file_path) || stringOf(args.file);
  const from = Number(args.start_line ?? args.from ?? args.offset ?? Number.NaN);
  const to = Number(args.end_line ?? args.to ?? Number.NaN);
  if (path === "" || readAskedFile(path).lines !== undefined) return path;
  if (Number.isInteger(from) && from > 0) return `${path}:${from}-${Number.isInteger(to) ? to : ""}`;
  return Number.isInteger(to) && to > 0 ? `${path}:1-${to}` : path;
}

/** A list, or a text with commas between names. */
function namesOf(value: unknown): string[] {
  const names = Array.isArray(value) ? value : stringOf(value).split(",");
  return names.map(stringOf).filter((name) => name !== "");
}

function stringOf(value: unknown): string {
  return typeof value === "string" ? value.trim() : "";
}

/** A coder's tool calls in one message. They keep their place in the exchange, so that sent content is only extended. */
export type CoderLooks = ReturnType<typeof createCoderLooks>;

export interface CoderLooksDeps {
  readonly explorer: Explorer;
  /** Rounds of calls (`coder.explore`). */
  readonly rounds: number;
  readonly tell: (calls: readonly ToolCall[]) => void;
}

const NO_ROUND =
  "refused: no rounds of lookups are left. Write the proposal now, based on what you have seen.";
const SAME_AGAIN =
  "(this call returned the same result before; write the proposal, or look at something else)";
/** The element of a file that is shown whole, without line numbers. */
const WHOLE_FILE = /^<file path="([^"\n]+)">\n/;
/** After this many rounds without a new result, no further calls are allowed. */
const MOST_SAME_ROUNDS = 3;
/**
 * Results of calls that are kept, and that are masked at once. A provider's cache holds as long as sent content is only extended, so results
 * are masked in batches: over 41 requests that read 40 files, each sent again with every request costs 2.02, masked every round 5.00, in batches 1.45.
 */
const KEPT_RESULTS = 5;
const MASKED_AT_ONCE = 10;
/** A shorter result is not masked. */
const SHORT_RESULT = 400;

/** The coder is informed of the remaining rounds when this many or fewer are left. */
const FEW_ROUNDS = 3;
/** After this many refused rounds, the last answer counts. */
const PATIENCE = 2;

export function createCoderLooks({ explorer, rounds, tell }: CoderLooksDeps) {
  const looks: { readonly after: number; messages: readonly ModelMessage[] }[] = [];
  const seen = new Map<string, string>();
  let sent: readonly string[] = [];
  let used = 0;
  let masked = 0;
  let same = 0;
  let offered = rounds > 0;

  /** The results, and whether anything among them is new. */
  async function look(calls: readonly ToolCall[]) {
    const results = await Promise.all(calls.map((call) => explorer.call(call)));
    const texts = results.map(({ text }, at) => {
      const key = JSON.stringify([calls[at]?.name, calls[at]?.arguments]);
      // Another time is no other result.
      const result = text.replace(/^(Exit code \d+) after \d+ s/, "$1");
      const isSame = seen.get(key) === result;
      seen.set(key, result);
      if (isSame) return { text: SAME_AGAIN, isSame };
      const path = WHOLE_FILE.exec(text)?.[1];
      const isAbove = path !== undefined && sent.some((message) => message.includes(text));
      return { text: isAbove ? `(${path} is already above, whole and unchanged)` : text, isSame: isAbove };
    });
    same = texts.every(({ isSame }) => isSame) ? same + 1 : 0;
    return texts;
  }

  /** Masks the oldest results once enough have gathered; what is masked can be read again as if it were new. */
  function maskOldest() {
    const results = looks.flatMap(({ messages }) => messages.filter(({ role }) => role === "tool"));
    if (results.length - masked < KEPT_RESULTS + MASKED_AT_ONCE) return;
    const oldest = new Set(results.slice(masked, masked + MASKED_AT_ONCE));
    masked += MASKED_AT_ONCE;
    for (const look of looks)
      look.messages = look.messages.map((message) => (oldest.has(message) ? maskResult(message) : message));
    seen.clear();
  }

  return {
    /** None once a server refused a request with tools. */
    tools: () => (offered ? explorer.tools : []),
    withoutTools() {
      offered = false;
    },
    /** The messages of the request that is sent now. */
    sent(messages: readonly ModelMessage[]) {
      sent = messages.flatMap(({ role, text }) => (role === "assistant" ? [] : [text]));
    },
    /** The exchange with every call at its place. */
    woven(exchange: readonly ModelMessage[]) {
      const all: ModelMessage[] = [];
      for (let at = 0; at <= exchange.length; at++) {
        for (const { after, messages } of looks) if (after === at) all.push(...messages);
        const next = exchange[at];
        if (next !== undefined) all.push(next);
      }
      return all;
    },
    /** Carries out the calls of an answer in parallel; false if it has none, or if the coder does not stop calling. */
    async take(exchange: readonly ModelMessage[], { text, toolCalls, thoughts }: ModelAnswer) {
      if (toolCalls.length === 0 || used >= rounds + PATIENCE) return false;
      used++;
      if (same >= MOST_SAME_ROUNDS) used = Math.max(used, rounds + 1);
      const left = rounds - used;
      if (left >= 0) tell(toolCalls);
      const results = left < 0 ? toolCalls.map(() => ({ text: NO_ROUND })) : await look(toolCalls);
      const count = left === 1 ? "1 round of calls is left" : `${Math.max(0, left)} rounds of calls are left`;
      const answers = results.map((result, at): ModelMessage => {
        const { id: callId, name } = toolCalls[at] as ToolCall;
        const isLast = at === results.length - 1 && left >= 0 && left <= FEW_ROUNDS;
        return { role: "tool", callId, name, text: isLast ? `${result.text}\n(${count})` : result.text };
      });
      const said: ModelMessage = {
        role: "assistant",
        text,
        toolCalls,
        ...(thoughts !== undefined && { thoughts }),
      };
      looks.push({ after: exchange.length, messages: [said, ...answers] });
      maskOldest();
      return true;
    },
  };
}

function maskResult(message: ModelMessage): ModelMessage {
  const { length } = message.text;
  if (length <= SHORT_RESULT) return message;
  const text = `(left out to keep the conversation small: ${length} characters; call it again where you need it)`;
  return { ...message, text };
}
