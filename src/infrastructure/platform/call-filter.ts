/**
 * Filters of system calls in the kernel's format, for what namespaces and Landlock leave open. `machine`: the number by which the
 * kernel knows a machine. `keys`: `add_key`, `request_key`, `keyctl`, which reach a session's keyring through every namespace.
 * `setpriority`, `ioprio_set` and `prlimit64` change any process of the same user. `socket` opens a socket of a family that no network
 * namespace holds; `socketcall` is its older form, whose arguments a filter cannot read.
 */
const MACHINES = (
  [
    [0xc000003e, [248, 250], 141, 251, 302, 41, null],
    [0x40000003, [286, 288], 97, 289, 340, 359, 102],
    [0xc00000b7, [217, 219], 140, 30, 261, 198, null],
    [0x40000028, [309, 311], 97, 314, 369, 281, 102],
    [0xc00000f3, [217, 219], 140, 30, 261, 198, null],
  ] as const
).map(([machine, keys, setpriority, ioprio_set, prlimit64, socket, socketcall]) => ({
  machine,
  keys,
  setpriority,
  ioprio_set,
  prlimit64,
  socket,
  socketcall,
}));
/** The other numbering of calls that an x86-64 kernel may know. */
const X32 = 0x40000000;
/** The first argument of `setpriority` and `ioprio_set` for all processes of a user. */
const PRIO_USER = 2;
const IOPRIO_WHO_USER = 3;

type Step = readonly [code: number, yes: number, no: number, value: number];

const LOAD = 0x20;
const EQUAL = 0x15;
const AT_LEAST = 0x35;
const AND = 0x54;
const RETURN = 0x06;
const ALLOW: Step = [RETURN, 0, 0, 0x7fff0000];
const NO_SUCH_CALL: Step = [RETURN, 0, 0, 0x00050000 | 38];
const NOT_PERMITTED: Step = [RETURN, 0, 0, 0x00050000 | 1];
const NO_SUCH_FAMILY: Step = [RETURN, 0, 0, 0x00050000 | 97];
/** The family of sockets between a virtual machine and its host. */
const AF_VSOCK = 40;
/** `io_uring_setup`, by one number on every machine: its requests open sockets that no filter sees. */
const IO_URING_SETUP = 425;
const CALL = 0;
const MACHINE = 4;
const argument = (index: number) => 16 + 8 * index;

/** The calls for keys answer that they do not exist. If the sandbox has no network of the machine's, no socket leads to its host either. */
export const sandboxFilter = ({ hasHostNetwork }: { readonly hasHostNetwork: boolean }) =>
  assemble(({ keys, socket, socketcall }) => [
    ...refuseKeys(keys),
    ...(hasHostNetwork ? [] : refuseHostSockets(socket, socketcall)),
  ]);

function refuseHostSockets(socket: number, socketcall: number | null): Step[] {
  const absent = [IO_URING_SETUP, ...(socketcall === null ? [] : [socketcall])];
  return [
    ...absent.flatMap((call): Step[] => [[EQUAL, 0, 1, call], NO_SUCH_CALL]),
    [EQUAL, 0, 4, socket],
    [LOAD, 0, 0, argument(0)],
    [EQUAL, 0, 1, AF_VSOCK],
    NO_SUCH_FAMILY,
    ALLOW,
  ];
}

/** The same, and a process changes priorities and limits of itself alone. */
export const foreignProcessFilter = () =>
  assemble(({ keys, setpriority, ioprio_set, prlimit64 }) => [
    ...refuseKeys(keys),
    ...refuseOthers(setpriority, 1, PRIO_USER),
    ...refuseOthers(ioprio_set, 1, IOPRIO_WHO_USER),
    ...refuseOthers(prlimit64, 0, null),
  ]);

function refuseKeys([first, last]: readonly [number, number]): Step[] {
  return [[AT_LEAST, 0, 2, first], [AT_LEAST, 1, 0, last + 1], NO_SUCH_CALL];
}

/** `who`: the argument that names a process, 0 for the caller. `all`: a first argument that means more than one process. */
function refuseOthers(call: number, who: number, all: number | null): Step[] {
  const steps: Step[] = [[LOAD, 0, 0, argument(who)], [EQUAL, 1, 0, 0], NOT_PERMITTED];
  if (all !== null) steps.push([LOAD, 0, 0, argument(0)], [EQUAL, 0, 1, all], NOT_PERMITTED);
  return [[EQUAL, 0, steps.length + 1, call], ...steps, ALLOW];
}

function assemble(rules: (machine: (typeof MACHINES)[number]) => readonly Step[]): Uint8Array {
  const steps = MACHINES.flatMap((machine): Step[] => {
    const own: Step[] = [[LOAD, 0, 0, CALL], [AND, 0, 0, ~X32 >>> 0], ...rules(machine), ALLOW];
    return [[LOAD, 0, 0, MACHINE], [EQUAL, 0, own.length, machine.machine], ...own];
  });
  steps.push(ALLOW);
  const bytes = Buffer.alloc(steps.length * 8);
  for (const [i, [code, yes, no, value]] of steps.entries()) {
    bytes.writeUInt16LE(code, i * 8);
    bytes.writeUInt8(yes, i * 8 + 2);
    bytes.writeUInt8(no, i * 8 + 3);
    bytes.writeUInt32LE(value, i * 8 + 4);
  }
  return bytes;
}
