import { IMAGE_RECIPES, recipeNamed } from "../../domain/containers/environments.ts";
import { abortable, type Flags, fail, printJson, type Subcommand } from "./command.ts";
import { environmentTexts, usageStop, withEnvironments } from "./environments.ts";
import { usageText } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";
import { whileWaiting } from "./progress-line.ts";

/** `images build [NAME] [--from debian-rootfs|IMAGE] [--again]`: the images of environments; all of them without a name. */
export const command: Subcommand = {
  name: "images",
  usage: "images build [NAME]",
  flags: { from: "string", again: "boolean" },
  words: 2,
  run: images,
};

const RECIPES = IMAGE_RECIPES.map(({ name }) => name);

async function images(program: CliProgram, { values, words, json }: Flags): Promise<number> {
  const [action, name] = words;
  if (action !== "build")
    throw usageStop(
      program,
      values,
      action === undefined
        ? usageText(program, command)
        : environmentTexts(program).unknownSubcommand(`images ${action}`, ["build"]),
    );
  const named = name === undefined ? undefined : recipeNamed(name);
  if (name !== undefined && named === undefined)
    throw usageStop(program, values, environmentTexts(program).unknownImage(name, RECIPES));
  const built: string[] = [];
  const shown = program.errIsTerminal && !json;
  return withEnvironments(program, values, async (environments) => {
    const { texts } = environments;
    for (const recipe of named === undefined ? IMAGE_RECIPES : [named]) {
      const said: string[] = [];
      const outcome = await whileWaiting(
        program,
        { words: environments.messages.waitsFor.image(recipe.name), quiet: json },
        (waiting) =>
          abortable((signal) =>
            environments.buildImage({
              name: recipe.name,
              ...(typeof values.from === "string" && { from: values.from }),
              again: values.again === true,
              signal,
              onImage: (image, what) => {
                if (!json) program.out(`${texts.image(image, what)}\n`);
              },
              onLine: (line) => {
                said.push(line);
                if (said.length > 20) said.shift();
                if (shown) waiting.print(`    ${line}`);
              },
            }),
          ),
      );
      if (!outcome.ok) {
        const text = [
          texts.failure("image-failed", outcome.name, outcome.message),
          ...(outcome.code === "root-missing" ? [texts.rootNeedsRoot] : []),
          ...(outcome.code === "no-root" ? [texts.buildFrom] : []),
          ...(shown ? [] : said),
        ].join("\n");
        const exitCode =
          outcome.code === "build-failed" || outcome.code === "no-root" ? EXIT.failed : EXIT.refused;
        return fail(program, json, { exitCode, code: outcome.code, text });
      }
      built.push(...outcome.built);
    }
    if (json) return printJson(program, { success: true, built });
    for (const image of built) program.out(`${texts.image(image, "built")}\n`);
    return EXIT.done;
  });
}
