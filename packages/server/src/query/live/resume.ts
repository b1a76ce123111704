/** How a client that reconnects with a position continues. */

import { Refusal } from 'gatehouse-protocol'
import { BACKGROUND, inTurns } from '../../lib/turns.ts'
import { LostPosition, type Positions, packPositions } from '../engines/live-source.ts'
import { isTransient } from './evaluate/evaluator.ts'
import type { LiveReader } from './evaluate/reader.ts'
import { SharedReads } from './evaluate/shared-reads.ts'
import type { PositionSeal } from './position.ts'
import { difference, type LiveState, toState } from './results/difference.ts'
import { collectFormerKeys, type FormerKeys } from './results/former-keys.ts'
import type { LiveResult, Step } from './results/live-result.ts'
import type { FamilyTarget, LiveTarget } from './target.ts'

export type Start =
  /** The client has this version of the result. */
  | { readonly kind: 'version'; readonly version: number }
  /** What the client missed is known from the change log. */
  | { readonly kind: 'step'; readonly step: Step }
  | { readonly kind: 'expired' }

const EXPIRED: Start = { kind: 'expired' }

/** Reads are shared: after a restart many clients reconnect at once, most of them with the same positions. */
export class Resumes {
  readonly #reader: LiveReader
  readonly #seal: PositionSeal
  readonly #keys = new SharedReads<FormerKeys | undefined>()
  readonly #states = new SharedReads<LiveState | undefined>()

  constructor(reader: LiveReader, seal: PositionSeal) {
    this.#reader = reader
    this.#seal = seal
  }

  async startAt(text: string, result: LiveResult): Promise<Start> {
    const { target } = result
    const position = this.#seal.read(text, target)
    if (position === undefined || target.method === 'clock') return EXPIRED
    if (position.resultId === result.id && result.covers(position.version))
      return { kind: 'version', version: position.version }
    const { tables: positions } = position
    if (positions === undefined || positions.size === 0 || target.readsSystemTables) return EXPIRED
    // The position is from another node, or older than the changes in memory. This node may be behind the other.
    await result.evaluator?.bringUpToDate()
    const { version } = result
    const found = await this.#reader.source.changedSince(positions)
    if (found.size === 0 && result.covers(version)) return { kind: 'version', version }
    if ([...found.values()].some((change) => change !== 'changed')) return EXPIRED
    try {
      const { family } = target
      const step =
        family === undefined
          ? await this.#stepFromResult(result, positions)
          : await this.#stepFromKeys(result, family, positions.get(family.table) ?? '')
      return step === undefined ? EXPIRED : { kind: 'step', step }
    } catch (error) {
      // The statement may fail on the earlier rows.
      if (error instanceof LostPosition || (error instanceof Refusal && !isTransient(error))) return EXPIRED
      throw error
    }
  }

  /** The earlier values of the changed rows show which of them the client holds. */
  async #stepFromKeys(result: LiveResult, family: FamilyTarget, position: string): Promise<Step | undefined> {
    const { version } = result
    // A read that is already running may not see the changes of this version.
    const former = await this.#keys.readAnew(`${family.identity}\n${position}`, async () => {
      const reply = await this.#reader.readChanged(family.readFormer(position))
      return inTurns(collectFormerKeys(reply), BACKGROUND)
    })
    return former && result.stepFromKeys(former, family.route, version)
  }

  /** The client holds the whole result as it was. */
  async #stepFromResult(result: LiveResult, positions: Positions): Promise<Step | undefined> {
    const { fingerprint, tables } = result.target
    const key = `${fingerprint}\n${packPositions(tables, positions)}`
    const former = await this.#states.read(key, () => this.#readFormer(result.target, positions))
    if (former === undefined) return undefined
    const { version, state } = result
    return result.stepFromChanges(await inTurns(difference(former, state), BACKGROUND), version)
  }

  async #readFormer(target: LiveTarget, positions: Positions): Promise<LiveState | undefined> {
    const { isOrdered, keyNames } = target.plan
    const reply = await this.#reader.readFormer(target, positions)
    return reply && inTurns(toState(reply.rows, { isOrdered, hasKeys: keyNames !== null }), BACKGROUND)
  }
}
