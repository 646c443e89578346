import type { EnvironmentRow } from "../../application/containers/open-environments.ts";
import type { ContainerUsage } from "../../application/ports/containers.ts";
import type { CliCommand } from "./command.ts";
import { ENV } from "./env-help.ts";
import { taskFlag } from "./env-task.ts";
import { failedEngine, openEnvironments } from "./environments.ts";
import { fail } from "./fail.ts";
import { readFlags } from "./flags.ts";
import { EXIT } from "./program.ts";

/** `env list`: every container of this installation. */
export const envList: CliCommand = async (program, args) => {
  const { values } = await readFlags(program, { ...ENV, flags: {}, words: 0 }, args);
  const json = values.json === true;
  const environments = await openEnvironments(program, values);
  try {
    const rows = await environments.list();
    if (!Array.isArray(rows)) return failedEngine(program, json, environments, rows as never);
    const listed = (rows as readonly EnvironmentRow[]).map(environmentJson);
    if (json) program.out(`${JSON.stringify({ environments: listed })}\n`);
    else if (listed.length === 0) program.out(`${environments.texts.noEnvironments}\n`);
    else
      program.out(
        alignColumns([
          environments.texts.listHeader,
          ...listed.map((row) => [row.task_uuid, row.environment_name, row.state, row.image, row.created_at]),
        ]),
      );
    return EXIT.done;
  } finally {
    await environments.close();
  }
};

/** `env info --task UUID`: one of them. */
export const envInfo: CliCommand = async (program, args) => {
  const { values } = await readFlags(program, { ...ENV, flags: { task: "string" }, words: 0 }, args);
  const json = values.json === true;
  const uuid = taskFlag(program, values);
  const environments = await openEnvironments(program, values);
  try {
    const rows = await environments.list();
    if (!Array.isArray(rows)) return failedEngine(program, json, environments, rows as never);
    const row = (rows as readonly EnvironmentRow[]).find(({ facts }) => facts.taskId === uuid);
    if (row === undefined)
      return fail(program, json, {
        exitCode: EXIT.refused,
        code: "no-environment",
        text: environments.texts.unknownTask(uuid),
      });
    const usage = row.facts.state === "running" ? await environments.sandboxes.usage(row.facts.id) : null;
    const shown = { ...environmentJson(row), ...(usage?.ok === true && { usage: usageJson(usage) }) };
    if (json) program.out(`${JSON.stringify(shown)}\n`);
    else {
      const { usage: used, ...rest } = shown;
      const lines = Object.entries({ ...rest, ...used }).map(([key, value]) => [key, String(value ?? "-")]);
      program.out(alignColumns(lines));
    }
    return EXIT.done;
  } finally {
    await environments.close();
  }
};

function environmentJson({ facts, info, repository }: EnvironmentRow) {
  return {
    task_uuid: facts.taskId,
    container_id: facts.id,
    name: facts.name,
    environment_name: info?.environment_name ?? facts.labels["picoclaw.environment"] ?? "-",
    image: facts.image,
    state: facts.state === "running" && info?.status === "ready" ? "ready" : facts.state,
    workspace_path: info?.workspace_path ?? "/workspace/project",
    repository,
    created_at: facts.createdAt,
  };
}

function usageJson(usage: ContainerUsage) {
  return {
    memory_bytes: usage.memoryBytes,
    memory_limit_bytes: usage.memoryLimitBytes,
    cpu_seconds: Number(usage.cpuSeconds.toFixed(1)),
    processes: usage.processes,
    process_limit: usage.processLimit,
    disk_bytes: usage.diskBytes,
    disk_limit_bytes: usage.diskLimitBytes,
  };
}

function alignColumns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? "").length)),
  );
  return rows
    .map(
      (row) =>
        `${row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join("  ")
          .trimEnd()}\n`,
    )
    .join("");
}
