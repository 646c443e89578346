import { html, type Markup, type Piece } from "../markup.ts";

/** Nothing here yet, and what will be. */
export function empty(title: string, text: string, more?: Piece): Markup {
  return html`<div class="empty"><p class="heading">${title}</p><p>${text}</p>${more}</div>`;
}
