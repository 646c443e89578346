import { addToSteps, settleSteps, stepLines, type WorkStep } from "../../application/chat/describe-event.ts";
import type { ChatEvent, PlanStep } from "../../application/ports/chat.ts";
import type { ChatMessages } from "../../domain/texts/chat.ts";
import type { TerminalMessages } from "../../domain/texts/cli-terminal.ts";
import { printable } from "./command.ts";
import type { Block } from "./live-screen.ts";
import { createMarkdownStream } from "./markdown-stream.ts";
import { cutToColumns, wrapColumns } from "./terminal-pi.ts";
import type { Style } from "./terminal-style.ts";
import { padText, textWidth } from "./terminal-text.ts";

interface Draft {
  text: string;
  readonly blocks: Block[];
  readonly stream: ReturnType<typeof createMarkdownStream>;
}

/** One message while it is answered: its steps, its words as they come, and what it does now. */
export type TurnView = ReturnType<typeof createTurnView>;

interface TurnDeps {
  readonly texts: TerminalMessages;
  readonly chat: ChatMessages;
  readonly style: () => Style;
  readonly now: () => number;
}

/** What becomes final with an event; other events are steps, or say nothing here. */
type Hears = {
  readonly [Type in ChatEvent["type"]]?: (
    event: Extract<ChatEvent, { type: Type }>,
  ) => readonly Block[] | undefined;
};

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const SPIN_MS = 120;
/** Rows of the plan's list. */
const LIST_ROWS = 8;
const LIVE_STEPS = 4;
/** Rows of a coder's words that are seen while it writes. */
const DRAFT_ROWS = 12;

