/** Transaction blocks: their states, savepoints, and the rows that are kept until COMMIT. Nothing is locked. */
import type { IqlValue } from 'gatehouse-iql'
import { type Planned, whenPlanned } from '../../../query/index.ts'
import type { ConnectionMemory } from '../../protocol/kept-memory.ts'
import type { TransactionStatus } from '../../protocol/replies.ts'
import type { Command } from '../commands/command.ts'
import type { KeptCopy } from '../copy/kept-copy.ts'
import { WireError } from '../failure.ts'
import { type IqlStatement, PLAN_TIMES } from '../statement/iql-statement.ts'

/** The bytes that all rows of a block may have. */
export const MAX_KEPT_BYTES = 64 * 1024 * 1024

/** Of a savepoint, besides its name. */
const SAVEPOINT_BYTES = 200

export const AUTOCOMMIT = 'Run it outside of a transaction block, with autocommit'

/** An INSERT that runs at COMMIT. */
export interface KeptInsert {
  readonly statement: IqlStatement
  readonly values: readonly IqlValue[]
  readonly table: string
}

/** Inserts in order, and their size with the plans that COMMIT makes. */
export class KeptInserts {
  readonly inserts: KeptInsert[] = []
  readonly tables = new Set<string>()
  readonly #memory: ConnectionMemory
  /** Statements with plans of their own, and the plans that others share. */
  readonly #planned = new Set<object>()
  /** By text. */
  readonly #rowStatements = new Map<string, IqlStatement>()
  #bytes = 0

  constructor(memory: ConnectionMemory) {
    this.#memory = memory
  }

  get bytes(): number {
    return this.#bytes
  }

