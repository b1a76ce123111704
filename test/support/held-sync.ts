/** Holds back every sync of a file to the disk, for tests of what must wait for one. */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { afterEach, beforeEach, mock } from 'node:test'

/** Ends a sync: well, or with what the disk says. */
export type EndSync = (error: NodeJS.ErrnoException | null) => void

/** From each test's beginning to its end; the syncs that it asked for, in their order. */
export function holdSyncs(): readonly EndSync[] {
  const held: EndSync[] = []
  beforeEach(() => {
    held.length = 0
    mock.method(fs, 'fdatasync', (_descriptor: number, end: EndSync) => held.push(end))
    syncBuiltinESMExports()
  })
  afterEach(() => {
    mock.restoreAll()
    syncBuiltinESMExports()
  })
  return held
}
