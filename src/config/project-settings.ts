import { z } from "zod";

/** Of a stranger's file only what cannot widen anybody's power; the rest of it is for whoever has the folder. */
const settings = z.object({
  tasks: z
    .object({
      rules: z.array(z.string()).catch([]).default([]),
      test_command: z.string().nullable().catch(null).default(null),
    })
    .catch({ rules: [], test_command: null })
    .default({ rules: [], test_command: null }),
  checks: z
    .object({ command: z.string().nullable().catch(null).default(null) })
    .catch({ command: null })
    .default({ command: null }),
});

export interface ProjectSettings {
  readonly rules: readonly string[];
  readonly checkCommand: string | null;
}

const NONE: ProjectSettings = { rules: [], checkCommand: null };

/** The settings for work on a cloned project, from its `picoclaw.yaml`; empty where it cannot be read. */
export async function readProjectSettings(text: string): Promise<ProjectSettings> {
  const { parseYamlTree } = await import("./yaml-tree.ts");
  const parsed = parseYamlTree(text, "picoclaw.yaml");
  const read = parsed.ok ? settings.safeParse(parsed.tree) : null;
  if (read === null || !read.success) return NONE;
  const { tasks, checks } = read.data;
  return { rules: tasks.rules, checkCommand: checks.command ?? tasks.test_command };
}
