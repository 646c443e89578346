/** Keeps head and tail of a long text and says how much is gone: an error is mostly at the end. */
export function capText(text: string, limitChars: number): string {
  if (text.length <= limitChars) return text;
  const half = Math.floor(limitChars / 2);
  const head = text.slice(0, half).toWellFormed();
  const tail = text.slice(text.length - half).toWellFormed();
  return `${head}\n… ${text.length - 2 * half} characters cut …\n${tail}`;
}
