/** The portals of a session by name, counted; which of them end with a transaction. */

import type { ConnectionMemory } from '../../protocol/connection-memory.ts'
import type { BindMessage } from '../../protocol/messages.ts'
import { WireError } from '../failure.ts'
import type { Runner } from '../runner.ts'
import type { IqlStatement } from '../statement/iql-statement.ts'
import type { CatalogueStatement, Prepared } from '../statement/prepared-statement.ts'
import { isHoldable, type Portal, portalBytes, portalExecution, type RowsPortal } from './portal.ts'

const MAX_PORTALS = 100
/** Portals of this size and less are not counted. */
const SMALL_BYTES = 4096

interface Entry {
  readonly portal: Portal
  /** How many portals had been created with it. */
  readonly number: number
  /** The memory that a long one takes. */
  bytes: number
  /** A cursor WITH HOLD whose transaction has committed. */
  hasOutlivedTransaction: boolean
}

export class Portals {
  readonly #memory: ConnectionMemory
  readonly #runner: Runner
  readonly #entries = new Map<string, Entry>()
  #created = 0

  constructor(memory: ConnectionMemory, runner: Runner) {
    this.#memory = memory
    this.#runner = runner
  }

  bind(prepared: Prepared, message: BindMessage): Portal {
    switch (prepared.kind) {
      case 'empty':
        return { kind: 'empty', prepared }
      case 'command':
        if (prepared.declared !== undefined) {
          const declared = this.#bindRows(prepared.declared, { ...message, resultFormats: [] })
          return { kind: 'command', prepared, formats: message.resultFormats, declared }
        }
        if (message.values.length > 0) throw new WireError('08P01', 'The statement has no parameters')
        return { kind: 'command', prepared, formats: message.resultFormats }
      default:
        return this.#bindRows(prepared, message)
    }
  }

  #bindRows(prepared: CatalogueStatement | IqlStatement, message: BindMessage): RowsPortal {
    switch (prepared.kind) {
      case 'catalogue': {
        // The bytes of the message are reused.
        const values = message.values.map((value) => value && Buffer.from(value))
        return { kind: 'catalogue', prepared, message: { ...message, values }, execution: undefined }
      }
      case 'iql': {
        const bound = prepared.bind(message, this.#runner.planning)
        return { kind: 'iql', prepared, bound, execution: undefined }
      }
    }
  }

  add(name: string, portal: Portal): void {
    if (name === '') this.close('')
    else if (this.#entries.has(name)) throw new WireError('42P03', `The portal ${JSON.stringify(name)} exists`)
    else if (this.#entries.size >= MAX_PORTALS)
      throw new WireError('54000', `A connection has at most ${MAX_PORTALS} portals`, 'Close some')
    const size = 2 * name.length + portalBytes(portal)
    const bytes = size > SMALL_BYTES ? size : 0
    this.#memory.take(bytes)
    this.#created++
    this.#entries.set(name, { portal, number: this.#created, bytes, hasOutlivedTransaction: false })
  }

  /** Counts what a portal has come to have in memory until it is closed. */
  count(portal: RowsPortal, bytes: number): void {
    for (const entry of this.#entries.values()) {
      const isOwner = entry.portal === portal || (entry.portal.kind === 'command' && entry.portal.executed === portal)
      if (!isOwner) continue
      this.#memory.take(bytes)
      entry.bytes += bytes
    }
  }

  /** A cursor, or another portal that returns rows. */
  find(name: string): RowsPortal | undefined {
    const portal = this.#entries.get(name)?.portal
    return portal?.kind === 'iql' || portal?.kind === 'catalogue' ? portal : undefined
  }

  get(name: string): Portal {
    const entry = this.#entries.get(name)
    if (entry === undefined) throw new WireError('34000', `There is no portal ${JSON.stringify(name)}`)
    return entry.portal
  }

  close(name: string): void {
    const entry = this.#entries.get(name)
    if (entry === undefined) return
    this.#entries.delete(name)
    this.#memory.give(entry.bytes)
    portalExecution(entry.portal)?.abandon()
  }

  /** How many were created since the connection began. */
  get created(): number {
    return this.#created
  }

  closeAll(): void {
    for (const name of this.#entries.keys()) this.close(name)
  }

  // ── Transactions ──────────────────────────────────────────────────────────────────────────────────────────────────

  /** Closes those that end with every transaction: all but cursors WITH HOLD. */
  closeWithTransaction(): void {
    for (const [name, { portal }] of this.#entries) if (!isHoldable(portal)) this.close(name)
  }

  /** The transaction has committed. */
  commit(): void {
    if (this.#entries.size === 0) return
    this.closeWithTransaction()
    for (const entry of this.#entries.values()) entry.hasOutlivedTransaction = true
  }

  /** The transaction has failed, or is rolled back: only cursors of earlier ones go on. */
  rollback(): void {
    for (const [name, { hasOutlivedTransaction }] of this.#entries) if (!hasOutlivedTransaction) this.close(name)
  }

  /** To a savepoint: closes those that were created later, except the one without a name. */
  rollbackTo(created: number): void {
    for (const [name, { number }] of this.#entries) if (name !== '' && number > created) this.close(name)
  }
}
