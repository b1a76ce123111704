/** The transaction block of a session: its state, its savepoints, and the rows that COMMIT writes. Nothing is locked. */
import type { ConnectionMemory } from '../../protocol/connection-memory.ts'
import type { TransactionStatus } from '../../protocol/replies.ts'
import type { Command } from '../commands/command.ts'
import type { Settings } from '../commands/settings.ts'
import { WireError } from '../failure.ts'
import { type DeferredCopy, DeferredInserts, type DeferredRows } from './deferred-rows.ts'

/** Of a savepoint, besides its name. */
const SAVEPOINT_BYTES = 200

export const AUTOCOMMIT = 'Run it outside of a transaction block, with autocommit'

/** Implicit: the statements of one Query. Explicit: by BEGIN. */
type BlockKind = 'implicit' | 'explicit'

interface Savepoint {
  readonly name: string
  count: number
  bytes: number
  hasCopy: boolean
  /** The portals that were created before it. */
  readonly portals: number
}

export class TransactionBlock {
  readonly #memory: ConnectionMemory
  readonly #settings: Settings
  /** The setting wire_writes. */
  readonly #allowsWrites: () => boolean
  #kind: BlockKind | 'none' = 'none'
  #hasFailed = false
  #isReadOnly = false
  #inserts: DeferredInserts
  #copy: DeferredCopy | undefined
  #savepoints: Savepoint[] = []

  constructor(memory: ConnectionMemory, settings: Settings, allowsWrites: () => boolean) {
    this.#memory = memory
    this.#settings = settings
    this.#allowsWrites = allowsWrites
    this.#inserts = new DeferredInserts(memory)
  }

