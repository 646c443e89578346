/** The headings above a line, by their indentation: how mocha and jest print their suites. */
export interface Outline {
  heading(indent: number, title: string): void;
  /** The name of what stands at this indentation, with the headings above it. */
  nameOf(indent: number, title: string): string;
}

export function createOutline(): Outline {
  let headings: { readonly indent: number; readonly title: string }[] = [];
  const above = (indent: number) => headings.filter((one) => one.indent < indent);
  return {
    heading(indent, title) {
      headings = [...above(indent), { indent, title }];
    },
    nameOf: (indent, title) => [...above(indent).map((one) => one.title), title].join(" › "),
  };
}
