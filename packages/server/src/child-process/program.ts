/** The file of a program that the server starts as a process. */
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { builtFile } from '../../bin/program.js'

const built = new Map<string, string>()

/**
 * A server that runs from the sources starts the bundle of the program if it was built from them as they are, as `gatehouse` does: it
 * loads with a third of the processor time. Asked once for each program: what is changed later is not what the server has loaded.
 */
export function programFile(source: URL): string {
  const path = fileURLToPath(source)
  if (!path.endsWith('.ts')) return path
  const known = built.get(path) ?? builtFile(basename(path, '.ts')) ?? path
  built.set(path, known)
  return known
}
