/** How a client that comes back with a position continues. */
import { LostPosition } from '../engines/live-source.ts'
import type { LiveResult, Step } from './live-result.ts'
import { readPosition } from './position.ts'
import type { LiveReader } from './reader.ts'

export type Start =
  /** The client has this version of the result. */
  | { readonly kind: 'version'; readonly version: number }
  /** What the client missed is known without knowing what it has. */
  | { readonly kind: 'step'; readonly step: Step }
  | { readonly kind: 'expired' }

const EXPIRED: Start = { kind: 'expired' }

export async function startAt(position: string, result: LiveResult, reader: LiveReader): Promise<Start> {
  const { target } = result
  if (target.method === 'clock') return EXPIRED
  const known = result.versionAt(position)
  if (known !== undefined) return { kind: 'version', version: known }
  const positions = readPosition(position, target.fingerprint, target.tables)
  if (positions === undefined || positions.size === 0 || target.readsSystemTables) return EXPIRED
  // Told by another node, or before the changes that are kept. This node may be behind the one that told it.
  await result.upkeep?.bringUpToDate()
  const { version } = result
  if (target.family === undefined) {
    const changed = await reader.source.changedSince(positions)
    return changed.size === 0 && result.covers(version) ? { kind: 'version', version } : EXPIRED
  }
  try {
    const { changed, exceeded } = await reader.readChanged(target.family, positions.get(target.family.table) ?? '')
    if (changed === undefined || exceeded !== 'no') return EXPIRED
    const step = await result.stepSince(changed, version)
    return step === undefined ? EXPIRED : { kind: 'step', step }
  } catch (error) {
    if (error instanceof LostPosition) return EXPIRED
    throw error
  }
}
