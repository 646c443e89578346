import { mapMarkdown } from "./map-markdown.ts";

/** What a person typed, out of what Slack sends: links and names are in angle brackets, three characters escaped. */
export function fromSlackText(text: string): string {
  return text
    .replace(/<([^<>]*)>/g, (_, inner: string) => {
      const [target = "", label] = inner.split("|");
      if (target.startsWith("@") || target.startsWith("#"))
        return label === undefined ? target : `${target[0]}${label}`;
      if (target.startsWith("!")) return `@${target.slice(1)}`;
      return target.startsWith("mailto:") ? (label ?? target.slice("mailto:".length)) : target;
    })
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
}

/** Markdown as replies are written, in Slack's own dialect. Code is left as it is; names and links call nobody. */
export function toMrkdwn(text: string): string {
  return mapMarkdown(text, {
    prose: proseToMrkdwn,
    span: escapeSlack,
    block: (code) => `\`\`\`\n${escapeSlack(code).replaceAll("```", "`\u200b``")}\n\`\`\``,
  });
}

function proseToMrkdwn(text: string): string {
  return escapeSlack(text)
    .replace(/^#{1,6} +(.+)$/gm, "*$1*")
    .replace(/\*\*([^*\n]+)\*\*/g, "*$1*")
    .replace(/\[([^\]\n]+)\]\((https?:\/\/[^\s)|]+)\)/g, "<$2|$1>")
    .replace(/^(\s*)[-*] /gm, "$1• ");
}

/** `<!channel>` and `<@U1>` in a text call nobody. */
export function escapeSlack(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
