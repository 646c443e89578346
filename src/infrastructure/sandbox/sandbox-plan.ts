import { relative } from "node:path";
import type { NetworkTraffic, Transaction } from "../../application/ports/jobs-transaction.ts";
import { isInside } from "../../domain/platform/paths.ts";
import { programEnvironment, proxyEnvironment } from "../../domain/policy/network.ts";
import type { PrivateHome } from "./home.ts";
import { type JobLimits, PROXY_PORT } from "./job-limits.ts";

/** The content of a sandbox and the place of its writes. All paths are absolute and real. */
export interface SandboxPlan {
  /** Roots of the transaction, each laid over with an upper of its own. */
  readonly roots: readonly { readonly path: string; readonly source: OverlaySource }[];
  /** The job's folder, the only place of the host that the sandbox writes to. */
  readonly job: string;
  /** The part of its user's home that the job sees; null where there is no home to protect. */
  readonly home: PrivateHome | null;
  /** Homes of this machine that must look empty but for these folders of them. */
  readonly homes: readonly { readonly path: string; readonly shown: readonly string[] }[];
  /** Folders that must look empty; files and sockets that must read as nothing, as far as they are still there. */
  readonly hidden: readonly string[];
  /** The same for what surely stays: hidden by one call for all. */
  readonly closed: readonly { readonly path: string; readonly isFolder: boolean }[];
  /** Folders behind a separate layer: no socket behind it can be reached, even if created later. None has a mount below it. */
  readonly screened: readonly string[];
  /** Mounts of the host that come later would come into the sandbox. */
  readonly sharesMounts: boolean;
  /** Folders that must show nothing but the roots in them. */
  readonly veiled: readonly string[];
  /** Further folders that must be there, read-only: the program itself. */
  readonly readable: readonly string[];
  /** Files of the host that must be there though their folder is private. */
  readonly files: readonly string[];
  /** A socket that the user lets through. */
  readonly sockets: readonly string[];
  readonly bubblewrap: string;
  /** Real root makes the mounts: a folder of a root can then be renamed in one step. */
  readonly redirects: boolean;
  readonly network: SandboxNetwork;
  /** A socket of the host that a port of the loopback leads to, through the executor. */
  readonly headSocket: string | null;
  /** A socket of the host at which ports of the sandbox's own loopback are asked for. */
  readonly callersSocket: string | null;
  readonly limits: JobLimits;
  readonly confined: boolean;
  readonly uid: number;
  readonly gid: number;
  readonly directory: string;
}

/** `proxy`: no network except the socket of a proxy outside, reached through the executor. */
export type SandboxNetwork = "host" | "none" | { readonly proxy: string };

/** `lowers`: folders of the host between the root and its upper, uppermost first. */
type OverlaySource =
  | { readonly kind: "overlay"; readonly lowers?: readonly string[] }
  | { readonly kind: "bind"; readonly folder: string; readonly readOnly?: boolean };

/** Where a sandbox keeps its plain names during set-up. One that shows the host's folders cannot make it, and is given one that exists. */
export const CONFINED_STAGE = "/run/picoclaw";
const DEVICES = ["null", "zero", "full", "random", "urandom", "tty"];

/** As real root the kernel's switches are one's own files: none of them may be written. */
const SWITCHES = ["sys", "sysrq-trigger", "fs", "acpi", "scsi"];

/**
 * Mounts what bubblewrap cannot (one `mount` for all of it: each start of it costs 2 ms), hides the stage, drops every
 * capability, and becomes the executor. It first detaches from the host's mounts: later ones would otherwise appear here and
 * could be written to. If the kernel cannot mount a screen (over another kind of file system), the known sockets behind it are
 * hidden one by one. One call does not report which mount failed, so a second one mounts the missing ones; it skips existing
 * mounts, and the stage must be visible again for it. Last and optional are separate terminals, and devices whose mode root
 * cannot change. Hidden paths cannot be written either, so that a command which tries gets an error instead of losing its output.
 * The executor starts in parallel where possible, because the start of the runtime takes as long: its last argument is the pid
 * of the mounting process, and it does nothing before that process has ended successfully.
 * Arguments: whether the executor starts "beside" or "after", whether the host's mounts are shared, the stage, the screens,
 * the table of mounts, the one of devices, what to hide, "--", the command.
 */
