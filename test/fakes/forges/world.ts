/** A forge's data: people, repositories, issues, pulls and comments. Two servers show it in two languages. */
export interface World {
  readonly token: string;
  readonly bot: Person;
  readonly people: Map<string, Person>;
  readonly repositories: Map<string, Repository>;
  /** Requests in order, as `METHOD path`. */
  readonly requests: RecordedRequest[];
  /** Their faults by the forge's own description. */
  readonly violations: string[];
  /** Answers that come instead of the real one, first match first, each `times` times. */
  readonly faults: Fault[];
}

export interface Person {
  readonly id: number;
  readonly login: string;
}

export interface Repository {
  readonly id: number;
  readonly name: string;
  defaultBranch: string;
  archived: boolean;
  readonly permissions: Map<string, "read" | "write" | "admin">;
  readonly items: Map<number, Item>;
  readonly protectedBranches: Set<string>;
  /** Where the bare repository lies; null where only the API is tried. */
  folder: string | null;
  next: number;
}

export interface Item {
  readonly number: number;
  readonly kind: "issue" | "pull";
  title: string;
  body: string;
  author: Person;
  open: boolean;
  labels: string[];
  assignees: Person[];
  comments: Comment[];
  events: ItemEvent[];
  createdAt: string;
  pull?: { head: string; headRepository: string; headCommit: string; base: string; draft?: boolean };
}

export interface ItemEvent {
  readonly id: number;
  readonly kind: "labeled" | "assigned";
  readonly actor: Person;
  readonly what: string;
  readonly at: string;
}

export interface Comment {
  readonly id: number;
  author: Person;
  body: string;
  createdAt: string;
  editedAt?: string;
  review?: { path: string; line: number; repliesTo?: number };
}

export interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
}

export interface Fault {
  readonly method?: string;
  readonly path?: RegExp;
  times: number;
  readonly answer: () => Response | Promise<Response>;
}

export function createWorld(token = "forge-token-1234567890"): World {
  const bot = { id: 1, login: "picoclaw-bot" };
  return {
    token,
    bot,
    people: new Map([[bot.login, bot]]),
    repositories: new Map(),
    requests: [],
    violations: [],
    faults: [],
  };
}

export function addPerson(world: World, login: string): Person {
  const person = { id: world.people.size + 1, login };
  world.people.set(login, person);
  return person;
}

export function addRepository(world: World, name: string, folder: string | null = null): Repository {
  const repository: Repository = {
    id: world.repositories.size + 100,
    name,
    defaultBranch: "main",
    archived: false,
    permissions: new Map([[world.bot.login, "write"]]),
    items: new Map(),
    protectedBranches: new Set(["main"]),
    folder,
    next: 1,
  };
  world.repositories.set(name, repository);
  return repository;
}

export function addItem(
  repository: Repository,
  facts: Pick<Item, "kind" | "title" | "body" | "author"> & Partial<Item>,
): Item {
  const item: Item = {
    open: true,
    labels: [],
    assignees: [],
    comments: [],
    events: [],
    createdAt: new Date().toISOString(),
    ...facts,
    number: repository.next++,
  };
  repository.items.set(item.number, item);
  return item;
}

const COMMENTS = { next: 1000 };

export function addComment(item: Item, author: Person, body: string, review?: Comment["review"]): Comment {
  const comment: Comment = {
    id: COMMENTS.next++,
    author,
    body,
    createdAt: new Date().toISOString(),
    ...(review !== undefined && { review }),
  };
  item.comments.push(comment);
  return comment;
}

/** A user sets a label or an assignee: the new state and its event. */
export function request(
  item: Item,
  actor: Person,
  kind: ItemEvent["kind"],
  what: Person | string,
  at = new Date().toISOString(),
): void {
  if (typeof what === "string") item.labels.push(what);
  else item.assignees.push(what);
  const name = typeof what === "string" ? what : what.login;
  item.events.push({ id: COMMENTS.next++, kind, actor, what: name, at });
}

/** The answer that a fault gives to this request, if one does. */
export function takeFault(world: World, method: string, path: string): Fault | undefined {
  const fault = world.faults.find(
    (each) =>
      each.times > 0 &&
      (each.method === undefined || each.method === method) &&
      (each.path === undefined || each.path.test(path)),
  );
  if (fault !== undefined) fault.times--;
  return fault;
}
