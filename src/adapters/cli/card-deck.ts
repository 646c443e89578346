import type { ActionFacts } from "../../application/jobs/action-report.ts";
import type { StoredJob } from "../../application/ports/jobs.ts";
import type { TerminalMessages } from "../../domain/texts/cli-terminal.ts";
import { printable } from "./command.ts";
import type { Card, CardMaker } from "./conversation-cards.ts";
import type { Block } from "./live-screen.ts";
import { cutToColumns, visibleWidth, wrapColumns } from "./terminal-pi.ts";
import type { Style } from "./terminal-style.ts";

interface DeckDeps {
  /** Null until the conversation is open. */
  readonly maker: () => CardMaker | null;
  readonly texts: TerminalMessages;
  readonly style: () => Style;
}

const CARDS_KEPT = 5;
const VERDICT_ROWS = 3;

const verdictRows = (line: string, columns: number) =>
  wrapColumns(line, columns - 2).map((row) => `  ${row}`);

/** Whether one line about the moved job reports an order. A job that changed nothing was neither undone nor applied again. */
export function hasMoved({ action, code, status }: ActionFacts): boolean {
  return code === "done" && (action === "apply" || status !== "no-change");
}

/** The last cards of a conversation: which one has the keys, and the verdict that is still alive. */
export function createCardDeck({ maker, texts, style }: DeckDeps) {
  let cards: Card[] = [];
  let focus: number | null = null;

  /** It is the last one now; the block is its title and difference. */
  const add = (card: Card): Block => {
    cards = [...cards.filter(({ name }) => name !== card.name), card].slice(-CARDS_KEPT);
    return (maker() as CardMaker).block(card, style);
  };
  const holding = (facts: ActionFacts) => {
    const ids = new Set(facts.done.map(({ jobId }) => jobId));
    return cards.filter((card) => card.jobIds.some((id) => ids.has(id)));
  };
  /** Prints the current verdict of the last card to the scrollback, where it stays unchanged. */
  function settle(): readonly Block[] {
    const card = cards.at(-1);
    const make = maker();
    if (card === undefined || make === null || card.printed !== null) return [];
    make.refresh(card);
    const line = make.verdict(card, style());
    card.printed = card.status;
    return [{ render: (columns) => verdictRows(line, columns) }];
  }
  function noteMove(facts: ActionFacts): void {
    for (const card of holding(facts)) maker()?.describeMove(card, facts);
  }

  return {
    add,
    /** A job of whichever channel, with the keys on it. */
    show(job: StoredJob): Block {
      const before = settle();
      const block = add((maker() as CardMaker).fromJob(job));
      focus = cards.length - 1;
      return { render: (columns) => [...before, block].flatMap((one) => one.render(columns)) };
    },
    focused: (): Card | null => (focus === null ? null : (cards[focus] ?? null)),
    offers: (card: Card, key: "undo" | "redo" | "apply"): boolean =>
      maker()?.keys(card).includes(key) === true,
    /** False where there is none. */
    focusLast(): boolean {
      if (cards.length === 0) return false;
      focus = cards.length - 1;
      return true;
    },
    focusOn(card: Card): void {
      const at = cards.indexOf(card);
      focus = at < 0 ? null : at;
    },
    /** To the card above or below. */
    step(by: 1 | -1): void {
      if (focus !== null) focus = Math.max(0, Math.min(cards.length - 1, focus + by));
    },
    unfocus(): void {
      focus = null;
    },
    /** The verdict of the last card or of the one with the keys, and the keys. */
    rows(columns: number): string[] {
      const make = maker();
      const card = cards[focus ?? cards.length - 1];
      if (make === null || card === undefined) return [];
      const look = style();
      const keys = make.keys(card).map((key) => texts.cardKeys[key]);
      const verdict = verdictRows(make.verdict(card, look), columns).slice(0, VERDICT_ROWS);
      if (focus !== null) {
        // The keys are what the row is for: the title gives way.
        const hint = `   ${keys.join(" ")} ${texts.focusKeys}`;
        const room = Math.max(visibleWidth(card.label), columns - visibleWidth(hint) - 2);
        const title = cutToColumns(`${look.bold(card.label)} ${printable(card.title)}`, room);
        return [...verdict, cutToColumns(`${look.cyan("▌")} ${title}${hint}`, columns)];
      }
      if (card.printed !== null) return [];
      const hint = look.dim(cutToColumns(`  ${texts.cardHint} ${keys.join(" ")}`, columns));
      return keys.length === 0 ? verdict : [...verdict, hint];
    },
    settle,
    /** Updates the card to the current state of its jobs. */
    refresh(): void {
      for (const card of cards) maker()?.refresh(card);
    },
    noteMove,
    /** A line of its own, where the verdict of a moved job is history already or never was. */
    moveLine(facts: ActionFacts): readonly Block[] {
      noteMove(facts);
      const make = maker() as CardMaker;
      const [card] = holding(facts);
      if (card !== undefined && card.printed === null) return [];
      if (card !== undefined) card.printed = card.status;
      const label = facts.done.map(({ jobId }) => make.label(jobId)).join(" ");
      const line = facts.action === "undo" ? `↶ ${texts.takenBackLater(label)}` : `✓ ${texts.again(label)}`;
      const files = make.wordMove(facts, make.linesOf(facts));
      const row = [style().yellow(printable(line)), files].filter((part) => part !== "").join(" · ");
      return [{ render: (columns) => wrapColumns(`  ${row}`, columns) }];
    },
  };
}
