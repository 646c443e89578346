import type { ChatEvent } from "../../application/ports/chat.ts";
import { type PlanStep, stepLines } from "../../domain/coder/plan-steps.ts";
import type { ChatMessages } from "../../domain/texts/chat.ts";
import type { TerminalMessages } from "../../domain/texts/cli-terminal.ts";
import { printable } from "./command.ts";
import type { Block } from "./live-screen.ts";
import { createMarkdownStream } from "./markdown-stream.ts";
import { cutToColumns, wrapColumns } from "./terminal-pi.ts";
import type { Style } from "./terminal-style.ts";

/** A step of work: alive while it runs, folded with its neighbours when words or a card follow. */
interface Step {
  readonly name: string;
  detail: string;
  readonly startedAt: number;
  state: "runs" | "done" | "failed";
  note: string;
  endedAt: number;
  /** It goes on beside others, and says itself when it has ended. */
  readonly isAgent?: boolean;
}

interface Draft {
  text: string;
  readonly blocks: Block[];
  readonly stream: ReturnType<typeof createMarkdownStream>;
}

/** One message while it is answered: its steps, its words as they come, and what it does now. */
export interface TurnView {
  /** Blocks that became final. */
  event(event: ChatEvent): readonly Block[];
  /** The words and steps that are still open. */
  live(columns: number): readonly string[];
  /** `⠋ round 2 of 4 · checks · 3 s · 2.2k tokens · esc stops`. */
  working(): string;
  stop(): void;
  isStopping(): boolean;
  /** Everything that is open becomes final. */
  end(): readonly Block[];
  /** The streamed text, without markup. */
  streamed(): string;
  elapsedMs(): number;
  /** The same in words: `12 s`. */
  elapsed(): string;
  tokens(): number;
  /** Every step, for whoever asks. */
  allSteps(): readonly string[];
}

interface TurnDeps {
  readonly texts: TerminalMessages;
  readonly chat: ChatMessages;
  readonly style: () => Style;
  readonly now: () => number;
}

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const SPIN_MS = 120;
/** Rows of the plan's list. */
const LIST_ROWS = 8;
const LIVE_STEPS = 4;
/** Rows of a coder's words that are seen while it writes. */
const DRAFT_ROWS = 12;