  add(insert: KeptInsert, bytes: number): void {
    if (this.#bytes + bytes > MAX_KEPT_BYTES)
      throw new WireError('54000', 'The block has more than 64 MiB of rows', 'Commit more often, or use COPY')
    this.#memory.take(bytes)
    this.#bytes += bytes
    this.inserts.push(insert)
    this.tables.add(insert.table)
  }

  /** The bytes of a plan; 0 if it is counted already. */
  planBytes(statement: IqlStatement, bound: object): number {
    if (this.#planned.has(statement) || this.#planned.has(bound)) return 0
    this.#planned.add(statement).add(bound)
    return PLAN_TIMES * statement.text.length
  }

  /** The statement with this text, made once, so that its rows share a plan. */
  rowStatement(text: string, make: () => IqlStatement): IqlStatement {
    const statement = this.#rowStatements.get(text) ?? make()
    this.#rowStatements.set(text, statement)
    return statement
  }

  /** Removes what was added since. */
  truncate(count: number, bytes: number): void {
    this.inserts.length = count
    this.#memory.give(this.#bytes - bytes)
    this.#bytes = bytes
    this.#planned.clear()
    this.tables.clear()
    for (const { table } of this.inserts) this.tables.add(table)
  }

  /** They are dropped. */
  release(): void {
    this.truncate(0, 0)
  }

  /** They are written, also if the connection ends meanwhile: counted until the result is called. */
  beginWrite(): () => void {
    const giveBack = this.#memory.handOver(this.#bytes)
    this.#bytes = 0
    return giveBack
  }
}

/** Steps of one write: inserts that run one after the other with one plan share a step. */
export async function stepsOf(
  inserts: readonly KeptInsert[],
  plan: (statement: IqlStatement) => Planned,
): Promise<{ readonly planned: Planned; readonly valueSets: IqlValue[][] }[]> {
  const steps: { readonly planned: Planned; readonly valueSets: IqlValue[][] }[] = []
  let last: { readonly statement: IqlStatement; readonly valueSets: IqlValue[][] } | undefined
  for (const { statement, values } of inserts) {
    if (last?.statement === statement) {
      last.valueSets.push([...values])
      continue
    }
    const valueSets = [[...values]]
    const planned = whenPlanned(() => plan(statement))
    steps.push({ planned: planned instanceof Promise ? await planned : planned, valueSets })
    last = { statement, valueSets }
  }
  return steps
}

interface Savepoint {
  readonly name: string
  count: number
  bytes: number
  hasCopy: boolean
  /** The portals that were created before it. */
  readonly portals: number
}

/** What a block kept: INSERTs, or one COPY. */
export interface KeptRows {
  readonly inserts: KeptInserts
  readonly copy: KeptCopy | undefined
}

const NOTHING_KEPT = { count: 0, bytes: 0, hasCopy: false, portals: 0 }

export class Block {
  /** Explicit: by BEGIN. Implicit: the statements of one Query. */
  #kind: 'none' | 'implicit' | 'explicit' = 'none'
  #hasFailed = false
  #isReadOnly = false
  readonly #memory: ConnectionMemory
  #kept: KeptInserts
  #copy: KeptCopy | undefined
  #savepoints: Savepoint[] = []

  constructor(memory: ConnectionMemory) {
    this.#memory = memory
    this.#kept = new KeptInserts(memory)
  }

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
    return this.#isReadOnly
  }

  set isReadOnly(value: boolean) {
    this.#isReadOnly = value
  }

  get kept(): KeptInserts {
    return this.#kept
  }

  /** The rows of a COPY that is alone in the block. */
  get copy(): KeptCopy | undefined {
    return this.#copy
  }

  get isEmpty(): boolean {
    return this.#copy === undefined && this.#kept.inserts.length === 0
  }

  /** The bytes of all rows. */
  get keptBytes(): number {
    return this.#kept.bytes + (this.#copy?.counted ?? 0)
  }

  keepCopy(copy: KeptCopy): void {
    this.#copy = copy
  }

  /** The rows of the COPY are all that is kept as INSERTs now. */
  replaceCopy(): void {
    for (const savepoint of this.#savepoints.filter(({ hasCopy }) => hasCopy)) {
      savepoint.count = this.#kept.inserts.length
      savepoint.bytes = this.#kept.bytes
      savepoint.hasCopy = false
    }
    this.#dropCopy()
  }

  begin(kind: 'implicit' | 'explicit', isReadOnly: boolean): void {
    this.#kind = kind
    this.#isReadOnly = isReadOnly
  }

  fail(): void {
    if (this.isOpen) this.#hasFailed = true
  }

  /** Refuses everything but the end of a failed block. */
  requireUsable(): void {
    if (this.#hasFailed)
      throw new WireError(
        '25P02',
        'The transaction has failed: statements are ignored until the end of the block',
        'Send ROLLBACK',
      )
  }

  /** What a read would not see. */
  requireReadable(tables: readonly { readonly name: string }[]): void {
    if (this.#kept.tables.size === 0 && this.#copy === undefined) return
    const unread = tables.find(({ name }) => this.#kept.tables.has(name) || this.#copy?.table === name)
    if (unread !== undefined)
      throw new WireError(
        '0A000',
        `The block has rows for ${unread.name} that are written at COMMIT, and cannot be read before`,
        AUTOCOMMIT,
      )
  }

  savepoint(name: string, portals: number): void {
    this.#requireExplicit('SAVEPOINT')
    this.#memory.take(savepointBytes(name))
    this.#savepoints.push({
      // Copied: a part of a text would hold the whole of it.
      name: Buffer.from(name).toString(),
      count: this.#kept.inserts.length,
      bytes: this.#kept.bytes,
      hasCopy: this.#copy !== undefined,
      portals,
    })
  }

  release(name: string): void {
    this.#requireExplicit('RELEASE SAVEPOINT')
    this.#keepSavepoints(this.#indexOf(name))
  }

  /** Returns the number of portals that were created before the savepoint. */
  rollbackTo(name: string): number {
    this.#requireExplicit('ROLLBACK TO SAVEPOINT')
    const index = this.#indexOf(name)
    const { count, bytes, hasCopy, portals } = this.#savepoints[index] ?? NOTHING_KEPT
    this.#keepSavepoints(index + 1)
    this.#kept.truncate(count, bytes)
    if (!hasCopy) this.#dropCopy()
    this.#hasFailed = false
    return portals
  }

  /** Ends it without a write. */
  drop(): void {
    const { inserts, copy } = this.end()
    inserts.release()
    this.#memory.give(copy?.counted ?? 0)
  }

  /** Ends it, and returns what it kept, which stays counted. */
  end(): KeptRows {
    const kept = { inserts: this.#kept, copy: this.#copy }
    this.#kind = 'none'
    this.#hasFailed = false
    this.#isReadOnly = false
    this.#kept = new KeptInserts(this.#memory)
    this.#copy = undefined
    this.#keepSavepoints(0)
    return kept
  }

  #keepSavepoints(count: number): void {
    for (const { name } of this.#savepoints.splice(count)) this.#memory.give(savepointBytes(name))
  }

  /** Its bytes were counted as they arrived. */
  #dropCopy(): void {
    this.#memory.give(this.#copy?.counted ?? 0)
    this.#copy = undefined
  }

  #requireExplicit(command: string): void {
    if (this.#kind !== 'explicit') throw new WireError('25P01', `${command} can only be used in transaction blocks`)
  }

  #indexOf(name: string): number {
    const index = this.#savepoints.findLastIndex((savepoint) => savepoint.name === name)
    if (index === -1) throw new WireError('3B001', `There is no savepoint ${name}`)
    return index
  }
}

function savepointBytes(name: string): number {
  return SAVEPOINT_BYTES + 2 * name.length
}

/** What a failed block accepts. */
export function endsBlock(command: Command | undefined): boolean {
  return command?.kind === 'commit' || command?.kind === 'rollback' || command?.kind === 'rollback-to'
}
