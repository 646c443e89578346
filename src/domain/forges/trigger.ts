/** Something that happened on an issue, PR or MR, from a webhook or from polling, forge by forge in one shape. */
export interface ForgeEvent {
  readonly kind:
    | "opened"
    | "assigned"
    | "unassigned"
    | "labeled"
    | "unlabeled"
    | "commented"
    | "reviewed"
    | "closed";
  /** The user who did it, according to the forge. */
  readonly actor: string;
  /** Of `assigned` and `unassigned`: whom. */
  readonly assignee?: string;
  /** Of `labeled` and `unlabeled`. */
  readonly label?: string;
  /** Of `opened`, `commented` and `reviewed`. */
  readonly text?: string;
  /** Of a pull: who opened it, by name or by number, whichever the forge tells. */
  readonly pullAuthor?: string | number;
  /** When, by the forge's clock, where it says so. */
  readonly at?: string;
}

interface Bot {
  readonly id: number;
  readonly login: string;
}

export type WantedAction =
  | { readonly do: "nothing"; readonly why: string }
  | { readonly do: "start" | "stop" | "pause" | "resume" | "tell" | "follow-up" };

const ORDER_WORDS = {
  stop: "stop",
  pause: "pause",
  resume: "resume",
  停止: "stop",
  一時停止: "pause",
  再開: "resume",
} as const;

/** The request in an event. Every answer but `nothing` requires an actor with write access, which the forge decides. */
export function readWantedAction(
  event: ForgeEvent,
  { bot: { login: bot, id }, label }: { readonly bot: Bot; readonly label: string },
): WantedAction {
  const ownPull = event.pullAuthor === id || isSameLogin(event.pullAuthor, bot);
  const nothing = (why: string): WantedAction => ({ do: "nothing", why });
  if (isSameLogin(event.actor, bot)) return nothing("the bot's own doing");
  switch (event.kind) {
    case "opened":
      return mentions(event.text ?? "", bot) ? { do: "start" } : nothing("not mentioned");
    case "assigned":
      return isSameLogin(event.assignee, bot) ? { do: "start" } : nothing("another person was assigned");
    case "unassigned":
      return isSameLogin(event.assignee, bot) ? { do: "stop" } : nothing("another person was unassigned");
    case "labeled":
      return isSameLogin(event.label, label) ? { do: "start" } : nothing("another label");
    case "unlabeled":
      return isSameLogin(event.label, label) ? { do: "stop" } : nothing("another label");
    case "closed":
      return { do: "stop" };
    // An order counts in any comment; a review of the bot's own pull request addresses the bot without naming it.
    case "reviewed":
    case "commented": {
      const text = event.text ?? "";
      const word = readOrder(text, bot);
      if (word !== null) return { do: word };
      if (mentions(text, bot)) return { do: ownPull ? "follow-up" : "start" };
      if (event.kind === "commented") return { do: "tell" };
      return ownPull ? { do: "follow-up" } : nothing("not the bot's pull");
    }
  }
}

/** The longest name of an account, the longest order, and the text around them. */
const LONGEST_ORDER = 300;

/** A comment that is nothing but the order, with or without the bot's name: `stop`, `@bot pause.` */
export function readOrder(text: string, bot: string): "stop" | "pause" | "resume" | null {
  const said = text.trim();
  if (said.length > LONGEST_ORDER) return null;
  const bare = said
    .replace(new RegExp(`^\\s*@${escapePattern(bot)}(?![\\w-])[,:、]?`, "i"), "")
    .trim()
    .replace(/^\//, "")
    .replace(/[.!。！]+$/, "")
    .toLowerCase();
  return Object.hasOwn(ORDER_WORDS, bare) ? ORDER_WORDS[bare as keyof typeof ORDER_WORDS] : null;
}

/** GitHub's comments end before it. Who writes more names the bot at its beginning. */
const LOOKED_AT = 100_000;

/** `@bot` as a word of its own, outside of code and quotations. */
export function mentions(text: string, bot: string): boolean {
  const prose = withoutFences(text.slice(0, LOOKED_AT))
    .replace(/`[^`\n]*`/g, "")
    .replace(/^[ \t]*>.*$/gm, "");
  return new RegExp(`(?<![\\w@/.-])@${escapePattern(bot)}(?![\\w-])`, "i").test(prose);
}

/** Line by line: a comment may come from an attacker, and a pattern over all of it could be made to search for minutes. */
function withoutFences(text: string): string {
  const kept: string[] = [];
  const held: string[] = [];
  let fence = "";
  for (const line of text.split("\n")) {
    if (fence === "") {
      fence = /^(?:`{3,}|~{3,})/.exec(line)?.[0] ?? "";
      (fence === "" ? kept : held).push(line);
    } else if (line.startsWith(fence)) {
      held.length = 0;
      fence = "";
    } else held.push(line);
  }
  return [...kept, ...held].join("\n");
}

function isSameLogin(a: unknown, b: string): boolean {
  return typeof a === "string" && a.toLowerCase() === b.toLowerCase();
}

export function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
