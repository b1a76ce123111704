/** Rows that are checked at once and written later, all or none: at COMMIT, or at the Sync that ends a pipeline. */
import { type Bound, type IqlValue, printName, sameType } from 'gatehouse-iql'
import type { BulkFormat } from '../../../query/codecs.ts'
import { type CallPart, type Planning, whenPlanned } from '../../../query/index.ts'
import type { ConnectionMemory } from '../../protocol/connection-memory.ts'
import { WireError } from '../failure.ts'
import type { Runner } from '../runner.ts'
import { type BoundPortal, boundSize, IqlStatement, PLAN_TIMES } from '../statement/iql-statement.ts'

/** The bytes that all rows of a block may have. */
export const MAX_DEFERRED_BYTES = 64 * 1024 * 1024

/** What COMMIT writes: INSERTs, or one COPY. */
export interface DeferredRows {
  readonly inserts: DeferredInserts
  readonly copy: DeferredCopy | undefined
}

export interface DeferredCopy extends CopyTarget {
  readonly parts: readonly Uint8Array[]
  /** The memory that was taken for it. */
  readonly bytes: number
}

export interface CopyTarget {
  readonly table: string
  readonly columns: readonly string[]
  readonly format: BulkFormat
}

interface DeferredInsert {
  readonly statement: IqlStatement
  readonly values: readonly IqlValue[]
  readonly table: string
}

/** In order, with their size and that of the plans that the write makes. */
export class DeferredInserts {
  readonly tables = new Set<string>()
  readonly #inserts: DeferredInsert[] = []
  readonly #memory: ConnectionMemory
  /** Statements with plans of their own, and the plans that others share. */
  readonly #planned = new Set<object>()
  /** By text. */
  readonly #rowStatements = new Map<string, IqlStatement>()
  #bytes = 0

  constructor(memory: ConnectionMemory) {
    this.#memory = memory
  }

  get count(): number {
    return this.#inserts.length
  }

  get bytes(): number {
    return this.#bytes
  }

  add(insert: DeferredInsert, bytes: number): void {
    if (this.#bytes + bytes > MAX_DEFERRED_BYTES)
      throw new WireError('54000', 'The block has more than 64 MiB of rows', 'Commit more often, or use COPY')
    this.#memory.take(bytes)
    this.#bytes += bytes
    this.#inserts.push(insert)
    this.tables.add(insert.table)
  }

  /** Checks an INSERT of values and adds its rows; returns their number. */
  addStatement(portal: BoundPortal, runner: Runner): number {
    const { bound } = runner.permit(portal)
    const { statement } = bound
    if (statement.kind !== 'insert' || statement.rows.kind !== 'values')
      throw new Error('Only an INSERT of values is deferred')
    const table = statement.table.name
    const rows = constantRows(statement)
    if (rows === undefined) {
      const size = boundSize(portal) + this.#planBytes(portal.statement, bound)
      this.add({ statement: portal.statement, values: portal.values, table }, size)
      return statement.rows.rows.length
    }
    const text = insertText(
      table,
      statement.columns.map(({ name }) => name),
    )
    const shared = this.#rowStatements.get(text) ?? rowStatement(text, runner)
    this.#rowStatements.set(text, shared)
    for (const values of rows) this.add({ statement: shared, values, table }, rowBytes(values))
    return rows.length
  }

  /** The bytes of a plan; 0 if it is counted already. */
  #planBytes(statement: IqlStatement, bound: object): number {
    if (this.#planned.has(statement) || this.#planned.has(bound)) return 0
    this.#planned.add(statement).add(bound)
    return PLAN_TIMES * statement.text.length
  }

  /** Removes what was added since. */
  truncate(count: number, bytes: number): void {
    this.#inserts.length = count
    this.#memory.give(this.#bytes - bytes)
    this.#bytes = bytes
    this.#planned.clear()
    this.tables.clear()
    for (const { table } of this.#inserts) this.tables.add(table)
  }

  /** They are not written. */
  drop(): void {
    this.truncate(0, 0)
  }

  /** Their memory is counted until they are written, also if the connection ends meanwhile. */
  async write(runner: Runner): Promise<void> {
    const giveBack = this.#memory.handOver(this.#bytes)
    this.#bytes = 0
    try {
      const [first] = this.#inserts
      if (first !== undefined) await runner.write(first.statement.text, (planning) => this.#parts(planning))
    } finally {
      giveBack()
    }
  }

  /** Inserts that follow each other with one plan share a part. */
  async #parts(planning: Planning): Promise<readonly CallPart[]> {
    const parts: CallPart[] = []
    let last: { readonly statement: IqlStatement; readonly valueSets: IqlValue[][] } | undefined
    for (const { statement, values } of this.#inserts) {
      if (last?.statement === statement) {
        last.valueSets.push([...values])
        continue
      }
      const valueSets = [[...values]]
      const planned = whenPlanned(() => statement.plan(planning))
      parts.push({ planned: planned instanceof Promise ? await planned : planned, valueSets })
      last = { statement, valueSets }
    }
    return parts
  }
}

/** An INSERT with one row of parameters: many rows share its plan, which would take far more memory than they do. */
export function rowStatement(text: string, { planning }: Runner): IqlStatement {
  // It is planned again when it runs, with what the caller has then.
  planning.rights.renounce()
  return new IqlStatement(text, { text: '', offset: 0 }, [], planning)
}

export function insertText(table: string, columns: readonly string[]): string {
  const places = columns.map((_, index) => `$${index + 1}`)
  return `INSERT INTO ${quoted(table)} (${columns.map(quoted).join(', ')}) VALUES (${places.join(', ')})`
}

function quoted(name: string): string {
  return printName({ text: name, at: 0 })
}

type BoundInsert = Extract<Bound['statement'], { readonly kind: 'insert' }>

/** The values of an INSERT of constants; undefined if it has others, or shares its plan with INSERTs of other constants. */
function constantRows({ columns, rows }: BoundInsert): IqlValue[][] | undefined {
  if (rows.kind !== 'values') return undefined
  const result: IqlValue[][] = []
  for (const row of rows.rows) {
    const values: IqlValue[] = []
    for (const [index, cell] of row.entries()) {
      const type = columns[index]?.type
      if (cell.kind !== 'literal' || cell.written !== undefined || type === undefined) return undefined
      if (cell.value !== null && !sameType(cell.type, type)) return undefined
      values.push(cell.value)
    }
    result.push(values)
  }
  return result
}

/** Of a row, besides its values. */
const ROW_BYTES = 64

export function rowBytes(values: readonly IqlValue[]): number {
  let size = ROW_BYTES
  for (const value of values)
    size += typeof value === 'string' ? 16 + 2 * value.length : value instanceof Uint8Array ? 16 + value.length : 16
  return size
}

/** Whether it can be written later: an INSERT of values that returns nothing. */
export function isDeferrable({ planned }: BoundPortal): boolean {
  const { statement } = planned.bound
  if (statement.kind !== 'insert' || statement.table.isSystem) return false
  return statement.rows.kind === 'values' && statement.onConflict === undefined && statement.returning.length === 0
}
