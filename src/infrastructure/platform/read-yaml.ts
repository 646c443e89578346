/** A text of YAML by the runtime's own reader, which is loaded already; undefined where it is none. */
export function readYaml(text: string): unknown {
  try {
    return Bun.YAML.parse(text);
  } catch {
    return undefined;
  }
}
