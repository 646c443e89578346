import { chatMessagesFor } from "../../../domain/texts/texts.ts";
import type { PageContext } from "../context.ts";
import { html, type Markup } from "../markup.ts";
import { csrfField } from "../form.ts";
import { ICONS } from "../icons.ts";
import { visible } from "../visible.ts";

export interface Composer {
  readonly chatId: string;
  /** Where it is sent; default: the console's own chat of that name. */
  readonly action?: string;
  readonly eventId: string;
  /** Commands that the user wrote. */
  readonly ownCommands: readonly { readonly name: string; readonly description: string }[];
  readonly draft?: string;
}

/** Where a message is written. A `/` at its beginning offers the commands there are. */
export function composerForm(
  context: PageContext,
  { chatId, action = `/chat/${encodeURIComponent(chatId)}`, eventId, ownCommands, draft }: Composer,
): Markup {
  const { t } = context;
  return html`<form class="composer" method="post" action="${action}" enctype="multipart/form-data" data-composer>
${csrfField(context)}<input type="hidden" name="event" value="${eventId}">
<ul id="commands" class="suggest" role="listbox" aria-label="${t.commandsLabel}" hidden>${commandsOf(context, ownCommands).map(([name, what]) => html`<li role="option" id="command-${name.slice(1)}" data-value="${name}"><code>${name}</code> <span>${what}</span></li>`)}</ul>
<label class="attach" title="${t.attach}"><input type="file" name="file" multiple aria-label="${t.attach}">${ICONS.attach}</label>
<label class="unseen" for="text">${t.messageLabel}</label>
<textarea id="text" name="text" rows="1" maxlength="20000" placeholder="${t.messagePlaceholder}" aria-describedby="hint" aria-controls="commands" aria-autocomplete="list" autofocus>${draft}</textarea>
<button type="submit" class="main" aria-label="${t.send}">${ICONS.send}</button>
<p id="hint" class="hint"><span data-files></span> ${t.sendHint}</p></form>`;
}

/** Every command once, with what `/help` says of it. */
function commandsOf({ t }: PageContext, own: Composer["ownCommands"]): [name: string, what: string][] {
  const found = new Map<string, string>();
  for (const [usage, what] of chatMessagesFor(t.locale).help)
    for (const name of usage.match(/(?<=^| )\/[a-z0-9]+/g) ?? []) if (!found.has(name)) found.set(name, what);
  for (const { name, description } of own)
    if (!found.has(`/${name}`)) found.set(`/${name}`, visible(description));
  return [...found];
}