export function createTurnView({ texts, chat, style, now }: TurnDeps) {
  const startedAt = now();
  let steps: readonly WorkStep[] = [];
  /** Steps before this one are folded already. */
  let folded = 0;
  let stream = createMarkdownStream(style);
  /** The words of each coder that writes: alive until it is known what follows them. */
  const drafts = new Map<string, Draft>();
  let severalWrite = false;
  let said = "";
  let isSaying = false;
  let doing: string = texts.working;
  let round = "";
  let output = "";
  let used = 0;
  let stops = false;
  let list: readonly PlanStep[] = [];

  const settle = () => {
    steps = settleSteps(steps, "done", now());
    output = "";
  };
  const clean = (text: string) => printable(text).replace(/\s+/g, " ").trim();
  const fold = (): Block[] => {
    settle();
    const open = steps.slice(folded);
    folded = steps.length;
    if (open.length === 0) return [];
    return [{ render: (columns) => [foldedRow(open, columns)] }];
  };
  const foldedRow = (open: readonly WorkStep[], columns: number) => {
    const look = style();
    const names = open.map((step) => `${sign(step, look)} ${chat.step[step.kind]}`);
    return cutToColumns(look.dim(`  ${texts.steps(open.length)} ${names.join(" · ")}  ctrl-o`), columns);
  };
  const sign = ({ state }: WorkStep, look: Style) => {
    if (state === "runs") return look.cyan(spinner());
    return state === "done" ? look.green("✓") : look.red("✗");
  };
  const spinner = () => FRAMES[Math.floor(now() / SPIN_MS) % FRAMES.length] ?? "";
  const kindColumns = Math.max(...Object.values(chat.step).map(textWidth));
  const stepRow = (step: WorkStep, look: Style) => {
    const seconds = Math.round(((step.state === "runs" ? now() : step.endedAt) - step.startedAt) / 1000);
    const time = seconds >= 2 ? `  ${texts.seconds(seconds)}` : "";
    const said = step.end === undefined ? step.note : chat.agentEnd(step.end.end, step.end.files);
    const note = said === "" ? "" : `  ${clean(said)}`;
    return `  ${sign(step, look)} ${padText(chat.step[step.kind], kindColumns)} ${clean(step.detail)}${look.dim(`${note}${time}`)}`;
  };

  /** The plan's own list; a sign, not only a colour, marks finished steps. */
  const listRows = (columns: number, look: Style) => {
    const rows = stepLines(list).split("\n").slice(0, LIST_ROWS);
    if (list.length === 0) return [];
    return rows.map((row, at) => {
      const text = cutToColumns(`  ${printable(row)}`, columns);
      return list[at]?.state === "done" ? look.dim(text) : text;
    });
  };

  function say(text: string): readonly Block[] {
    const before = isSaying ? [] : [...fold(), { render: () => [""] }];
    isSaying = true;
    said += text;
    doing = chat.writes;
    return [...before, ...stream.add(printable(text))];
  }

  function draftRows(columns: number): readonly string[] {
    const open = [...drafts].filter(([, { text }]) => text !== "");
    const most = Math.max(2, Math.floor(DRAFT_ROWS / Math.max(1, open.length)));
    return open.flatMap(([agent, { blocks, stream: words }]) => {
      const last = blocks.slice(-most).flatMap((block) => block.render(columns));
      const rows = [...last, ...words.live(columns)].slice(-most);
      return open.length > 1 ? ["", style().dim(`  ${agent}`), ...rows] : ["", ...rows];
    });
  }

  function endWords(): readonly Block[] {
    if (!isSaying) return [];
    isSaying = false;
    const last = stream.end();
    stream = createMarkdownStream(style);
    return last;
  }

  function hearDraft(agent: string, text: string, lines: number): void {
    if (lines > 0) doing = chat.writesPatch(lines);
    else if (text !== "") doing = chat.writes;
    if (text === "") return;
    const draft = drafts.get(agent) ?? { text: "", blocks: [], stream: createMarkdownStream(style) };
    drafts.set(agent, draft);
    severalWrite ||= drafts.size > 1;
    draft.text += text;
    draft.blocks.push(...draft.stream.add(printable(text)));
  }

  /** Makes the words of one coder, or of all, final. A plan of one line is omitted: it is the title of its card. */
  function endDraft(title: string | null, agent?: string): readonly Block[] {
    const ending = [...drafts].filter(([name]) => agent === undefined || name === agent);
    const isOneOfMany = drafts.size > 1 || agent !== undefined;
    return ending.flatMap(([name, { text, blocks, stream: words }]) => {
      drafts.delete(name);
      const lines = text.split("\n").filter((line) => line.trim() !== "");
      if (lines.length === 0 || (title !== null && lines.length === 1)) return [];
      const head = isOneOfMany ? [{ render: () => [style().dim(`  ${name}`)] }] : [];
      return [...fold(), { render: () => [""] }, ...head, ...blocks, ...words.end()];
    });
  }

  const endAll = () => [...endWords(), ...endDraft(null)];

  const hears: Hears = {
    text: ({ text }) => say(text),
    drafting({ agent, text, lines }) {
      hearDraft(agent, text, lines);
    },
    queued({ ahead }) {
      doing = ahead > 0 ? chat.doing("waiting", String(ahead)) : texts.working;
    },
    thinking({ agent, model }) {
      doing = chat.doing("thinking", `${agent} (${model})`);
    },
    tool: ({ state }) => (state === "started" ? endWords() : []),
    proposed({ plan, agent }) {
      const [title = ""] = plan.split("\n", 1);
      return [...endWords(), ...endDraft(title, agent)];
    },
    steps(event) {
      list = event.steps;
    },
    progress(event) {
      round = event.of > 1 ? texts.round(event.attempt, event.of) : "";
      doing = texts.doing[event.doing];
      used = event.tokens;
    },
    agent: endAll,
    // An agent of the user's own speaks between its steps; other coders are silent here.
    "job-command": () => (severalWrite ? [] : endDraft(null)),
    "job-output"({ text }) {
      output = printable(text.trimEnd().split("\n").at(-1) ?? "").trim();
    },
    notice({ step, text }) {
      if (step !== undefined) return endAll();
      const look = style();
      const lines = printable(text).split("\n");
      const render = (columns: number) =>
        lines.flatMap((line) => wrapColumns(look.dim(line), columns - 2).map((row) => `  ${row}`));
      return [...endAll(), { render }];
    },
  };

  return {
    /** Blocks that became final. */
    event(event: ChatEvent) {
      // Words that end fold the steps before them.
      const blocks = hears[event.type]?.(event as never) ?? [];
      const before = steps;
      steps = addToSteps(steps, event, now());
      if (steps !== before) output = "";
      return blocks;
    },
    /** The words and steps that are still open. */
    live(columns: number) {
      const look = style();
      const words = isSaying ? stream.live(columns) : draftRows(columns);
      const open = steps.slice(folded);
      const shown = open.slice(-LIVE_STEPS);
      const earlier = open.length - shown.length;
      return [
        ...words,
        ...listRows(columns, look),
        ...(earlier > 0 ? [look.dim(`  ${texts.earlierSteps(earlier)}  ctrl-o`)] : []),
        ...shown.map((step) => cutToColumns(stepRow(step, look), columns)),
        ...(output === "" ? [] : [look.dim(cutToColumns(`      ${output}`, columns))]),
      ];
    },
    /** `⠋ round 2 of 4 · checks · 3 s · 2.2k tokens · esc stops`. */
    working() {
      const look = style();
      const seconds = texts.seconds(Math.floor((now() - startedAt) / 1000));
      const parts = [
        round,
        stops ? texts.stopping : doing,
        seconds,
        used > 0 ? texts.tokens(used) : "",
        stops ? "" : texts.escStops,
      ];
      return `${look.cyan(spinner())} ${look.dim(parts.filter((part) => part !== "").join(" · "))}`;
    },
    stop() {
      stops = true;
    },
    isStopping: () => stops,
    /** Everything that is open becomes final. */
    end() {
      // The reply says what the last words of a coder were.
      drafts.clear();
      return [...endWords(), ...fold()];
    },
    /** The streamed text, without markup. */
    streamed: () => said,
    elapsedMs: () => now() - startedAt,
    /** The same in words: `12 s`. */
    elapsed: () => texts.seconds(Math.round((now() - startedAt) / 1000)),
    tokens: () => used,
    /** Every step, for the expanded view. */
    allSteps() {
      const look = style();
      return steps.map((step) => stepRow(step, look));
    },
  };
}
