import type { Notice } from "./context.ts";

/** What came of a button, shown once on the page that follows it. */
export interface Flashes {
  /** A query that brings it back. */
  keep(notice: Notice): string;
  take(id: string | undefined): Notice | undefined;
}

const MOST = 200;

export function createFlashes(random: (bytes: number) => Uint8Array): Flashes {
  const notices = new Map<string, Notice>();
  return {
    keep(notice) {
      const id = Buffer.from(random(9)).toString("base64url");
      notices.set(id, notice);
      if (notices.size > MOST) notices.delete(notices.keys().next().value as string);
      return `flash=${id}`;
    },
    take(id) {
      const notice = id === undefined ? undefined : notices.get(id);
      if (id !== undefined) notices.delete(id);
      return notice;
    },
  };
}