export function createTurnView({ texts, chat, style, now }: TurnDeps): TurnView {
  const startedAt = now();
  const steps: Step[] = [];
  const agents = new Map<number, Step>();
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

  const settle = (state: "done" | "failed" = "done") => {
    for (const step of steps)
      if (step.state === "runs" && step.isAgent !== true) {
        step.state = state;
        step.endedAt = now();
      }
    output = "";
  };
  const begin = (name: string, detail: string, state: Step["state"] = "runs") => {
    settle();
    const clean = printable(detail).replace(/\s+/g, " ").trim();
    steps.push({ name, detail: clean, state, note: "", startedAt: now(), endedAt: now() });
  };
  const hearAgent = (event: Extract<ChatEvent, { type: "agent" }>) => {
    const clean = (text: string) => printable(text).replace(/\s+/g, " ").trim();
    const known = agents.get(event.number);
    const step: Step = known ?? {
      isAgent: true,
      name: texts.step.agent,
      detail: `${event.number} ${clean(event.task)}`,
      state: "runs",
      note: "",
      startedAt: now(),
      endedAt: now(),
    };
    if (known === undefined) {
      settle();
      agents.set(event.number, step);
      steps.push(step);
    }
    step.note = event.state === "working" ? clean(event.doing) : texts.agentEnd(event.state, event.files);
    if (event.state === "working") return;
    step.state = event.state === "done" ? "done" : "failed";
    step.endedAt = now();
  };
  const fold = (): Block[] => {
    settle();
    const open = steps.slice(folded);
    folded = steps.length;
    if (open.length === 0) return [];
    return [{ render: (columns) => [foldedRow(open, columns)] }];
  };
  const foldedRow = (open: readonly Step[], columns: number) => {
    const look = style();
    const names = open.map((step) => `${sign(step, look)} ${step.name}`);
    return cutToColumns(look.dim(`  ${texts.steps(open.length)} ${names.join(" · ")}  ctrl-o`), columns);
  };
  const sign = ({ state }: Step, look: Style) => {
    if (state === "runs") return look.cyan(spinner());
    return state === "done" ? look.green("✓") : look.red("✗");
  };
  const spinner = () => FRAMES[Math.floor(now() / SPIN_MS) % FRAMES.length] ?? "";
  const stepRow = (step: Step, look: Style) => {
    const seconds = Math.round(((step.state === "runs" ? now() : step.endedAt) - step.startedAt) / 1000);
    const time = seconds >= 2 ? `  ${texts.seconds(seconds)}` : "";
    const note = step.note === "" ? "" : `  ${step.note}`;
    return `  ${sign(step, look)} ${step.name.padEnd(5)} ${step.detail}${look.dim(`${note}${time}`)}`;
  };

  /** The plan's own list; what is done of it is told from what is not by its sign, not by its colour alone. */
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
    doing = texts.writes;
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
    if (lines > 0) doing = texts.writesPatch(lines);
    else if (text !== "") doing = texts.writes;
    if (text === "") return;
    settle();
    const draft = drafts.get(agent) ?? { text: "", blocks: [], stream: createMarkdownStream(style) };
    drafts.set(agent, draft);
    severalWrite ||= drafts.size > 1;
    draft.text += text;
    draft.blocks.push(...draft.stream.add(printable(text)));
  }

  /**
   * A coder's words become final, or those of all; a plan of one line is the title of its card anyway. Words of one among
   * several stand under its name.
   */
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

  return {
    event(event) {
      switch (event.type) {
        case "text":
          return say(event.text);
        case "drafting":
          hearDraft(event.agent, event.text, event.lines);
          return [];
        case "queued":
          doing = event.ahead > 0 ? chat.doing("waiting", String(event.ahead)) : texts.working;
          return [];
        case "thinking":
          doing = chat.doing("thinking", `${event.agent} (${event.model})`);
          return [];
        case "tool": {
          if (event.state === "started") {
            const words = endWords();
            begin(texts.step.tool, printable([event.name, event.note ?? ""].join(" ").trim()));
            return words;
          }
          const step = steps.findLast(({ state }) => state === "runs");
          if (step !== undefined) step.note = printable(event.note ?? "").split("\n", 1)[0] ?? "";
          settle(event.state === "failed" ? "failed" : "done");
          return [];
        }
        case "proposed": {
          const [title = ""] = event.plan.split("\n", 1);
          const words = [...endWords(), ...endDraft(title, event.agent)];
          begin(texts.step.plan, title, "done");
          return words;
        }
        case "steps":
          list = event.steps;
          return [];
        case "progress":
          round = event.of > 1 ? texts.round(event.attempt, event.of) : "";
          doing = texts.doing[event.doing];
          used = event.tokens;
          if (event.doing === "checking") {
            const last = steps.at(-1);
            const goesOn = last?.state === "runs" && last.name === texts.step.check;
            if (goesOn) last.detail = printable(event.detail).replace(/\s+/g, " ").trim();
            else begin(texts.step.check, event.detail);
          }
          return [];
        case "agent": {
          const words = [...endWords(), ...endDraft(null)];
          hearAgent(event);
          return words;
        }
        case "job-command": {
          const [type = "", , ...rest] = event.command.split(" ");
          // An agent of the user's own speaks between its steps; other coders are silent here.
          const words = severalWrite ? [] : endDraft(null);
          begin(type === "file_edit" ? texts.step.edit : texts.step.run, rest.join(" "));
          return words;
        }
        case "job-output":
          output = printable(event.text.trimEnd().split("\n").at(-1) ?? "").trim();
          return [];
        case "job-finished":
          settle(event.success ? "done" : "failed");
          return [];
        case "notice": {
          if (event.step !== undefined) {
            const { kind, detail } = event.step;
            const words = [...endWords(), ...endDraft(null)];
            if (kind === "retry") begin(texts.step.retry, detail, "failed");
            else begin(kind === "call" ? texts.step.tool : texts.step[kind], detail, "done");
            return words;
          }
          settle();
          const look = style();
          const text = printable(event.text);
          return [
            ...endWords(),
            ...endDraft(null),
            {
              render: (columns) =>
                text
                  .split("\n")
                  .flatMap((line) => wrapColumns(look.dim(line), columns - 2).map((row) => `  ${row}`)),
            },
          ];
        }
        case "decided":
        case "job-started":
        case "undone":
        case "cut-over":
          return [];
      }
    },
    live(columns) {
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
    end() {
      // The reply says what the last words of a coder were.
      drafts.clear();
      return [...endWords(), ...fold()];
    },
    streamed: () => said,
    elapsedMs: () => now() - startedAt,
    elapsed: () => texts.seconds(Math.round((now() - startedAt) / 1000)),
    tokens: () => used,
    allSteps() {
      const look = style();
      return steps.map((step) => stepRow(step, look));
    },
  };
}
