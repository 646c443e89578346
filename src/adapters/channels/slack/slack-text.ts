/** What a person typed, out of what Slack sends: links and names are in angle brackets, three characters escaped. */
export function fromSlackText(text: string): string {
  return text
    .replace(/<([^<>]*)>/g, (_, inner: string) => {
      const [target = "", label] = inner.split("|");
      if (target.startsWith("@") || target.startsWith("#"))
        return label === undefined ? target : `${target[0]}${label}`;
      if (target.startsWith("!")) return `@${target.slice(1)}`;
      return target.startsWith("mailto:") ? (label ?? target.slice("mailto:".length)) : target;
    })
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
}
