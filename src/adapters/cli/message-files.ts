import type { ImageStore, KeptImages } from "../../application/ports/chat.ts";
import type { CliProgram, OpenChatFolder, TerminalHost } from "./program.ts";

const IMAGE = "\\.(?:png|jpe?g|gif|webp)";
/**
 * `@picture.png`, `@"my picture.png"`; what a terminal types when a file is dropped on it: quoted, or with escaped blanks.
 * Longer paths are not looked for.
 */
const NAMED = new RegExp(
  [
    `@"([^"\\n]{1,1000}${IMAGE})"`,
    `@((?:\\\\.|[^\\s"'\\\\]){1,1000}${IMAGE})`,
    `'((?:file:\\/\\/|~?\\/)[^'\\n]{1,1000}${IMAGE})'`,
    `"((?:file:\\/\\/|~?\\/)[^"\\n]{1,1000}${IMAGE})"`,
    `(?<![^\\s(])((?:file:\\/\\/|~?\\/)(?:\\\\.|[^\\s"'\\\\]){1,1000}${IMAGE})`,
  ].join("|"),
  "giu",
);

/** The images that a message names by their paths, in order, each once. */
export function findImagePaths(text: string): readonly string[] {
  const paths = [...text.matchAll(NAMED)].map((found) => {
    const quoted = found[1] ?? found[3] ?? found[4];
    return quoted ?? (found[2] ?? found[5] ?? "").replace(/\\(.)/gu, "$1");
  });
  return [...new Set(paths)];
}

interface NamedImages {
  readonly store: Pick<ImageStore, "keep">;
  readonly chatKey: string;
  readonly text: string;
  /** The bytes of a regular file, by a path as it was typed; null where there is none. */
  readonly readFile: (path: string) => Uint8Array | null;
}

/** Stores the images that a message names; a path of no file stays a word. */
export async function keepNamedImages({ store, chatKey, text, readFile }: NamedImages): Promise<KeptImages> {
  const files = findImagePaths(text).flatMap((path) => {
    const bytes = readFile(path);
    return bytes === null ? [] : [{ name: path.replace(/^.*\//u, ""), bytes }];
  });
  return store.keep(chatKey, files);
}

/** The same for one message of the command line, relative to the current directory. */
export async function keepImagesOfMessage(
  program: Pick<CliProgram, "cwd" | "terminalHost">,
  { images, workspace }: Pick<OpenChatFolder, "images" | "workspace">,
  chatId: string,
  text: string,
): Promise<KeptImages> {
  if (findImagePaths(text).length === 0) return { ok: true, images: [] };
  const { readFile } = await program.terminalHost();
  return keepNamedImages({
    store: images,
    chatKey: `cli:${chatId}`,
    text,
    readFile: (path) => readFile(path, [program.cwd, workspace.root]),
  });
}

/** The machine's services, with images of the clipboard as files in memory. */
export interface PastingHost extends TerminalHost {
  /** Takes the image of the clipboard under a name that a message can contain. */
  pasteImage(): Promise<
    | { readonly ok: true; readonly name: string }
    | { readonly ok: false; readonly reason: "no-image" | "no-program" }
  >;
}

/** Images that were pasted and may still be in the line or in a message that waits. */
const MOST_PASTED = 20;

export function withPastedImages(host: TerminalHost): PastingHost {
  const pasted = new Map<string, Uint8Array>();
  let count = 0;
  return {
    ...host,
    readFile: (path, folders) => pasted.get(path) ?? host.readFile(path, folders),
    async pasteImage() {
      const image = await host.readClipboardImage();
      if (!(image instanceof Uint8Array)) return { ok: false, reason: image };
      count += 1;
      const name = `clipboard-${count}.png`;
      pasted.set(name, image);
      for (const oldest of [...pasted.keys()].slice(0, -MOST_PASTED)) pasted.delete(oldest);
      return { ok: true, name };
    },
  };
}
