import type { Model, ModelEvent } from "../src/application/ports/models.ts";

/** Milliseconds and calls by what was waited for. */
export interface PortTimes {
  readonly ms: Map<string, number>;
  readonly calls: Map<string, number>;
  /** The same port; what its functions take is counted under a name. */
  port<T extends object>(port: T, nameOf: (member: string) => string): T;
  model(model: Model, name: string): Model;
}

export function createPortTimes(): PortTimes {
  const ms = new Map<string, number>();
  const calls = new Map<string, number>();
  const add = (name: string, since: number) => ms.set(name, (ms.get(name) ?? 0) + performance.now() - since);
  const count = (name: string) => calls.set(name, (calls.get(name) ?? 0) + 1);
  return {
    ms,
    calls,
    port: (port, nameOf) =>
      new Proxy(port, {
        get(target, member) {
          const value: unknown = Reflect.get(target, member);
          if (typeof value !== "function" || typeof member !== "string") return value;
          return (...args: unknown[]) => {
            const name = nameOf(member);
            const since = performance.now();
            const result: unknown = value.apply(target, args);
            if (!(result instanceof Promise)) return result;
            count(name);
            return result.finally(() => add(name, since));
          };
        },
      }),
    model: (model, name) => ({
      ...model,
      async *generate(request): AsyncGenerator<ModelEvent> {
        count(name);
        const events = model.generate(request)[Symbol.asyncIterator]();
        for (;;) {
          const since = performance.now();
          const { done, value } = await events.next();
          add(name, since);
          if (done === true) return;
          yield value;
        }
      },
    }),
  };
}
