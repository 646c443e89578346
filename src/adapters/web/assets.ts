import script from "./assets/console.client.js" with { type: "text" };
import style from "./assets/console.css" with { type: "text" };

export interface Asset {
  readonly path: string;
  readonly type: string;
  readonly body: string;
}

/** Both files under names that change with their content, so that a browser may keep them for ever. */
export function createAssets(sha256: (text: string) => string): {
  readonly style: Asset;
  readonly script: Asset;
} {
  const named = (name: string, ending: string, type: string, body: string): Asset => ({
    path: `/assets/${name}-${sha256(body).slice(0, 12)}.${ending}`,
    type,
    body,
  });
  return {
    style: named("console", "css", "text/css; charset=utf-8", style),
    script: named("console", "js", "text/javascript; charset=utf-8", script),
  };
}
