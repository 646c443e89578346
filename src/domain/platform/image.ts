/** The kinds of images that every provider takes. */
export type ImageType = "image/png" | "image/jpeg" | "image/gif" | "image/webp";

/** Raw bytes, 3.5 MiB: their Base64 stays below the 5 MiB that the strictest provider takes. */
export const MOST_IMAGE_BYTES = 3_670_016;
export const MOST_IMAGES = 10;

/** Why a file cannot be shown to a model. */
export type ImageTrouble =
  | { readonly kind: "not-an-image"; readonly name: string }
  | { readonly kind: "too-large"; readonly name: string; readonly sizeBytes: number }
  | { readonly kind: "too-many"; readonly count: number };

/** Each kind by how its bytes begin: a name or a declared type proves nothing. */
const SIGNATURES: readonly (readonly [ImageType, RegExp])[] = [
  ["image/png", /^\x89PNG\r\n\x1a\n./s],
  ["image/jpeg", /^\xff\xd8\xff./s],
  ["image/gif", /^GIF8[79]a./s],
  ["image/webp", /^RIFF.{4}WEBP./s],
];

/** Null for any other bytes. */
export function imageTypeOf(bytes: Uint8Array): ImageType | null {
  const head = Buffer.from(bytes.subarray(0, 16)).toString("latin1");
  return SIGNATURES.find(([, begins]) => begins.test(head))?.[0] ?? null;
}

export type ReadImage =
  | { readonly ok: true; readonly mediaType: ImageType }
  | { readonly ok: false; readonly trouble: ImageTrouble };

export function readImage(name: string, bytes: Uint8Array): ReadImage {
  const mediaType = imageTypeOf(bytes);
  if (mediaType === null) return { ok: false, trouble: { kind: "not-an-image", name } };
  if (bytes.length > MOST_IMAGE_BYTES)
    return { ok: false, trouble: { kind: "too-large", name, sizeBytes: bytes.length } };
  return { ok: true, mediaType };
}

/** How a text names an image that is sent with it. */
export function imageMark(name: string): string {
  return `[image: ${name.replaceAll(/[\x00-\x1f\x7f[\]]/g, " ").slice(0, 200)}]`;
}
