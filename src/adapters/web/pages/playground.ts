import type { ParseResult } from "../../../domain/patch/parse-error.ts";
import type { PageContext } from "../context.ts";
import { html, type Markup } from "../markup.ts";
import { csrfField } from "../form.ts";
import { page } from "../layout.ts";
import { PATCH_EXAMPLES } from "./patch-examples.ts";
import { commandLine } from "../job-view.ts";
import { visible } from "../visible.ts";
import type { Notice } from "../context.ts";

export interface PlaygroundView {
  readonly patch: string;
  readonly parsed: ParseResult | null;
  readonly atomic: boolean;
  readonly notice?: Notice;
}

export function playgroundPage(context: PageContext, view: PlaygroundView): Markup {
  const { t } = context;
  return page(context, {
    title: t.playgroundTitle,
    section: "playground",
    body: html`<h1>${t.playgroundTitle}</h1><p class="lead">${t.playgroundIntro}</p>
<p class="examples-line"><span>${t.examples}:</span> ${Object.keys(PATCH_EXAMPLES).map((name) => html`<a class="chip" href="/playground?example=${name}">${name}</a> `)}</p>
<form method="post" action="/playground" class="playground">${csrfField(context)}
<label for="patch">${t.patchLabel}</label>
<textarea id="patch" name="patch" rows="16" spellcheck="false" class="mono" placeholder="${t.patchPlaceholder}">${`\n${view.patch}`}</textarea>
<div class="actions"><button type="submit" name="do" value="parse">${t.parse}</button><button type="submit" name="do" value="preview">${t.preview}</button><button type="submit" name="do" value="apply" class="main">${t.apply}</button>
<label class="check"><input type="checkbox" name="atomic" value="1" ${view.atomic && html`checked`}> ${t.atomic}</label></div></form>
${view.notice !== undefined && html`<div class="notice ${view.notice.ok ? "good" : "bad"}" role="status"><p>${view.notice.text}</p></div>`}
${view.parsed !== null && parsedOf(context, view.parsed)}`,
  });
}

function parsedOf({ t }: PageContext, parsed: ParseResult): Markup {
  if (!parsed.ok) {
    const { message, line } = parsed.failure;
    return html`<section class="notice bad" role="status"><h2>${t.notAPatch}</h2><p><code>${visible(message)}</code>${line !== undefined && ` (${t.atLine(line)})`}</p></section>`;
  }
  return html`<section aria-labelledby="parsed"><h2 id="parsed" role="status">${t.parsedAs(t.formats[parsed.format], parsed.commands.length)}</h2>
${parsed.warnings.map((warning) => html`<p class="note">${visible(warning)}</p>`)}
${parsed.commands.length === 0 && html`<p class="note">${t.emptyPatch}</p>`}
<ol class="commands">${parsed.commands.map((command) => html`<li>${commandLine(t, command)}${command.content !== "" && html`<pre class="code" tabindex="0">${visible(command.content)}</pre>`}${command.content === "" && command.target.includes("\n") && html`<pre class="code" tabindex="0">${visible(command.target)}</pre>`}</li>`)}</ol></section>`;
}
