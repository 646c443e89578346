import { mapMarkdown } from "./map-markdown.ts";

/** Markdown as replies are written, in the few marks of HTML that Telegram reads. */
export function toTelegramHtml(text: string): string {
  return mapMarkdown(text, {
    prose: proseToHtml,
    span: (code) => `<code>${escapeHtml(code.slice(1, -1))}</code>`,
    block: (code) => `<pre>${escapeHtml(code)}</pre>`,
  });
}

function proseToHtml(text: string): string {
  return escapeHtml(text)
    .replace(/^#{1,6} +(.+)$/gm, "<b>$1</b>")
    .replace(/\*\*([^*\n]+)\*\*/g, "<b>$1</b>")
    .replace(/\[([^\]\n]+)\]\((https?:\/\/[^\s)"]+)\)/g, '<a href="$2">$1</a>')
    .replace(/^(\s*)[-*] /gm, "$1• ");
}

function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
