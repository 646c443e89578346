import { texts as chat } from "./chat.ts";
import { texts as checks } from "./checks.ts";
import { texts as commands } from "./commands.ts";
import { texts as webConsole } from "./console.ts";
import { texts as docker } from "./docker.ts";
import { texts as environments } from "./environments.ts";
import { texts as fleet } from "./fleet.ts";
import { texts as help } from "./help.ts";
import { texts as line } from "./line.ts";
import { texts as manage } from "./manage.ts";
import { texts as memory } from "./memory.ts";
import { texts as models } from "./models.ts";
import { texts as serve } from "./serve.ts";
import { texts as setup } from "./setup.ts";
import { texts as slack } from "./slack.ts";
import { texts as solve } from "./solve.ts";
import { texts as tasks } from "./tasks.ts";
import { texts as telegram } from "./telegram.ts";

/** All columns but those of `at-start.ts`. */
export const texts = {
  chat,
  checks,
  commands,
  console: webConsole,
  docker,
  environments,
  fleet,
  help,
  line,
  manage,
  memory,
  models,
  serve,
  setup,
  slack,
  solve,
  tasks,
  telegram,
};
