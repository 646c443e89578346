import { giveWay } from "../../application/platform/give-way.ts";
import type { Webhook } from "../../application/ports/platform.ts";
import type { Attachment } from "../../application/ports/serve.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { type ImageTrouble, MOST_IMAGES, readImage } from "../../domain/platform/image.ts";
import { readObject } from "../../domain/platform/json-members.ts";

export interface SentForm {
  readonly fields: URLSearchParams;
  readonly files: readonly File[];
}

/** No form of ours has more than a few dozen. */
const MOST_FIELDS = 1_000;
/** A message and a patch have limits of their own; everything else is a setting or a name. */
const LONGEST_FIELD = 100_000;
const LONG_FIELDS: ReadonlySet<string> = new Set(["text", "patch"]);

/** Parts of a form with files: its fields, and more files than a message takes. */
const MOST_PARTS = 200;
/** The field is the first one in each of our forms. */
const CSRF_FIELD = /^--[^\r\n]{1,200}\r\n[^\r\n]*;\s*name="csrf"\r\n\r\n([^\r\n]{1,200})\r\n/i;

/** A form with files is read only after it has shown that a page of ours made it; null where it has not. */
export async function readForm(request: Request, csrf: string): Promise<SentForm | Response | null> {
  const form = await readFields(request, csrf);
  if (form === "foreign") return null;
  if (form === null || form.fields.size > MOST_FIELDS) return refuseBody(413);
  if (form.fields.get("csrf") !== csrf) return null;
  for (const [name, value] of form.fields)
    if (value.length > LONGEST_FIELD && !LONG_FIELDS.has(name)) return refuseBody(413);
  return form;
}

/** Null where there are too many to be read. */
async function readFields(request: Request, csrf: string): Promise<SentForm | "foreign" | null> {
  if (!request.headers.get("content-type")?.startsWith("multipart/form-data")) {
    const text = await request.text();
    let at = 0;
    for (let count = 0; at !== -1; count += 1) {
      if (count > MOST_FIELDS) return null;
      at = text.indexOf("&", at + 1);
    }
    return { fields: new URLSearchParams(text), files: [] };
  }
  const body = Buffer.from(await request.arrayBuffer());
  if (CSRF_FIELD.exec(body.toString("latin1", 0, 1_000))?.[1] !== csrf) return "foreign";
  const boundary = body.subarray(0, body.indexOf("\r\n"));
  for (let at = 0, parts = 0; at !== -1; parts += 1) {
    if (parts > MOST_PARTS) return null;
    at = body.indexOf(boundary, at + boundary.length);
  }
  const fields = new URLSearchParams();
  const files: File[] = [];
  const whole = new Response(body, {
    headers: { "content-type": request.headers.get("content-type") ?? "" },
  });
  const sent = (await whole.formData().catch(() => [])) as Iterable<[string, string | File]>;
  for (const [name, value] of sent)
    if (typeof value === "string") fields.append(name, value);
    // A field that was left empty arrives as a file without a name.
    else if (value.name) files.push(value);
  return { fields, files };
}

const MOST_FILES = 10;
/** Of all files of a message together: more than most models read at once. */
const MOST_TEXT_BYTES = 1024 ** 2;
/** Longer than any path of a file. */
const LONGEST_NAME = 4_096;
const LONGEST_TYPE = 200;

/** Of a name only what a person reads: no folders, no line breaks. */
const attachmentName = (name: string) =>
  (name.slice(-LONGEST_NAME).split(/[\\/]/).at(-1) ?? "").replace(/[\x00-\x1f\x7f]/g, "").slice(0, 200);

export type ReadAttachments =
  | { readonly ok: true; readonly attachments: readonly Attachment[] }
  | { readonly ok: false; readonly trouble: ImageTrouble };

