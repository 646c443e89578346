import type { Rewound, Session, SessionStore, Turn } from "../ports/chat.ts";

/** What a session forgets for `/rewind`, and remembers again. */
export interface RewoundTurns {
  /** Everything said in a session, in order. */
  turns(session: Session): Promise<readonly Turn[]>;
  /** Forgets the turns after a position, with the jobs that were swapped for it; `putBack` remembers them again. */
  setAside(session: Session, after: number, jobs: Pick<Rewound, "jobIds" | "again">): Promise<void>;
  /** The last thing that was set aside in this session; null when there is none. */
  lastAside(session: Session): Promise<Rewound | null>;
  putBack(session: Session, aside: Rewound): Promise<void>;
}

/** Turns of one session that are looked through. */
const MOST_REWOUND_TURNS = 10_000;
/** Rewinds that can be brought back, one after the other. */
const MOST_KEPT = 20;

export function createRewoundTurns(store: SessionStore): RewoundTurns {
  const kept = async (chatKey: string) => (await store.settings(chatKey)).rewound;
  return {
    async turns({ chatKey, id }) {
      return (await store.turns(chatKey, id, { after: 0, limit: MOST_REWOUND_TURNS })).turns;
    },
    async setAside({ chatKey, id: sessionId, turns }, after, jobs) {
      const before = await kept(chatKey);
      // No session is called so: its id never has this mark.
      const name = `${sessionId}~${after}-${turns}-${before.length}`;
      await store.setAside(chatKey, sessionId, after, name);
      const rewound = [...before.slice(1 - MOST_KEPT), { sessionId, name, ...jobs }];
      await store.saveSettings(chatKey, { rewound });
    },
    async lastAside({ chatKey, id }) {
      return (await kept(chatKey)).findLast(({ sessionId }) => sessionId === id) ?? null;
    },
    async putBack({ chatKey, id }, { name }) {
      await store.putBack(chatKey, id, name);
      await store.saveSettings(chatKey, {
        rewound: (await kept(chatKey)).filter((one) => one.name !== name),
      });
    },
  };
}
