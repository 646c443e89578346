import type { PageContext } from "./context.ts";
import { html, type Markup, type Piece } from "./markup.ts";

export function csrfField({ csrf }: Pick<PageContext, "csrf">): Markup {
  return html`<input type="hidden" name="csrf" value="${csrf}">`;
}

/** One button that changes something. */
export function actionButton(
  context: PageContext,
  options: {
    readonly action: string;
    readonly label: Piece;
    readonly style?: "main" | "quiet" | "danger";
    readonly fields?: Readonly<Record<string, string>>;
  },
): Markup {
  const { action, label, style, fields = {} } = options;
  return html`<form method="post" action="${action}" class="act">${csrfField(context)}${Object.entries(
    fields,
  ).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  )}<button type="submit" class="${style ?? ""}">${label}</button></form>`;
}
