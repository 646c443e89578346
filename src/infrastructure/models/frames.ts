/** A server that never ends a line must not fill the memory. */
const LONGEST_LINE = 32 * 1024 * 1024;

export class FrameTooLong extends Error {}

/** What one chunk of bytes completed. `torn`: the stream ended inside this one. */
export interface Batch {
  readonly frames: readonly string[];
  readonly torn?: string;
}

/** Lines of a stream, without their ends. A character may be split over chunks, a line over many of them. */
async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Batch> {
  const decoder = new TextDecoder();
  let parts: string[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    const text = decoder.decode(chunk, { stream: true });
    const last = text.lastIndexOf("\n");
    if (last === -1) {
      size += text.length;
      if (size > LONGEST_LINE) throw new FrameTooLong();
      parts.push(text);
      // No line is complete, but the reader must see that something came.
      yield { frames: [] };
      continue;
    }
    const lines = (parts.join("") + text.slice(0, last)).split("\n");
    parts = [text.slice(last + 1)];
    size = text.length - last - 1;
    yield { frames: lines.map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line)) };
  }
  const rest = parts.join("") + decoder.decode();
  if (rest.trim() !== "") yield { frames: [], torn: rest };
}

/** NDJSON. */
export async function* lineFrames(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Batch> {
  for await (const { frames, torn } of linesOf(chunks)) {
    const filled = frames.filter((line) => line.trim() !== "");
    yield torn === undefined ? { frames: filled } : { frames: filled, torn };
  }
}

/** Server-sent events: the data of each; names and comments do not matter, data says what it is. */
export async function* eventFrames(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Batch> {
  let data: string[] = [];
  const take = (line: string) => {
    if (line.startsWith("data:")) data.push(line.slice(line.charAt(5) === " " ? 6 : 5));
  };
  for await (const { frames: lines, torn } of linesOf(chunks)) {
    const frames: string[] = [];
    for (const line of lines) {
      take(line);
      if (line !== "" || data.length === 0) continue;
      frames.push(data.join("\n"));
      data = [];
    }
    if (torn !== undefined) take(torn);
    yield { frames };
  }
  if (data.length > 0) yield { frames: [], torn: data.join("\n") };
}

/** A server that does not stream: its whole answer is one frame. */
export async function* wholeFrame(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Batch> {
  const decoder = new TextDecoder();
  const parts: string[] = [];
  for await (const chunk of chunks) {
    parts.push(decoder.decode(chunk, { stream: true }));
    yield { frames: [] };
  }
  yield { frames: [], torn: parts.join("") + decoder.decode() };
}
