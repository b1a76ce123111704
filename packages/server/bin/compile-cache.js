// Turns on the compile cache of Node, in a folder that belongs to this user: anyone who can write to it decides what is run. Node's own
// choice is one folder for all users, that of the first who runs something.
import { lstatSync, mkdirSync } from 'node:fs'
import module from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export function enableCompileCache() {
  const isChosen = (process.env.NODE_COMPILE_CACHE ?? '') !== '' || process.getuid === undefined
  if (isChosen) return module.enableCompileCache?.()
  const folder = join(tmpdir(), `gatehouse-cache-${process.getuid()}`)
  if (isOwn(folder)) module.enableCompileCache?.(folder)
}

/** Created where it is missing. Without it, a start only takes longer. */
function isOwn(folder) {
  try {
    mkdirSync(folder, { mode: 0o700, recursive: true })
    const found = lstatSync(folder)
    return found.isDirectory() && found.uid === process.getuid() && (found.mode & 0o022) === 0
  } catch {
    return false
  }
}
