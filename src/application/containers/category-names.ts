/** Programs see the categories by these names; the prompt has headings instead. */
const CATEGORIES: Readonly<Record<string, string>> = {
  "Build/Package Management": "build_package",
  "Test Execution": "test",
  "Linter/Formatter": "linter_formatter",
  "File Operations": "file_operations",
  "Version Control": "version_control",
  Utilities: "utilities",
};

type Lists = Readonly<Record<string, readonly string[]>>;

/** The lists of allowed commands as programs see them. */
export function categoryNames(lists: Lists): Lists {
  return Object.fromEntries(
    Object.entries(lists).map(([title, commands]) => [CATEGORIES[title] ?? title.toLowerCase(), commands]),
  );
}
