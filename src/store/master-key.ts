/** The one secret of an installation, from which every key that protects data at rest is derived. */
import { hkdfSync, randomBytes } from 'node:crypto'
import type { DataFolder } from './data-folder.ts'

const BYTES = 32
export const MASTER_KEY_FILE = 'master.key'

export interface MasterKey {
  /** 256 bits for one purpose; knowing them tells nothing about the keys of other purposes. */
  derive(purpose: string): Buffer
}

/** The configured key (nodes that share a database must share it), or one made in the data folder at the first start. */
export function openMasterKey(folder: DataFolder, configured: Buffer | undefined): MasterKey {
  const key = configured ?? folder.secret(MASTER_KEY_FILE, () => randomBytes(BYTES))
  return { derive: (purpose) => Buffer.from(hkdfSync('sha256', key, Buffer.alloc(0), `gatehouse ${purpose}`, BYTES)) }
}
