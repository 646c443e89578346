import type { CommandRule } from "../rule.ts";
import { DENIED_NAMES } from "./denied-names.ts";
import { FILE_RULES } from "./files.ts";
import { OUTWARD_RULES } from "./outward.ts";
import { SHELL_RULES } from "./shell-state.ts";
import { TOOL_RULES } from "./tools-that-run.ts";

/** Looked at in this order; the first that matches speaks. */
export const RULES: readonly CommandRule[] = [
  ...DENIED_NAMES,
  ...SHELL_RULES,
  ...OUTWARD_RULES,
  ...FILE_RULES,
  ...TOOL_RULES,
];
