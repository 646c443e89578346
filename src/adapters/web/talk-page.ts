import type { TalkDocument } from "../../application/ports/chat.ts";
import { localTime } from "../../domain/texts/format-text.ts";
import { consoleMessagesFor } from "../../domain/texts/web.ts";
import { fileDiffs, fileDiffView } from "./diff-view.ts";
import { statusTone } from "./job-view.ts";
import { markdown } from "./markdown.ts";
import { html, type Markup, STYLE, seal, visible } from "./markup.ts";

/** The page may load and run nothing, regardless of the conversation's contents. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/** A conversation as one file: the console's own look, without a script and without any other file. */
export async function talkPage({ title, locale, turns }: TalkDocument): Promise<string> {
  const t = consoleMessagesFor(locale);
  const parts: Markup[] = [];
  for (const { who, role, at, text, jobs } of turns) {
    const meta = html`<p class="meta">${visible(who)} · ${localTime(at)}</p>`;
    if (role === "user") {
      parts.push(html`<div class="said"><div class="bubble">${visible(text)}</div>${meta}</div>`);
      continue;
    }
    const cards: Markup[] = [];
    for (const { verdict, status, title: name, facts, differences } of jobs) {
      const files = await fileDiffs(differences());
      cards.push(html`<section class="job-card ${statusTone(status)}"><header><span class="state ${status}">${verdict}</span><strong class="title">${visible(name)}</strong></header>
${facts.length > 0 && html`<pre class="output wrap">${visible(facts.join("\n"))}</pre>`}${files.map((file) => fileDiffView(t, file, "inline"))}</section>`);
    }
    parts.push(
      html`<div class="reply">${seal(who)}<div class="body"><div class="text">${markdown(text)}</div>${cards}${meta}</div></div>`,
    );
  }
  const head = html`<!doctype html>
<html lang="${locale}" data-theme="auto">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${visible(title)}</title>
`;
  const body = html`</head>
<body>
<main id="content" class="talk"><h1>${visible(title)}</h1>
<div class="spoken">${parts}</div></main>
</body>
</html>
`;
  return `${head}<style>\n${STYLE}</style>\n${body}`;
}
