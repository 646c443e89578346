import type { CommandRule } from "./rules/command-rule.ts";
import { DENIED_NAMES } from "./rules/denied-names.ts";
import { FILE_RULES } from "./rules/files.ts";
import { OUTWARD_RULES } from "./rules/outward.ts";
import { SHELL_RULES } from "./rules/shell-state.ts";
import { TOOL_RULES } from "./rules/tools-that-run.ts";

/** Looked at in this order; the first that matches speaks. */
export const RULES: readonly CommandRule[] = [
  ...DENIED_NAMES,
  ...SHELL_RULES,
  ...OUTWARD_RULES,
  ...FILE_RULES,
  ...TOOL_RULES,
];