const SETUP = `set -e
lay() {
  if [ "$1" = shared ]; then mount --make-rprivate /; fi
  shift
  stage=$1
  printf %s "$2$3" > "$1/table"
  if [ -z "$2" ]; then mount -a -T "$1/table"
  elif ! mount -a -T "$1/table" 2> /dev/null; then
    if [ ! -d "$1/void" ]; then umount "$1"; fi
    printf %s "$3" > "$1/table"
    mount -a -T "$1/table"
  fi
  devices=$4
  shift 4
  if [ "$1" != -- ]; then : > "$stage/nothing"; fi
  while [ "$1" != -- ]; do
    if [ -d "$1" ]; then mount -t tmpfs -o ro,mode=0755 tmpfs "$1"
    elif [ -e "$1" ]; then mount -o bind,ro "$stage/nothing" "$1"; fi
    shift
  done
  printf %s "$devices" > "$stage/devices"
  mount -a -T "$stage/devices" 2> /dev/null || :
}
how=$1
shift
if [ "$how" = beside ]; then lay "$@" & else lay "$@"; fi
while [ "$1" != -- ]; do shift; done
shift
cd /
exec setpriv --bounding-set -all --inh-caps -all --ambient-caps -all --no-new-privs "$@" $!
`;

/**
 * A user's mounts keep their marks in attributes of users. `volatile`: the kernel would flush every file as it is copied into the
 * upper; what a job made is flushed at once, when it is sealed, and not worth keeping before.
 */
export function overlayOptions(redirects: boolean): string {
  return `${redirects ? "redirect_dir=on,index=off,metacopy=off" : "userxattr"},volatile`;
}

/** As volatile as the roots: the end of any other overlay flushes the whole file system while the job is being committed. */
const HOME_OPTIONS = "userxattr,volatile";

/** The mounts as an fstab, the stage last. The sources have PicoClaw's name: `mount -a` skips what it considers mounted already. */
function mountTable(plan: SandboxPlan, stage: string): string {
  const { home, homes, closed, roots, veiled } = plan;
  const overlay = (lowers: readonly string[], upper: string, work: string, how = HOME_OPTIONS) =>
    `lowerdir=${lowers.map((lower) => `${stage}/${lower}`).join(":")},upperdir=${stage}/${upper},workdir=${stage}/${work},${how},X-mount.mkdir`;
  const stacked = (name: string, between: readonly string[] = []) => [
    ...between.map((_, j) => `${name}.${j}`),
    name,
  ];
  const how = overlayOptions(plan.redirects);
  const empty = (folder: string) => ["picoclaw", folder, "tmpfs", "mode=0755"];
  const lines = [
    ...closed.map(({ path, isFolder }) => (isFolder ? empty(path) : ["/dev/null", path, "none", READ_ONLY])),
    ...homes.map(({ path }) => empty(path)),
    ...homes.flatMap(({ path, shown }, i) =>
      shown.map((folder) => [
        `${stage}/homes${i}/${relative(path, folder)}`,
        folder,
        "none",
        "rbind,X-mount.mkdir",
      ]),
    ),
    ...(home === null ? [] : homeLines(home, stage, overlay)),
    ...belowHome(plan).map((folder, i) => [`${stage}/own${i}`, folder, "none", "bind,X-mount.mkdir"]),
    ...veiled.map(empty),
    ...roots.map(({ path, source }, i) =>
      source.kind === "bind"
        ? [`${stage}/bind${i}`, path, "none", "bind,X-mount.mkdir"]
        : [
            "picoclaw",
            path,
            "overlay",
            overlay(stacked(`low${i}`, source.lowers), `tx/u${i}`, `tx/w${i}`, how),
          ],
    ),
    ["picoclaw", stage, "tmpfs", "mode=0755"],
  ];
  return lines.map((line) => `${line.map(escapeField).join(" ")} 0 0\n`).join("");
}

/** Terminals of the sandbox's own. Devices of the host belong to root, who could set their modes through a mount that can be written. */
function deviceTable({ confined, uid }: SandboxPlan): string {
  const kept = confined && uid === 0 ? DEVICES : [];
  const lines = kept.map((device) => `picoclaw /dev/${device} none remount,${READ_ONLY} 0 0\n`);
  return ["picoclaw /dev/pts devpts newinstance,ptmxmode=0666,mode=0620 0 0\n", ...lines].join("");
}

/** With what the mount of a container's engine may require. */
const READ_ONLY = "bind,ro,nosuid,noexec";

