import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, isAbsolute, join, relative } from "node:path";
import type { ContextFile, Recipes } from "../../application/ports/images.ts";

export interface RecipeFolders {
  /** `images/` of the installation. */
  readonly images: string;
  /** Certificates that an administrator added to this machine. */
  readonly certificates: string;
  /** A project's Dockerfile is named from here and must lie inside. */
  readonly workspace: string;
}

const LARGEST_CONTEXT = 64 * 1024 ** 2;

export function createRecipes({ images, certificates, workspace }: RecipeFolders): Recipes {
  return {
    filesOf(folder) {
      const path = join(images, folder);
      return existsSync(join(path, "Dockerfile")) ? filesBelow(path, "").files : null;
    },
    certificates: () =>
      existsSync(certificates)
        ? readdirSync(certificates)
            .filter((name) => name.endsWith(".crt") && statSync(join(certificates, name)).isFile())
            .map((name) => fileAt(join(certificates, name), name))
        : [],
    project(dockerfile) {
      const path = isAbsolute(dockerfile) ? dockerfile : join(workspace, dockerfile);
      if (!existsSync(path)) return `no such file: ${dockerfile}`;
      const real = realpathSync(path);
      if (relative(realpathSync(workspace), real).startsWith(".."))
        return `outside the workspace: ${dockerfile}`;
      const { files, bytes } = filesBelow(dirname(real), "");
      if (bytes > LARGEST_CONTEXT)
        return `the folder of ${dockerfile} is larger than ${LARGEST_CONTEXT / 1024 ** 2} MiB; give the Dockerfile a folder of its own`;
      const own = relative(dirname(real), real);
      if (own === "Dockerfile") return files;
      const others = files.filter((file) => file.path !== "Dockerfile");
      return [...others, fileAt(real, "Dockerfile")];
    },
  };
}

function filesBelow(folder: string, path: string): { files: ContextFile[]; bytes: number } {
  const files: ContextFile[] = [];
  let bytes = 0;
  for (const name of readdirSync(folder).sort()) {
    if (name === ".git" || name === "node_modules" || bytes > LARGEST_CONTEXT) continue;
    const absolute = join(folder, name);
    const below = path === "" ? name : `${path}/${name}`;
    const stats = lstatSync(absolute);
    if (stats.isDirectory()) {
      const inner = filesBelow(absolute, below);
      files.push(...inner.files);
      bytes += inner.bytes;
    } else if (stats.isFile()) {
      bytes += stats.size;
      if (bytes <= LARGEST_CONTEXT) files.push(fileAt(absolute, below));
    }
  }
  return { files, bytes };
}

function fileAt(absolute: string, path: string): ContextFile {
  return { path, bytes: readFileSync(absolute), executable: (statSync(absolute).mode & 0o111) !== 0 };
}
