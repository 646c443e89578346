import { many } from "../format-text.ts";

export const fleetTexts = {
  intro: "The machines that share this database, their queue, and what failed.",
  machines: "Machines",
  noMachines: "No machine has joined yet: picoclaw serve, or picoclaw join",
  alive: "alive",
  thisMachine: "this machine",
  away: (since: string) => `away since ${since}`.trimEnd(),
  draining: "accepts nothing new",
  busy: (busy: number, lanes: number) => `${busy} of ${lanes} slots in use`,
  queues: "Queue",
  nothingWaits: "Empty.",
  depth: (waiting: number, working: number, replies: number) =>
    `${waiting} waiting, ${working} in progress, ${replies} replies to send`,
  dead: "Failed",
  nothingDead: "None.",
  attempts: (count: number) => many(count, "attempt"),
  retry: "Try again",
  retried: (id: string) => `queued again: ${id}`,
  discarded: (id: string) => `discarded: ${id}`,
  unknownWork: (id: string) => `no failed work has this id: ${id}. See: picoclaw fleet`,
  usage: "Usage: picoclaw fleet [retry ID | discard ID]",
  joined: (machine: string, root: string, labels: string) =>
    `${machine} has joined: it works for ${root}${labels === "" ? "" : ` and takes tasks that need ${labels}`}`,
  needsDatabase:
    "join needs a database that the machines share: set database_url (postgres://…) to the same database on each of them.",
  badConcurrency: "--concurrency N: 1 to 1000",
  badLabels: "--labels a,b: letters, digits, '.', '-' and '_'",
};
