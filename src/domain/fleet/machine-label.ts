interface NamedMachine {
  readonly id: string;
  readonly name: string;
}

/** Machines with the same name are distinguished by their ids. */
export function distinctMachineName({ id, name }: NamedMachine, all: readonly NamedMachine[]): string {
  return all.some((one) => one.name === name && one.id !== id) ? `${name} (${id.slice(0, 4)})` : name;
}
