/** The few kinds of entries that are put into containers. Paths are relative, without `..`, below 100 bytes. */
export type TarEntry =
  | {
      readonly kind: "folder";
      readonly path: string;
      readonly mode: number;
      readonly uid: number;
      readonly gid: number;
    }
  | {
      readonly kind: "file";
      readonly path: string;
      readonly mode: number;
      readonly uid: number;
      readonly gid: number;
      readonly size: number;
      readonly content: Uint8Array | (() => AsyncIterable<Uint8Array>);
    };

const BLOCK = 512;

/** An archive in the ustar format, made as it is read. */
export function tarStream(entries: readonly TarEntry[]): ReadableStream<Uint8Array> {
  const chunks = tarChunks(entries);
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: () => void chunks.return(undefined),
  });
}

/** The same at once, for what is small. */
export async function tarBytes(entries: readonly TarEntry[]): Promise<Uint8Array> {
  return Buffer.concat(await Array.fromAsync(tarChunks(entries)));
}

async function* tarChunks(entries: readonly TarEntry[]): AsyncGenerator<Uint8Array, void> {
  for (const entry of entries) {
    yield header(entry);
    if (entry.kind === "folder") continue;
    if (entry.content instanceof Uint8Array) yield entry.content;
    else yield* entry.content();
    const over = entry.size % BLOCK;
    if (over > 0) yield new Uint8Array(BLOCK - over);
  }
  yield new Uint8Array(2 * BLOCK);
}

function header(entry: TarEntry): Uint8Array {
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, at: number, width: number) =>
    block.write(`${value.toString(8).padStart(width - 1, "0")}\0`, at, "latin1");
  block.write(entry.kind === "folder" ? `${entry.path}/` : entry.path, 0, 100, "utf8");
  octal(entry.mode, 100, 8);
  octal(entry.uid, 108, 8);
  octal(entry.gid, 116, 8);
  octal(entry.kind === "folder" ? 0 : entry.size, 124, 12);
  octal(0, 136, 12);
  block.write("        ", 148, "latin1");
  block.write(entry.kind === "folder" ? "5" : "0", 156, "latin1");
  block.write("ustar\x0000", 257, "latin1");
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return block;
}