/** Folders over themselves, without an upper: such an overlay wants a second folder below, and that one is empty. */
function screenTable({ screened }: SandboxPlan, stage: string): string {
  const lines = screened
    .filter((folder) => PLAIN.test(folder))
    .map(
      (folder) =>
        `picoclaw ${folder} overlay ro,nosuid,nodev,userxattr,lowerdir=${folder}:${stage}/void 0 0\n`,
    );
  return lines.join("");
}

type OverlayText = (lowers: readonly string[], upper: string, work: string) => string;

/** The home is laid over its seed, and each folder that is allowed over itself. */
function homeLines(home: PrivateHome, stage: string, overlay: OverlayText): string[][] {
  const odd: string[][] = [];
  const lowerOf = (path: string, i: number) => {
    if (path === home.path) return "homeseed";
    const below = relative(home.path, path);
    if (PLAIN.test(below)) return `home/${below}`;
    odd.push([`${stage}/home/${below}`, `${stage}/odd${i}`, "none", "rbind,X-mount.mkdir"]);
    return `odd${i}`;
  };
  const layers = home.layers.map(({ path, name, below }, i) => [
    "picoclaw",
    path,
    "overlay",
    overlay(
      [...below.map((j) => `homebelow${j}/${name}/u`), lowerOf(path, i)],
      `hometx/${name}/u`,
      `hometx/${name}/w`,
    ),
  ]);
  const shown = home.shown.map((path) => [
    `${stage}/home/${relative(home.path, path)}`,
    path,
    "none",
    "rbind",
  ]);
  return [...odd, ...layers, ...shown];
}

/** Names that mean nothing to the options of an overlay. */
const PLAIN = /^[\w.@+/-]+$/;

/** The program itself, where a private home or an empty one would cover it. */
function belowHome({ home, homes, readable }: SandboxPlan): string[] {
  const covered = [...(home === null ? [] : [home.path]), ...homes.map(({ path }) => path)];
  return readable.filter((folder) => covered.some((path) => isInside(path, folder)));
}

/** Whether the program can be read at every moment of the set-up: nothing empty is laid over it, not even for a while. */
function showsProgramThroughout(plan: SandboxPlan): boolean {
  const { readable, veiled, closed, hidden } = plan;
  const emptied = [...veiled, ...hidden, ...closed.map(({ path }) => path)];
  const isEmptied = (folder: string) => emptied.some((path) => isInside(path, folder));
  return belowHome(plan).length === 0 && !readable.some(isEmptied);
}