/** Images are for the models' eyes, text is read, others are named. An image that no model takes refuses the whole. */
export async function readAttachments(files: readonly File[]): Promise<ReadAttachments> {
  const attachments: Attachment[] = [];
  let textBytes = 0;
  for (const file of files.slice(0, MOST_FILES)) {
    await giveWay();
    const name = attachmentName(file.name);
    const mediaType = file.type.slice(0, LONGEST_TYPE) || "application/octet-stream";
    const described = { name, mediaType, sizeBytes: file.size };
    const bytes = new Uint8Array(await file.arrayBuffer());
    const image = readImage(name, bytes);
    const isMeant = /^image\/(?!svg)/.test(file.type) || image.ok || image.trouble.kind === "too-large";
    if (isMeant && !image.ok) return image;
    const text = image.ok || textBytes + file.size > MOST_TEXT_BYTES ? null : decodeAttachment(bytes);
    if (text !== null) textBytes += file.size;
    attachments.push({
      ...described,
      ...(image.ok && { mediaType: image.mediaType, bytes }),
      ...(text !== null && { text }),
    });
  }
  return { ok: true, attachments };
}

function decodeAttachment(bytes: Uint8Array): string | null {
  if (bytes.includes(0)) return null;
  return attemptOr(null, () => new TextDecoder("utf-8", { fatal: true }).decode(bytes));
}

export type ReadImageList =
  | ReadAttachments
  /** It is not a list of `{name, data}`. */
  | { readonly ok: false; readonly trouble: { readonly kind: "not-a-list" } };

/** `[{name, data}]`, each in base64, as the files of a form are read. */
export async function readImageList(given: unknown): Promise<ReadImageList> {
  const notAList = { ok: false, trouble: { kind: "not-a-list" } } as const;
  if (!Array.isArray(given)) return notAList;
  if (given.length > MOST_IMAGES) return { ok: false, trouble: { kind: "too-many", count: given.length } };
  const files: File[] = [];
  for (const one of given as readonly unknown[]) {
    const { name = "image", data } = readObject(one);
    if (typeof name !== "string" || name.length > LONGEST_NAME || typeof data !== "string") return notAList;
    const bytes = await decodeBase64(data);
    if (bytes === null) return notAList;
    files.push(new File([bytes], name || "image", { type: "image/*" }));
  }
  return readAttachments(files);
}

/** Characters decoded at once: other requests wait for a few milliseconds. */
const PIECE_CHARACTERS = 256 * 1024;

/** Decodes Base64, ignoring white space, in pieces so that other requests are served in between; null if it is invalid. */
async function decodeBase64(data: string): Promise<Uint8Array<ArrayBuffer> | null> {
  const text = data.trimEnd();
  const decoded: Uint8Array[] = [];
  let [rest, length] = ["", 0];
  for (let at = 0; at < text.length; at += PIECE_CHARACTERS) {
    await giveWay();
    const bare = rest + text.slice(at, at + PIECE_CHARACTERS).replace(/\s+/g, "");
    const isLast = at + PIECE_CHARACTERS >= text.length;
    // Four characters are three bytes; what begins the next four is decoded with them.
    const whole = isLast ? bare : bare.slice(0, bare.length - (bare.length % 4));
    if (!(isLast ? /^[A-Za-z0-9+/]+={0,2}$/ : /^[A-Za-z0-9+/]*$/).test(whole)) return null;
    rest = bare.slice(whole.length);
    const piece = Buffer.from(whole, "base64");
    decoded.push(piece);
    length += piece.length;
  }
  return length === 0 ? null : Buffer.concat(decoded);
}

export interface BodyLimits {
  /** The limit for all bodies together that are being read or worked on. */
  readonly budgetBytes: number;
  readonly shareBytes: number;
  /** How many may be read at once: the runtime allocates buffers for each, even for a short one. */
  readonly mostOpen: number;
  readonly shareOpen: number;
  readonly readMs: number;
}

type ReadBody = Uint8Array<ArrayBuffer> | "too-large" | "too-slow" | "busy";

