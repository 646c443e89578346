import { type ManageMessages, manageMessagesFor } from "../../domain/texts/texts.ts";
import type { PageContext } from "./context.ts";
import { html, type Markup, type Piece } from "./markup.ts";
import type { Notice } from "./context.ts";
import { page } from "./layout.ts";

export type ManageSection = "access" | "settings";

const MANAGE_ADDRESSES: Readonly<Record<ManageSection, string>> = {
  access: "/manage",
  settings: "/manage/settings",
};

const MANAGE_SECTIONS = Object.keys(MANAGE_ADDRESSES) as ManageSection[];

/** The pages of operators: a heading, what there is to manage, what came of the last button. */
export function managePage(
  context: PageContext,
  section: ManageSection,
  notice: Notice | undefined,
  body: (words: ManageMessages) => Piece,
): Markup {
  const words = manageMessagesFor(context.t.locale);
  const tab = (one: ManageSection) =>
    html`<a href="${MANAGE_ADDRESSES[one]}" ${one === section && html`aria-current="page"`}>${words.pages[one]}</a>`;
  return page(context, {
    title: `${words.title}: ${words.pages[section]}`,
    section: "manage",
    body: html`<h1>${words.title}</h1>
<nav class="choice manage-tabs" aria-label="${words.tabs}">${MANAGE_SECTIONS.map(tab)}</nav>
${notice !== undefined && html`<div class="notice ${notice.ok ? "good" : "bad"}" role="status">${notice.text.split("\n").map((line) => html`<p>${line}</p>`)}</div>`}
${body(words)}`,
  });
}

/** One labelled field; the label stands above it. */
export function formField(label: string, input: Piece, hint?: string): Markup {
  return html`<label class="field"><span>${label}</span>${input}${hint !== undefined && html`<small>${hint}</small>`}</label>`;
}

export function formSelect(
  name: string,
  options: Readonly<Record<string, string>>,
  chosen: string,
  label?: string,
): Markup {
  return html`<select name="${name}" ${label !== undefined && html`aria-label="${label}"`}>${Object.entries(
    options,
  ).map(
    ([value, text]) => html`<option value="${value}" ${value === chosen && html`selected`}>${text}</option>`,
  )}</select>`;
}