/** White space and backslashes are octal escapes in an fstab. */
function escapeField(text: string): string {
  return text.replace(/[\s\\#]/g, (char) =>
    [...Buffer.from(char)].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join(""),
  );
}

/** The sockets of the host that the executor uses: of the proxy, of a head's key, of callers from outside. */
function hostSockets({ network, headSocket: head, callersSocket: callers }: SandboxPlan) {
  return { proxy: typeof network === "string" ? null : network.proxy, head, callers };
}

const inside = (name: string) => `/run/picoclaw-${name}`;

/** The same as the executor sees them. */
export function socketsInside(plan: SandboxPlan) {
  const { proxy, head, callers } = hostSockets(plan);
  const seen = (socket: string | null, name: string) =>
    socket !== null && plan.confined ? inside(name) : socket;
  return { proxy: seen(proxy, "proxy"), head: seen(head, "head"), callers: seen(callers, "callers") };
}

export function sandboxEnvironment({
  confined,
  sockets,
  network,
}: Pick<SandboxPlan, "confined" | "sockets" | "network">): Record<string, string> {
  return {
    ...(typeof network === "object" && {
      ...proxyEnvironment(`http://127.0.0.1:${PROXY_PORT}`),
      ...programEnvironment(PROXY_PORT),
    }),
    ...(confined && { TMPDIR: "/tmp" }),
    ...(sockets[0] !== undefined && { SSH_AUTH_SOCK: sockets[0] }),
  };
}

/** Where bubblewrap reads the filter of calls. */
const FILTER_DESCRIPTOR = 5;

/** The arguments of `bwrap` for a plan; `command` is what runs inside, `stage` an absolute path of plain letters. */
export function sandboxArguments(plan: SandboxPlan, command: readonly string[], stage: string): string[] {
  const args = plan.confined
    ? confinedBase(plan)
    : ["--dev-bind", "/", "/", "--proc", "/proc", "--tmpfs", stage];
  const covered = belowHome(plan);
  // A folder mounted at its own place counts as mounted, and would not be restored over an empty home.
  for (const folder of plan.readable) if (!covered.includes(folder)) args.push("--ro-bind", folder, folder);
  covered.forEach((folder, i) => void args.push("--ro-bind", folder, `${stage}/own${i}`));
  args.push(...homeArguments(plan, stage));
  plan.roots.forEach(({ path, source }, i) => {
    // One that is shown as itself would count as mounted, and stay read-only.
    if (source.kind !== "bind" || source.folder !== path) args.push("--ro-bind", path, path);
    if (source.kind === "bind")
      args.push(source.readOnly === true ? "--ro-bind" : "--bind", source.folder, `${stage}/bind${i}`);
    else
      args.push("--ro-bind", path, `${stage}/low${i}`, ...bindLowerLayers(`${stage}/low${i}`, source.lowers));
  });
  args.push("--bind", plan.job, `${stage}/tx`);
  if (plan.screened.length > 0) args.push("--dir", `${stage}/void`);
  for (const socket of plan.sockets) args.push("--ro-bind", socket, socket);
  args.push("--unshare-pid", "--unshare-ipc", "--as-pid-1", "--die-with-parent", "--new-session");
  if (plan.uid !== 0) args.push("--unshare-user", "--uid", String(plan.uid), "--gid", String(plan.gid));
  if (plan.network !== "host") args.push("--unshare-net");
  for (const [name, socket] of Object.entries(hostSockets(plan)))
    if (socket !== null && plan.confined) args.push("--ro-bind", socket, inside(name));
  if (plan.confined) args.push("--seccomp", String(FILTER_DESCRIPTOR));
  args.push("--cap-add", "ALL", "--", "/bin/sh", "-c", SETUP, "picoclaw-sandbox");
  args.push(showsProgramThroughout(plan) ? "beside" : "after", plan.sharesMounts ? "shared" : "own", stage);
  args.push(screenTable(plan, stage), mountTable(plan, stage), deviceTable(plan));
  args.push(...plan.hidden, "--", ...command);
  return args;
}

function bindLowerLayers(name: string, lowers: readonly string[] = []): string[] {
  return lowers.flatMap((lower, j) => ["--ro-bind", lower, `${name}.${j}`]);
}

function homeArguments({ home, homes }: SandboxPlan, stage: string): string[] {
  const args = homes.flatMap(({ path, shown }, i) =>
    shown.length === 0 ? [] : ["--ro-bind", path, `${stage}/homes${i}`],
  );
  if (home === null) return args;
  args.push("--ro-bind", home.path, `${stage}/home`, "--ro-bind", home.seed, `${stage}/homeseed`);
  home.below.forEach((folder, i) => void args.push("--ro-bind-try", folder, `${stage}/homebelow${i}`));
  return [...args, "--bind", home.folder, `${stage}/hometx`];
}

/** Everything read-only; harmless devices; no sockets and no temporary files of the host. */
function confinedBase({ files, uid }: SandboxPlan): string[] {
  const args = ["--ro-bind", "/", "/", "--tmpfs", "/dev", "--tmpfs", "/dev/shm"];
  for (const device of DEVICES) args.push("--dev-bind-try", `/dev/${device}`, `/dev/${device}`);
  for (const [link, to] of [
    ["fd", ""],
    ["stdin", "/0"],
    ["stdout", "/1"],
    ["stderr", "/2"],
  ] as const)
    args.push("--symlink", `/proc/self/fd${to}`, `/dev/${link}`);
  args.push("--dir", "/dev/pts", "--symlink", "pts/ptmx", "/dev/ptmx");
  args.push("--proc", "/proc", "--tmpfs", "/run", "--tmpfs", "/tmp", "--tmpfs", "/var/tmp");
  for (const name of uid === 0 ? SWITCHES : []) args.push("--ro-bind-try", `/proc/${name}`, `/proc/${name}`);
  for (const file of files) args.push("--ro-bind", file, file);
  return args;
}

export type LimitedNetwork = Pick<Transaction, "network" | "takeTraffic">;

export function limitedNetwork(
  network: SandboxNetwork,
  takeTraffic: (() => NetworkTraffic) | undefined,
): LimitedNetwork {
  if (network === "host") return {};
  if (network === "none") return { network: "off" };
  return { network: "allow-list", ...(takeTraffic && { takeTraffic }) };
}
