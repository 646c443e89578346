import type { Webhook } from "../../application/ports/platform.ts";
import type { Attachment } from "../../application/ports/serve.ts";

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

export interface UnsignedOptions {
  /** What all bodies that nobody vouches for yet may hold together. */
  readonly budgetBytes: number;
  /** What those of one source may hold of it. */
  readonly shareBytes: number;
  /** How long one of them may take. */
  readonly readMs: number;
}

type UnsignedBody = Uint8Array<ArrayBuffer> | "too-large" | "too-slow" | "busy";

const REFUSAL_STATUS = { "too-large": 413, "too-slow": 408, busy: 503 } as const;
const RETRY_SECONDS = "10";

/**
 * Takes in what services post. Headers and length are judged before a byte of the body is read; the body is read up to
 * its own limit and within one budget for all, so that no number of strangers can fill the memory, and no single one can
 * use up what others need.
 */
export function createUnsigned({ budgetBytes, shareBytes, readMs }: UnsignedOptions) {
  const held = { bytes: 0 };
  const heldBy = new Map<string, number>();

  function fits(source: string, bytes: number): boolean {
    return held.bytes + bytes <= budgetBytes && (heldBy.get(source) ?? 0) + bytes <= shareBytes;
  }

  function hold(source: string, bytes: number): void {
    held.bytes += bytes;
    const now = (heldBy.get(source) ?? 0) + bytes;
    if (now === 0) heldBy.delete(source);
    else heldBy.set(source, now);
  }

  async function read(
    request: Request,
    limitBytes: number,
    take: (bytes: number) => boolean,
  ): Promise<UnsignedBody> {
    if (request.body === null) return new Uint8Array();
    const reader = request.body.getReader();
    const late = Promise.withResolvers<"too-slow">();
    const timer = setTimeout(() => late.resolve("too-slow"), readMs);
    const chunks: Uint8Array[] = [];
    let length = 0;
    const end = (why: Exclude<UnsignedBody, Uint8Array>) => {
      void reader.cancel().catch(() => {});
      return why;
    };
    try {
      for (;;) {
        const next = await Promise.race([reader.read(), late.promise]);
        if (next === "too-slow") return end(next);
        if (next.done) return joinChunks(chunks, length);
        length += next.value.length;
        if (length > limitBytes) return end("too-large");
        if (!take(next.value.length)) return end("busy");
        chunks.push(next.value);
      }
    } finally {
      clearTimeout(timer);
    }
  }

  return async (
    { signedBy, limitBytes, answer }: Webhook,
    request: Request,
    source: string,
  ): Promise<Response> => {
    if ((request.headers.get(signedBy) ?? "") === "") return refuseBody(401);
    const told = Number(request.headers.get("content-length") ?? 0);
    if (!(told <= limitBytes)) return refuseBody(413);
    if (!fits(source, told)) return refuseBody(503);
    let taken = 0;
    const take = (bytes: number) => {
      if (!fits(source, bytes)) return false;
      taken += bytes;
      hold(source, bytes);
      return true;
    };
    try {
      const body = await read(request, limitBytes, take);
      if (typeof body === "string") return refuseBody(REFUSAL_STATUS[body]);
      const { method, headers, url } = request;
      return await answer(new Request(url, { method, headers, body }));
    } finally {
      hold(source, -taken);
    }
  };
}

/** The connection ends with it: what the other side still wants to send is not waited for. */
function refuseBody(status: number): Response {
  const headers = { connection: "close", ...(status === 503 && { "retry-after": RETRY_SECONDS }) };
  return new Response(null, { status, headers });
}

function joinChunks(chunks: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}
