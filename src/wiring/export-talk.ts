import { join } from "node:path";
import { readTalk, type TalkDeps, writeMarkdown } from "../application/chat/export-talk.ts";
import type { TalkForm } from "../application/ports/chat.ts";
import type { Locale } from "../domain/texts/locale.ts";
import { replaceFile } from "../infrastructure/platform/text-files.ts";

/** A conversation as the text of one file, secrets masked. Null: nothing was said in it. */
export async function exportTalk(
  deps: TalkDeps & { readonly locale: Locale },
  chatKey: string,
  form: TalkForm,
): Promise<string | null> {
  const talk = await readTalk(deps, chatKey, deps.locale);
  if (talk === null) return null;
  const text =
    form === "html"
      ? await (await import("../adapters/web/talk-page.ts")).talkPage(talk)
      : await writeMarkdown(talk);
  return deps.workspace.mask(text);
}

/** The same in a file of its own that only this user reads. */
export async function exportTalkToFile(
  deps: TalkDeps & { readonly locale: Locale; readonly home: string; readonly now: () => Date },
  chatKey: string,
  form: TalkForm,
): Promise<string | null> {
  const text = await exportTalk(deps, chatKey, form);
  if (text === null) return null;
  const time = deps.now().toISOString().replace(/[-:]/g, "").slice(0, 15);
  const file = join(deps.home, "exports", `${talkName(chatKey)}-${time}.${form}`);
  replaceFile(file, text);
  return file;
}

function talkName(chatKey: string): string {
  return chatKey.replace(/[^a-z0-9_-]+/gi, "-").slice(0, 80);
}
