/** Markdown as replies are written, in the few marks of HTML that Telegram reads. */
export function toTelegramHtml(text: string): string {
  return text
    .split(/(^(?:`{3,}|~{3,})[^\n]*\n[\s\S]*?^(?:`{3,}|~{3,}) *$|`[^`\n]+`)/m)
    .map((part, i) => (i % 2 === 1 ? code(part) : prose(part)))
    .join("");
}

function prose(text: string): string {
  return escaped(text)
    .replace(/^#{1,6} +(.+)$/gm, "<b>$1</b>")
    .replace(/\*\*([^*\n]+)\*\*/g, "<b>$1</b>")
    .replace(/\[([^\]\n]+)\]\((https?:\/\/[^\s)"]+)\)/g, '<a href="$2">$1</a>')
    .replace(/^(\s*)[-*] /gm, "$1• ");
}

function code(text: string): string {
  const fenced = /^(?:`{3,}|~{3,})[^\n]*\n([\s\S]*?)\n?^(?:`{3,}|~{3,}) *$/m.exec(text);
  if (fenced === null) return `<code>${escaped(text.slice(1, -1))}</code>`;
  return `<pre>${escaped(fenced[1] ?? "")}</pre>`;
}

function escaped(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