const REFUSAL_STATUS = { "too-large": 413, "too-slow": 408, busy: 503 } as const;
const RETRY_SECONDS = "10";

/** Reads bodies within limits; `use` gets the request with its body in memory. */
export type BodyGate = (
  request: Request,
  source: string,
  limitBytes: number,
  use: (request: Request) => Promise<Response>,
) => Promise<Response>;

/**
 * Accepts bodies. A declared length is validated and reserved before a byte of it is read; the body is read
 * up to its limit and within one budget for all, so that no number of senders can fill the memory, and no
 * single one can use up the share of others. The reservation is held until the request is answered.
 */
export function createBodyGate(limits: BodyLimits): BodyGate {
  const { budgetBytes, shareBytes, mostOpen, shareOpen, readMs } = limits;
  const bytes = createShares(budgetBytes, shareBytes);
  const open = createShares(mostOpen, shareOpen);

  async function read(
    body: ReadableStream<Uint8Array>,
    limitBytes: number,
    take: (length: number) => boolean,
  ): Promise<ReadBody> {
    const reader = body.getReader();
    const late = Promise.withResolvers<"too-slow">();
    const timer = setTimeout(() => late.resolve("too-slow"), readMs);
    const chunks: Uint8Array[] = [];
    let length = 0;
    const end = (why: Exclude<ReadBody, Uint8Array>) => {
      void reader.cancel().catch(() => {});
      return why;
    };
    try {
      for (;;) {
        const next = await Promise.race([reader.read(), late.promise]);
        if (next === "too-slow") return end(next);
        if (next.done) return Buffer.concat(chunks);
        length += next.value.length;
        if (length > limitBytes) return end("too-large");
        if (!take(length)) return end("busy");
        chunks.push(next.value);
      }
    } finally {
      clearTimeout(timer);
    }
  }

  return async (request, source, limitBytes, use) => {
    if (request.body === null) return use(request);
    const announced = Number(request.headers.get("content-length") ?? 0);
    if (!(announced <= limitBytes)) return refuseBody(413);
    if (!open.take(source, 1)) return refuseBody(503);
    let taken = 0;
    const take = (length: number) => {
      if (length <= taken) return true;
      if (!bytes.take(source, length - taken)) return false;
      taken = length;
      return true;
    };
    try {
      let body: ReadBody;
      try {
        body = take(announced) ? await read(request.body, limitBytes, take) : "busy";
      } finally {
        open.give(source, 1);
      }
      if (typeof body === "string") return refuseBody(REFUSAL_STATUS[body]);
      const { method, headers, url, signal } = request;
      return await use(new Request(url, { method, headers, body, signal }));
    } finally {
      bytes.give(source, taken);
    }
  };
}

/** The reserved parts of one budget, in total and per source. */
function createShares(budget: number, share: number) {
  const held = { all: 0 };
  const heldBy = new Map<string, number>();
  return {
    take(source: string, amount: number): boolean {
      const own = (heldBy.get(source) ?? 0) + amount;
      if (held.all + amount > budget || own > share) return false;
      held.all += amount;
      heldBy.set(source, own);
      return true;
    },
    give(source: string, amount: number): void {
      held.all -= amount;
      const own = (heldBy.get(source) ?? 0) - amount;
      if (own <= 0) heldBy.delete(source);
      else heldBy.set(source, own);
    },
  };
}

/** Services name who signed; without that nothing of their body is read. */
export async function answerWebhook(
  gate: BodyGate,
  { signedBy, limitBytes, answer }: Webhook,
  request: Request,
  source: string,
): Promise<Response> {
  if ((request.headers.get(signedBy) ?? "") === "") return refuseBody(401);
  return gate(request, source, limitBytes, answer);
}

/** The connection ends with it: what the other side still wants to send is not waited for. */
function refuseBody(status: number): Response {
  const headers = { connection: "close", ...(status === 503 && { "retry-after": RETRY_SECONDS }) };
  return new Response(null, { status, headers });
}
