import type { Viewer } from "../../application/serve/access.ts";
import type { Messages } from "../../domain/texts/jobs.ts";
import type { ConsoleMessages } from "../../domain/texts/web.ts";
import type { Markup } from "./safe-html.ts";

export type Theme = "auto" | "light" | "dark";

/** An entry of the navigation. */
export interface Section {
  readonly address: string;
  readonly icon: Markup;
  label(t: ConsoleMessages): string;
  /** The entry is hidden from other users, and its addresses refuse them. */
  readonly operatorsOnly?: boolean;
  /** On a phone the others are under "more". */
  readonly first?: boolean;
}

/** The viewer of a page, and their preferences. */
export interface PageContext {
  /** The navigation of this viewer. */
  readonly sections: readonly Section[];
  readonly t: ConsoleMessages;
  /** The words of the Worker, for results. */
  readonly words: Messages;
  readonly viewer: Viewer;
  readonly csrf: string;
  readonly theme: Theme;
  readonly demo: boolean;
  /** The address that opens a file of the workspace in the editor that runs here; null: none does, or the viewer is elsewhere. */
  readonly openIn: ((path: string, line: number) => string) | null;
  /** Path and query, to come back to. */
  readonly here: string;
  readonly timezone: string;
  readonly now: Date;
  readonly style: string;
  readonly script: string;
  /** The outcome of the last button, shown once. */
  readonly notice: Notice | undefined;
}

export interface Notice {
  readonly ok: boolean;
  readonly text: string;
  /** The job can be taken back by force. */
  readonly offerForce?: boolean;
  /** Numbers of the jobs that can be taken back together instead. */
  readonly together?: readonly number[];
  /** The part of the page that it belongs to; without one it is shown at the top. */
  readonly at?: string;
  /** The fields of a refused form, so that the user need not type them again. */
  readonly typed?: Readonly<Record<string, string>>;
}

export type Flashes = ReturnType<typeof createFlashes>;

const MOST = 200;

export function createFlashes(random: (bytes: number) => Uint8Array) {
  const notices = new Map<string, Notice>();
  return {
    /** A query that restores it. */
    keep(notice: Notice): string {
      const id = Buffer.from(random(9)).toString("base64url");
      notices.set(id, notice);
      if (notices.size > MOST) notices.delete(notices.keys().next().value as string);
      return `flash=${id}`;
    },
    take(id: string): Notice | undefined {
      const notice = notices.get(id);
      notices.delete(id);
      return notice;
    },
  };
}
