/** Reads a descriptor to its end without a Node stream, whose set-up costs twenty milliseconds. */
export async function readDescriptor(
  descriptor: number,
  onBytes: (bytes: Uint8Array) => void,
): Promise<void> {
  const reader = Bun.file(descriptor).stream().getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    onBytes(value);
  }
}
