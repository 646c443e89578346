/** A GitHub of its own process, so that what it costs is not counted as ours: `solve-forge.ts FOLDER HOST ISSUES`. */
import { startGitHub } from "../test/fakes/forges/github-server.ts";
import { seedRepository } from "../test/fakes/forges/seed-repository.ts";
import { addItem, addPerson, addRepository, createWorld } from "../test/fakes/forges/world.ts";

const [folder = "", host = "", issues = "1"] = process.argv.slice(2);
const world = createWorld();
const alice = addPerson(world, "alice");
const repository = addRepository(
  world,
  "acme/calc",
  seedRepository(folder, {
    "calc.py": "def add(a, b):\n    return a - b\n",
    "test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n",
  }),
);
repository.permissions.set("alice", "write");
for (let i = 0; i < Number(issues); i++)
  addItem(repository, { kind: "issue", title: "Sum is wrong", body: "1 + 2 is -1", author: alice });
const { url } = startGitHub(world, host);
console.log(JSON.stringify({ url, token: world.token }));
