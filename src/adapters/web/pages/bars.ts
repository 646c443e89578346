import { html, type Markup } from "../markup.ts";

export interface Bar {
  readonly label: string;
  readonly parts: readonly { readonly value: number; readonly style: "local" | "cloud" }[];
  readonly title: string;
}

const [WIDTH, HEIGHT, BASE] = [640, 160, 138];

/** A chart of one bar a day, drawn without a library; what it says stands in the table below it. */
export function bars(title: string, days: readonly Bar[], scale: (value: number) => string): Markup {
  const total = (bar: Bar) => bar.parts.reduce((sum, { value }) => sum + value, 0);
  const most = Math.max(...days.map(total), 0);
  const step = WIDTH / Math.max(days.length, 1);
  const tall = (value: number) => (most === 0 ? 0 : (value / most) * (BASE - 14));
  return html`<figure class="chart"><figcaption>${title}</figcaption>
<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title}" preserveAspectRatio="none">
<line x1="0" y1="${BASE}" x2="${WIDTH}" y2="${BASE}" class="axis"/>
${days.map((bar, n) => {
  let from = BASE;
  return html`<g><title>${bar.title}</title>${bar.parts.map(({ value, style }) => {
    const height = value > 0 ? Math.max(2, tall(value)) : 0;
    from -= height;
    return (
      height > 0 &&
      html`<rect x="${(n * step + step * 0.15).toFixed(1)}" y="${from.toFixed(1)}" width="${(step * 0.7).toFixed(1)}" height="${height.toFixed(1)}" rx="2" class="${style}"/>`
    );
  })}</g>`;
})}
</svg><div class="ends"><span>${days[0]?.label}</span><span>${scale(most)}</span><span>${days.at(-1)?.label}</span></div></figure>`;
}
