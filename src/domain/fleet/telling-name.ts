interface Named {
  readonly id: string;
  readonly name: string;
}

/** Machines of one name are told apart by their ids. */
export function tellingName({ id, name }: Named, all: readonly Named[]): string {
  return all.some((one) => one.name === name && one.id !== id) ? `${name} (${id.slice(0, 4)})` : name;
}
