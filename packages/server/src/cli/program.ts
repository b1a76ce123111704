/** How the user runs the program again from the current folder, for hints that are pasted. */
import { basename, join, relative, sep } from 'node:path'
import { CLONE_PROGRAM, IS_CLONE } from '../lib/program-files.ts'

/** Never a name that a package manager would look up elsewhere, such as that of `npx`. */
export function programName(started = process.argv[1] ?? '', folder = process.cwd(), isClone = IS_CLONE): string {
  const isLink = basename(started) === 'gatehouse' && started !== CLONE_PROGRAM
  const isProject = started.endsWith(join('node_modules', '.bin', 'gatehouse'))
  if (isLink && !isProject) return 'gatehouse'
  if (isClone) return pathFrom(folder, CLONE_PROGRAM)
  return isProject ? pathFrom(folder, started) : 'gatehouse'
}

function pathFrom(folder: string, file: string): string {
  const path = relative(folder, file)
  return path.includes(sep) ? path : `.${sep}${path}`
}
