/**
 * A piece of the bundle as a plain function of the pieces that it asks for. The bundler would hand each name over through
 * three accessors, which are defined at the start and called at each use; a name that is assigned once is handed over once,
 * by its value. Pieces form no circles, so that each is complete when it is asked.
 */

/** The names that a piece exports, at its end. */
const EXPORTS = /export(\{[^}]*\});\s*$/;
const IMPORT = /^import(?:(\{[^}]*\})from)?"\.\/(chunk-\w+\.js)";?/;

/** Names whose value may change after the piece has begun, each as `piece:name`: they are read at each use. */
export function findLiveNames(piece: string, text: string): string[] {
  return readNames(EXPORTS.exec(text)?.[1])
    .filter(([local]) => {
      const name = `(?<![.\\w$])${RegExp.escape(local)}`;
      const assigned = new RegExp(`${name}\\s*(?:=(?![=>])|\\+\\+|--|[-+*/%&|^?]{1,2}=(?!=))`, "g");
      const empty = new RegExp(`\\b(?:var|let) (?:[\\w$]+,)*${RegExp.escape(local)}[,;]`);
      return [...text.matchAll(assigned)].length > 1 || empty.test(text);
    })
    .map(([, exported]) => `${piece}:${exported}`);
}

/**
 * A late `import()` of a piece becomes a late `require`: the runtime would start a thread to read the file, and where anything
 * is still under way when its entry has been read, it collects garbage once. A small job is over by then. The bundler finds the
 * piece of a late `require` by that name alone.
 * `import.meta.url` would become the text of where the piece lies while it is built: it is made of the path that it is loaded from.
 */
export function toPlainPiece(piece: string, text: string, live: ReadonlySet<string>): string {
  const start = text.startsWith("//") ? text.indexOf("\n") + 1 : 0;
  let body = text.slice(start);
  const asked: string[] = [];
  for (let found = IMPORT.exec(body); found !== null; found = IMPORT.exec(body)) {
    const [statement, names, from] = found;
    body = body.slice(statement.length);
    const pairs = readNames(names);
    if (pairs.some(([exported]) => live.has(`${from}:${exported}`))) asked.push(statement);
    else if (pairs.length === 0) asked.push(`require("./${from}");`);
    else asked.push(`var{${pairs.map((pair) => pair.join(":"))}}=require("./${from}");`);
  }
  const plain = body
    .replace(/\bimport\(("\.\/chunk-\w+\.js")\)/g, "Promise.resolve().then(() => require($1))")
    .replace(/\bimport\.meta\.require\(("\.\/chunk-\w+\.js")\)/g, "require($1)")
    .replace(/\bimport\.meta\.url\b/g, 'require("url").pathToFileURL(import.meta.path).href')
    .replace(EXPORTS, (_, names: string) => {
      const entries = readNames(names).map(([local, exported]) =>
        live.has(`${piece}:${exported}`) ? `get ${exported}(){return ${local}}` : `${exported}:${local}`,
      );
      return `module.exports={${entries}};`;
    });
  return `${text.slice(0, start)}${asked.join("")}${plain}`;
}

/** `{a,b as c}`, each name with the one after `as`. */
function readNames(clause = "{}"): [name: string, as: string][] {
  return [...clause.matchAll(/([\w$]+)(?: as ([\w$]+))?/g)].map(([, name = "", as = name]) => [name, as]);
}
