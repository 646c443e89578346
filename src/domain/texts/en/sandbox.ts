import { many } from "../format-text.ts";
export const processTexts = {
  none: "There are no background processes.",
  title: (count: number) => many(count, "background process", "background processes"),
  header: { name: "Process", state: "State", time: "Time", ports: "Reached at", command: "Command" },
  seconds: (count: number) => `${count} s`,
  minutes: (count: number) => `${count} min`,
  hours: (count: number) => `${count} h`,
  states: { starting: "starting", running: "running", elsewhere: "on another machine" },
  exited: (code: number) => `exit ${code}`,
  signaled: (signal: string) => `ended by ${signal}`,
  ends: {
    exited: "ended",
    stopped: "stopped",
    "program-ended": "ended with its program",
    "workspace-gone": "ended: the folder is gone",
    "preview-over": "ended with its preview",
    lost: "ended: the PicoClaw process that watched it was killed",
    "not-started": "not started",
  },
  keeps: "stays until it is stopped",
  endsWithProgram: "ends with this program",
  restartsOnLanding: "restarts after each applied job",
  confinement: {
    confined: "confined",
    limited: "can write only to this folder (no bubblewrap)",
    none: "NOT CONFINED",
  },
  started: (name: string) => `Started: ${name}`,
  startedAgain: (name: string) => `Restarted: ${name}`,
  ranToEnd: (name: string) => `${name} ran to its end.`,
  notListening: (port: number) => `It is not listening on port ${port} yet.`,
  hint: (ps: string, name: string) => `Its output: ${ps} log ${name} · to stop it: ${ps} stop ${name}`,
  plantedGit: (name: string, paths: readonly string[], more: number) =>
    `CAUTION: since ${name} started, hooks or settings have appeared in new git directories: ${paths.join(", ")}${more > 0 ? ` and ${more} more` : ""}. Your next git command there would obey them. If they are not yours, remove them first.`,
  plantedHome: (name: string, paths: readonly string[], more: number) =>
    `CAUTION: since ${name} started, start files, settings or programs have appeared in a home: ${paths.join(", ")}${more > 0 ? ` and ${more} more` : ""}. The next login, shell or command there would obey them. If they are not yours, remove them first.`,
  hostsReached: (
    name: string,
    hosts: readonly { readonly host: string; readonly count: number }[],
    more: number,
  ) =>
    `${name}: network: it reached ${hosts.map(({ host, count }) => `${host} (${count})`).join(", ")}${more > 0 ? ` and ${more} more` : ""}`,
  liveWrites: "What it writes to the folder cannot be undone.",
  endedAtOnce: (name: string, how: string) => `${name} ended at once: ${how}`,
  lastLines: "Its last lines:",
  noOutput: "It printed nothing.",
  stopped: (name: string) => `Stopped: ${name}`,
  notRunning: (name: string) => `${name} is not running.`,
  survived: (name: string) => `Part of ${name} could not be stopped.`,
  unknown: (name: string) => `There is no process ${name}. See: picoclaw ps`,
  nameTaken: (name: string) =>
    `${name} is already running. Choose another name (--name), or restart it: picoclaw ps restart ${name}`,
  badName: (name: string) =>
    `Not a name: ${name} (a letter or digit, then up to 39 letters, digits, dots, dashes, underscores)`,
  noPreview: (job: string) =>
    `${/^\d+$/.test(job) ? "#" : ""}${job} is not a waiting preview. See: picoclaw jobs`,
  over: "on top of the preview; the folder is not changed",
  emptyCommand: "No command was given.",
  limit: (most: number) =>
    `${most} background processes are running, the most allowed (processes.limit). Stop one first.`,
  portTaken: (port: number, holder: string | null) =>
    holder === null ? `Another program is using port ${port}.` : `${holder} is using port ${port}.`,
  badPort: (port: string) => `Not a port: ${port} (1 to 65535)`,
  notConfined:
    "Not started: the configuration requires a confinement that this machine cannot provide. See: picoclaw doctor",
  busy: "Another program is starting a process here. Try again.",
  cut: "(the beginning is left out)",
  forgotten: (count: number) => `${count} removed from the list.`,
  usage:
    "Usage: picoclaw ps · ps start [--name NAME] [--port N] [--restart] [--over PREVIEW] -- COMMAND · ps log NAME · ps restart NAME · ps stop NAME · ps clear",
  chatUsage:
    "Usage: /ps · /ps start [--name NAME] [--port N] [--restart] [--over PREVIEW] COMMAND · /ps log NAME · /ps restart NAME · /ps stop NAME · /ps clear",
  stopLabel: (name: string) => `Stop ${name}`,
  logLabel: (name: string) => `Output of ${name}`,
};
