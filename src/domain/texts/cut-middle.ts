/** Head and tail of a long text, and how much is missing between them. */
export function cutMiddle(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const half = Math.floor(limit / 2);
  const head = text.slice(0, half).toWellFormed();
  const tail = text.slice(-half).toWellFormed();
  return `${head}\n… [${text.length - 2 * half} characters cut] …\n${tail}`;
}
