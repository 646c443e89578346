import type { Attachment } from "../../application/ports/channel.ts";

const MOST_FILES = 10;
const MOST_TEXT_BYTES = 1024 ** 2;
/** Of a name only what a person reads: no folders, no line breaks. */
const nameOf = (name: string) =>
  (name.split(/[\\/]/).at(-1) ?? "").replace(/[\x00-\x1f\x7f]/g, "").slice(0, 200);

/** Files of a form. Text is kept to be read; of others, and of very long ones, name and size. */
export async function attachmentsOf(files: readonly File[]): Promise<Attachment[]> {
  return Promise.all(
    files.slice(0, MOST_FILES).map(async (file): Promise<Attachment> => {
      const text = file.size > MOST_TEXT_BYTES ? null : decode(new Uint8Array(await file.arrayBuffer()));
      return {
        name: nameOf(file.name),
        mediaType: file.type || "application/octet-stream",
        sizeBytes: file.size,
        ...(text !== null && { text }),
      };
    }),
  );
}

function decode(bytes: Uint8Array): string | null {
  if (bytes.includes(0)) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}
