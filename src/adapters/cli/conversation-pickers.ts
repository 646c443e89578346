import type { RewindMessage } from "../../domain/jobs/rewind-plan.ts";
import type { TerminalMessages } from "../../domain/texts/cli-terminal.ts";
import { localTime } from "../../domain/texts/format-text.ts";
import type { CardMaker } from "./conversation-cards.ts";
import type { LiveRows } from "./live-screen.ts";
import type { OpenedChat } from "./program.ts";
import { listRows } from "./terminal-input.ts";
import { cutToColumns, isKey, visibleWidth } from "./terminal-pi.ts";
import type { Style } from "./terminal-style.ts";

/** A list to choose from, with a search. */
export interface Picker {
  /** The message that was chosen; null: none; undefined: still choosing. */
  key(bytes: string): string | null | undefined;
  rows(columns: number, rows: number): LiveRows;
}

interface Choice {
  readonly label: string;
  readonly description: string;
  readonly message: string;
}

interface PickerSession {
  readonly opened: Extract<OpenedChat, { ok: true }>;
  readonly chatId: string;
  readonly maker: CardMaker;
}

const MOST_JOBS = 100;

/** Which bare commands open a list; the same commands are texts on every other channel. */
export function createPickers(
  { opened, maker, chatId }: PickerSession,
  texts: TerminalMessages,
  style: () => Style,
) {
  const open = (title: string, choices: readonly Choice[]) =>
    choices.length === 0 ? null : createPicker(title, choices, texts, style);
  async function listMessages(): Promise<readonly RewindMessage[]> {
    const { said = [] } = await opened.conversation.handle(
      { channel: "cli", chatId, userId: "cli", text: "/rewind" },
      { signal: new AbortController().signal },
    );
    const list = said.find((piece) => piece.kind === "say" && piece.name === "rewindList");
    return list?.kind === "say" ? (list.with[0] as readonly RewindMessage[]) : [];
  }
  return (text: string): Promise<Picker | null> | null => {
    switch (text) {
      case "/jobs": {
        const jobs = opened.workspace.archive.list().slice(-MOST_JOBS).reverse();
        return Promise.resolve(
          open(
            texts.picks.jobs,
            jobs.map((job) => ({
              label: `${maker.label(job.jobId)}  ${localTime(job.createdAt).slice(5, 16)}`,
              description: `${job.state} · ${job.title}`,
              message: `/diff ${job.jobId}`,
            })),
          ),
        );
      }
      case "/rewind":
        return listMessages().then((messages) =>
          open(
            texts.picks.rewind,
            messages.toReversed().map(({ number, at, text: said }) => ({
              label: `${number}  ${at}`,
              description: said,
              message: `/rewind ${number} --yes`,
            })),
          ),
        );
      default:
        return null;
    }
  };
}

function createPicker(
  title: string,
  choices: readonly Choice[],
  texts: TerminalMessages,
  style: () => Style,
): Picker {
  let wanted = "";
  let selected = 0;
  const found = () => {
    const words = wanted.toLowerCase().split(/\s+/);
    return choices.filter(({ label, description }) => {
      const text = `${label} ${description}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
  };
  return {
    key(bytes) {
      const items = found();
      if (isKey(bytes, "escape", "ctrl+c")) return null;
      if (isKey(bytes, "enter")) return items[selected]?.message;
      if (isKey(bytes, "up", "ctrl+p")) selected = Math.max(0, selected - 1);
      else if (isKey(bytes, "down", "ctrl+n"))
        selected = Math.min(Math.max(0, items.length - 1), selected + 1);
      else if (isKey(bytes, "pageDown")) selected = Math.min(Math.max(0, items.length - 1), selected + 10);
      else if (isKey(bytes, "pageUp")) selected = Math.max(0, selected - 10);
      else if (isKey(bytes, "backspace")) {
        wanted = [...wanted].slice(0, -1).join("");
        selected = 0;
      } else if (/^[^\x00-\x1f\x7f]+$/.test(bytes)) {
        wanted += bytes;
        selected = 0;
      }
      return undefined;
    },
    rows(columns, rows) {
      const look = style();
      const items = found();
      const head = `${look.cyan("›")} ${look.bold(title)}  ${wanted}`;
      const list =
        items.length === 0
          ? [look.dim(`    ${texts.noneSuch}`)]
          : listRows(items, selected, columns, look, Math.max(3, Math.min(10, rows - 6)));
      return {
        rows: [cutToColumns(head, columns), ...list, look.dim(cutToColumns(`  ${texts.pickKeys}`, columns))],
        cursor: { row: 0, column: Math.min(columns - 1, visibleWidth(head)) },
      };
    },
  };
}