  /** As ReadyForQuery tells it. */
  get status(): TransactionStatus {
    if (this.#kind !== 'explicit') return 'I'
    return this.#hasFailed ? 'E' : 'T'
  }

  get isOpen(): boolean {
    return this.#kind !== 'none'
  }

  get isExplicit(): boolean {
    return this.#kind === 'explicit'
  }

  get hasFailed(): boolean {
    return this.#hasFailed
  }

  get isReadOnly(): boolean {
    return this.isOpen ? this.#isReadOnly : this.#settings.get('default_transaction_read_only') === 'on'
  }

  /** SET TRANSACTION, which has no effect outside a block. */
  setReadOnly(isReadOnly: boolean): void {
    if (this.isOpen) this.#isReadOnly = isReadOnly
  }

  // ── Begin and end ─────────────────────────────────────────────────────────────────────────────────────────────────

  /** BEGIN within the implicit block of a Query makes it explicit. */
  begin(kind: BlockKind, isReadOnly = this.#settings.get('default_transaction_read_only') === 'on'): void {
    if (!this.isOpen) this.#settings.beginBlock()
    this.#kind = kind
    this.#isReadOnly = isReadOnly
  }

  /** Ends it, and returns what is to be written: the memory of it stays counted. What SET has changed is settled by `settle`. */
  end(): DeferredRows {
    const rows = { inserts: this.#inserts, copy: this.#copy }
    this.#kind = 'none'
    this.#hasFailed = false
    this.#isReadOnly = false
    this.#inserts = new DeferredInserts(this.#memory)
    this.#copy = undefined
    this.#truncateSavepoints(0)
    return rows
  }

  /** What SET has changed in the block is undone with it. */
  settle(isCommitted: boolean): void {
    this.#settings.endBlock(isCommitted)
  }

  /** Ends it without a write. */
  rollback(): void {
    const { inserts, copy } = this.end()
    inserts.drop()
    this.#memory.give(copy?.bytes ?? 0)
    this.settle(false)
  }

  /** An error ends an implicit block, and makes an explicit one fail. */
  fail(): void {
    if (this.isExplicit) this.#hasFailed = true
    else if (this.isOpen) this.rollback()
  }

  // ── What statements need ──────────────────────────────────────────────────────────────────────────────────────────

  /** Refuses everything but the end of a failed block. */
  requireUsable(): void {
    if (this.#hasFailed)
      throw new WireError(
        '25P02',
        'The transaction has failed: statements are ignored until the end of the block',
        'Send ROLLBACK',
      )
  }

  /** The client may write: the setting, and the mode of the transaction. */
  requireWritable(): void {
    if (!this.#allowsWrites())
      throw new WireError(
        '25006',
        'Connections of PostgreSQL clients only read here',
        'An operator can allow writes: the setting wire_writes',
      )
    if (this.isReadOnly) throw new WireError('25006', 'The transaction only reads')
  }

  /** Writes that cannot be deferred to COMMIT. */
  requireNone(): void {
    if (!this.isOpen) return
    throw new WireError(
      '0A000',
      'In a transaction block, only COPY … FROM STDIN, and INSERT … VALUES without RETURNING and ON CONFLICT, can write',
      AUTOCOMMIT,
    )
  }

  /** What a read would not see. */
  requireReadable(tables: readonly { readonly name: string }[]): void {
    if (this.#inserts.tables.size === 0 && this.#copy === undefined) return
    const unread = tables.find(({ name }) => this.#inserts.tables.has(name) || this.#copy?.table === name)
    if (unread !== undefined)
      throw new WireError(
        '0A000',
        `The block has rows for ${unread.name} that are written at COMMIT, and cannot be read before`,
        AUTOCOMMIT,
      )
  }

  // ── Deferred rows ─────────────────────────────────────────────────────────────────────────────────────────────────

  get inserts(): DeferredInserts {
    return this.#inserts
  }

  /** The rows of a COPY that is alone in the block. */
  get copy(): DeferredCopy | undefined {
    return this.#copy
  }

  get isEmpty(): boolean {
    return this.#copy === undefined && this.#inserts.count === 0
  }

  /** The bytes of all rows. */
  get bytes(): number {
    return this.#inserts.bytes + (this.#copy?.bytes ?? 0)
  }

  deferCopy(copy: DeferredCopy): void {
    this.#copy = copy
  }

  /** The rows of the COPY, and no others, are INSERTs now. */
  replaceCopy(): void {
    for (const savepoint of this.#savepoints.filter(({ hasCopy }) => hasCopy)) {
      savepoint.count = this.#inserts.count
      savepoint.bytes = this.#inserts.bytes
      savepoint.hasCopy = false
    }
    this.#dropCopy()
  }

  #dropCopy(): void {
    this.#memory.give(this.#copy?.bytes ?? 0)
    this.#copy = undefined
  }

  // ── Savepoints ────────────────────────────────────────────────────────────────────────────────────────────────────

  savepoint(name: string, portals: number): void {
    this.#requireExplicit('SAVEPOINT')
    this.#memory.take(savepointBytes(name))
    this.#savepoints.push({
      // Copied: a part of a text would keep the whole of it in memory.
      name: Buffer.from(name).toString(),
      count: this.#inserts.count,
      bytes: this.#inserts.bytes,
      hasCopy: this.#copy !== undefined,
      portals,
    })
  }

  releaseSavepoint(name: string): void {
    this.#requireExplicit('RELEASE SAVEPOINT')
    this.#truncateSavepoints(this.#findSavepoint(name))
  }

  /** Returns the number of portals that were created before the savepoint. */
  rollbackTo(name: string): number {
    this.#requireExplicit('ROLLBACK TO SAVEPOINT')
    const index = this.#findSavepoint(name)
    const { count, bytes, hasCopy, portals } = this.#savepoints[index] ?? NOTHING
    this.#truncateSavepoints(index + 1)
    this.#inserts.truncate(count, bytes)
    if (!hasCopy) this.#dropCopy()
    this.#hasFailed = false
    return portals
  }

  #truncateSavepoints(count: number): void {
    for (const { name } of this.#savepoints.splice(count)) this.#memory.give(savepointBytes(name))
  }

  #requireExplicit(command: string): void {
    if (this.#kind !== 'explicit') throw new WireError('25P01', `${command} can only be used in transaction blocks`)
  }

  #findSavepoint(name: string): number {
    const index = this.#savepoints.findLastIndex((savepoint) => savepoint.name === name)
    if (index === -1) throw new WireError('3B001', `There is no savepoint ${name}`)
    return index
  }
}

const NOTHING = { count: 0, bytes: 0, hasCopy: false, portals: 0 }

function savepointBytes(name: string): number {
  return SAVEPOINT_BYTES + 2 * name.length
}

/** What a failed block accepts. */
export function endsBlock(command: Command | undefined): boolean {
  return command?.kind === 'commit' || command?.kind === 'rollback' || command?.kind === 'rollback-to'
}
