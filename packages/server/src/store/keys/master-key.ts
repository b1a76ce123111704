/** The master key of an installation, from which every key that protects data at rest is derived. */
import { hkdfSync, randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DataFolder } from '../database/data-folder.ts'

const BYTES = 32
export const MASTER_KEY_FILE = 'master.key'

export interface MasterKey {
  /** A 256-bit key for one purpose (HKDF); it reveals nothing about the keys for other purposes. */
  derive(purpose: string): Buffer
}

export class WrongMasterKey extends Error {
  override name = 'WrongMasterKey'
}

/** The configured key (nodes that share a database must share it), or one generated in the data folder at the first start. */
export function openMasterKey(folder: DataFolder, configured: Buffer | undefined): MasterKey {
  return derivedFrom(configured ?? folder.secret(MASTER_KEY_FILE, () => randomBytes(BYTES)))
}

/** Without generating one: undefined if there is none yet. */
export function findMasterKey(dataFolder: string, configured: Buffer | undefined): MasterKey | undefined {
  const file = join(dataFolder, MASTER_KEY_FILE)
  if (configured !== undefined) return derivedFrom(configured)
  return existsSync(file) ? derivedFrom(readFileSync(file)) : undefined
}

export function requireMasterKey(dataFolder: string, configured: Buffer | undefined): MasterKey {
  const key = findMasterKey(dataFolder, configured)
  if (key !== undefined) return key
  throw new WrongMasterKey(
    'The master key is missing: set GATEHOUSE_MASTER_KEY as for the server, or restore master.key in the data folder.',
  )
}

function derivedFrom(key: Buffer): MasterKey {
  return { derive: (purpose) => Buffer.from(hkdfSync('sha256', key, Buffer.alloc(0), `gatehouse ${purpose}`, BYTES)) }
}
