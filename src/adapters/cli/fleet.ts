import type { FleetView, Machine } from "../../application/ports/fleet.ts";
import { distinctMachineName } from "../../domain/fleet/machine-label.ts";
import { snakeCased } from "../../domain/tasks/task-note.ts";
import type { FleetMessages } from "../../domain/texts/fleet.ts";
import { type Flags, printable, refuseInput, refuseUsage, type Subcommand, succeed } from "./command.ts";
import { closing, openOrStop } from "./flags.ts";
import type { CliProgram } from "./program.ts";

/** `fleet [retry ID | discard ID]`: the machines that share the store, the queue, and failed work. */
export const command: Subcommand = { name: "fleet", usage: "fleet [retry|discard ID]", words: 2, run: fleet };

async function fleet(program: CliProgram, { values, words }: Flags): Promise<number> {
  const opened = await openOrStop(program, values, program.openFleet, "store");
  await using _ = closing(opened);
  const { words: t } = opened;
  const [verb, id] = words;
  if (verb === undefined) {
    const view = await opened.control.view();
    return succeed(program, fleetJson(view), wordFleet(t, view));
  }
  if ((verb !== "retry" && verb !== "discard") || id === undefined) return refuseUsage(program, t.usage);
  if (!(await opened.control[verb](id))) return refuseInput(program, "unknown-work", t.unknownWork(id));
  const text = verb === "retry" ? t.retried(id) : t.discarded(id);
  return succeed(program, { success: true, id }, text);
}

function wordFleet(t: FleetMessages, { self, machines, queues, dead }: FleetView): string {
  const nameOf = new Map(machines.map((machine) => [machine.id, distinctMachineName(machine, machines)]));
  const section = (title: string, lines: readonly string[], none: string) =>
    [title, ...(lines.length === 0 ? [none] : lines).map((line) => `  ${line}`)].join("\n");
  return [
    section(
      t.machines,
      machines.flatMap((machine) => machineLines(t, machine, self)),
      t.noMachines,
    ),
    section(
      t.queues,
      queues.map(({ machineId, root, waiting, working, replies }) =>
        printable(
          `${machineId === null ? "" : `${nameOf.get(machineId) ?? machineId} `}${root}: ${t.depth(waiting, working, replies)}`,
        ),
      ),
      t.nothingWaits,
    ),
    section(
      t.dead,
      dead.map(({ id, ref, attempt, reason, at }) =>
        printable(`${id}  ${at.toISOString()}  ${ref}  ${t.attempts(attempt)}: ${reason}`),
      ),
      t.nothingDead,
    ),
  ].join("\n\n");
}

function machineLines(
  t: FleetMessages,
  { id, name, here, seenAt, processes }: Machine,
  self: string,
): string[] {
  const alive = id === self ? t.thisMachine : t.alive;
  const head = printable(`${name} (${id.slice(0, 8)})  ${here ? alive : t.away(seenAt.toISOString())}`);
  const rest = processes.map(({ kind, root, labels, lanes, busy, version, draining }) =>
    printable(
      `  ${[kind, root, labels.join(","), t.busy(busy, lanes), version, ...(draining ? [t.draining] : [])].join("  ")}`,
    ),
  );
  return [head, ...rest];
}

/** The fleet as programs read it. */
function fleetJson({ self, machines, queues, dead }: FleetView): object {
  const named = <T extends { readonly root: string }>({ root, ...rest }: T) => ({ ...rest, workspace: root });
  return snakeCased({
    machines: machines.map(({ processes, ...machine }) => ({
      ...machine,
      thisMachine: machine.id === self,
      processes: processes.map(named),
    })),
    queues: queues.map(named),
    dead: dead.map(({ attempt: attempts, key: _, group: __, light: ___, ...work }) => ({
      ...work,
      attempts,
    })),
  }) as object;
}
