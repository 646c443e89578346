import type { Attachment } from "../../application/ports/channel.ts";

/** A body that comes a byte at a time is given up after this; the size is the server's business. */
const READ_MS = 30_000;

export class TooSlow extends Error {
  constructor() {
    super("the body did not arrive in time");
  }
}

/** The whole body as a text; rejects with `TooSlow` when it drips. */
export function readBodyText(request: Request): Promise<string> {
  return inTime(request.text());
}

export interface SentForm {
  readonly fields: URLSearchParams;
  readonly files: readonly File[];
}

/** A form of ours, with files or without; what is neither is an empty one. */
export async function readForm(request: Request): Promise<SentForm> {
  if (!request.headers.get("content-type")?.startsWith("multipart/form-data"))
    return { fields: new URLSearchParams(await readBodyText(request)), files: [] };
  const fields = new URLSearchParams();
  const files: File[] = [];
  const sent = (await inTime(request.formData()).catch((error: unknown) => {
    if (error instanceof TooSlow) throw error;
    return [];
  })) as Iterable<[string, string | File]>;
  for (const [name, value] of sent)
    if (typeof value === "string") fields.append(name, value);
    // A field that was left empty arrives as a file without a name.
    else if (value.name) files.push(value);
  return { fields, files };
}

async function inTime<T>(reading: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TooSlow()), READ_MS);
  });
  try {
    return await Promise.race([reading, late]);
  } finally {
    clearTimeout(timer);
  }
}

const MOST_FILES = 10;
const MOST_TEXT_BYTES = 1024 ** 2;
/** Of a name only what a person reads: no folders, no line breaks. */
const attachmentName = (name: string) =>
  (name.split(/[\\/]/).at(-1) ?? "").replace(/[\x00-\x1f\x7f]/g, "").slice(0, 200);

/** Files of a form. Text is kept to be read; of others, and of very long ones, name and size. */
export async function readAttachments(files: readonly File[]): Promise<Attachment[]> {
  return Promise.all(
    files.slice(0, MOST_FILES).map(async (file): Promise<Attachment> => {
      const text =
        file.size > MOST_TEXT_BYTES ? null : decodeAttachment(new Uint8Array(await file.arrayBuffer()));
      return {
        name: attachmentName(file.name),
        mediaType: file.type || "application/octet-stream",
        sizeBytes: file.size,
        ...(text !== null && { text }),
      };
    }),
  );
}

function decodeAttachment(bytes: Uint8Array): string | null {
  if (bytes.includes(0)) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}
