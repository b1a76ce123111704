/** Checks of tables that the program defines itself, and of the rows to be inserted into them. Nothing is written. */

import { type IqlType, type IqlValue, NO_TABLES, readValue, type TableView, typeName, writeValue } from 'gatehouse-iql'
import { type Clock, Refusal, type StepUpRules } from 'gatehouse-protocol'
import type { AttributeDefinition } from '../../store/attributes/attributes.ts'
import { refuse } from '../errors.ts'
import { type AttributeViews, attributeViews } from './attributes.ts'
import { defineTable, rebind, refuseReserved } from './create-table.ts'
import { type BoundViewSpec, type BoundViews, bindViews, toViewSpecs, type ViewSpec } from './declared-views.ts'
import {
  type CatalogueChange,
  type IndexDefinition,
  type RetentionDefinition,
  type TableDefinition,
  usedBy,
} from './definition.ts'
import { refuseAgainstRetention } from './retention.ts'
import type { CatalogueSnapshot } from './snapshot.ts'

export interface TableSpec {
  readonly name: string
  readonly description: string
  readonly columns: readonly ColumnSpec[]
  readonly readScope: string | null
  readonly writeScope: string | null
  readonly rowFilter: string | null
  /** Conditions in IQL, by name. */
  readonly checks?: Readonly<Record<string, string>> | undefined
  readonly stepUp?: StepUpRules | undefined
  /** Whether changes are logged for live queries. */
  readonly live: boolean
  /** Whether the rows are also kept by column. Absent: false. */
  readonly columnar?: boolean | undefined
  readonly retention?: RetentionDefinition | undefined
  /** Whether no row may be deleted. Absent: false. */
  readonly hold?: boolean | undefined
  /** Ordered by name. Absent: none. */
  readonly indexes?: readonly IndexSpec[] | undefined
}

export interface IndexSpec {
  readonly name: string
  /** Such as `symbol` or `at desc`. */
  readonly columns: readonly string[]
  readonly unique: boolean
}

export interface ColumnSpec {
  readonly name: string
  /** As written in IQL, for example Decimal(18,4). */
  readonly type: string
  readonly primaryKey: boolean
  readonly nullable: boolean
  readonly unique: boolean
}

export type AttributeTypes = Iterable<AttributeDefinition>

/** Values in their text form; null is NULL. */
export type TextRow = readonly (string | null)[]

export interface TableChecks {
  /** Every table except the system tables. */
  list(): Promise<readonly TableSpec[]>
  /** What is wrong with the definition, and in which member. `attributes` are those that its row filter may use. */
  check(table: TableSpec, attributes: AttributeTypes): readonly { readonly path: string; readonly text: string }[]
  /** Refuses rows that could not be inserted into the new table. The first row holds the column names. */
  checkRows(table: TableSpec, rows: TextRows): Promise<void>
  listViews(): Promise<readonly BoundViewSpec[]>
  /** What tables have that a specification cannot describe, in words. */
  notDeclarable(): readonly string[]
  /** The views as they will be stored, each after those that it uses, and what is wrong with them or would break others. */
  checkViews(catalogue: WantedCatalogue): Pick<BoundViews, 'views' | 'faults'>
}

/** Tables and views that are created or changed, and the names of those that are dropped. */
export interface WantedCatalogue {
  readonly tables: readonly { readonly table: TableSpec; readonly exists: boolean }[]
  readonly views: readonly ViewSpec[]
  readonly droppedTables: readonly string[]
  readonly droppedViews: readonly string[]
  /** As they will be. */
  readonly attributes: AttributeTypes
}

type TextRows = AsyncIterable<TextRow> | Iterable<TextRow>

export function createTableChecks(snapshot: () => CatalogueSnapshot, clock: Clock): TableChecks {
  return {
    list: async () => [...snapshot().tables()].flatMap((view) => toSpec(snapshot(), view)),
    check: (table, attributes) => findProblems(table, snapshot(), attributeViews(attributes), clock),
    checkRows: (table, rows) => checkRows(define({ ...table, rowFilter: null }, new Map(), clock), rows),
    listViews: async () => snapshot().definitions.flatMap(toViewSpecs),
    notDeclarable: () => [...snapshot().tables()].flatMap((view) => notDeclarable(snapshot(), view)),
    checkViews: (wanted) => {
      const attributes = attributeViews(wanted.attributes)
      const tables = wanted.tables.map(({ table, exists }) =>
        exists
          ? changesFor(table, snapshot(), attributes, clock)
          : [{ kind: 'create' as const, table: define(table, attributes, clock) }],
      )
      const { views, faults } = bindViews({ ...wanted, tables }, snapshot(), clock)
      return { views, faults }
    },
  }
}

function toSpec(snapshot: CatalogueSnapshot, view: TableView): TableSpec[] {
  const table = snapshot.findDefinition(view.name)
  if (table === undefined || view.isSystem || usedBy(table).length > 0) return []
  return [
    {
      name: table.name,
      description: table.description ?? '',
      columns: table.columns.map((column) => ({
        name: column.name,
        type: typeName(column.type).replaceAll(' ', ''),
        primaryKey: table.primaryKey.includes(column.name),
        nullable: column.nullable,
        unique: table.uniques.some((unique) => unique.length === 1 && unique[0] === column.name),
      })),
      readScope: table.readScope ?? null,
      writeScope: table.writeScope ?? null,
      rowFilter: table.rowFilter ?? null,
      ...((table.checks ?? []).length > 0 && {
        checks: Object.fromEntries((table.checks ?? []).map(({ name, condition }) => [name, condition])),
      }),
      ...(table.stepUp && { stepUp: table.stepUp }),
      live: table.isLive,
      ...(table.isColumnar && { columnar: true }),
      ...(table.retention && { retention: table.retention }),
      ...(table.isHeld && { hold: true }),
      ...(table.indexes.length > 0 && {
        indexes: table.indexes.map(indexSpec).sort((a, b) => (a.name < b.name ? -1 : 1)),
      }),
    },
  ]
}

function indexSpec({ name, columns, unique }: IndexDefinition): IndexSpec {
  return { name, columns: columns.map((column) => (column.descending ? `${column.name} desc` : column.name)), unique }
}

function notDeclarable(snapshot: CatalogueSnapshot, view: TableView): string[] {
  const table = snapshot.findDefinition(view.name)
  if (table === undefined || view.isSystem || table.view !== undefined) return []
  if (table.kept !== undefined) return listIndexes(table)
  return [
    ...table.columns
      .filter((column) => column.default !== undefined)
      .map((column) => `the default value of ${table.name}.${column.name}`),
    ...table.uniques
      .filter((unique) => unique.length > 1)
      .map((unique) => `UNIQUE (${unique.join(', ')}) of ${table.name}`),
  ]
}

/** Of a materialized view, but for the one that its retention makes. */
function listIndexes({ name, indexes, retention }: TableDefinition): string[] {
  const others = indexes.filter(({ columns }) => columns.length > 1 || columns[0]?.name !== retention?.on)
  return others.map((index) => `the index ${index.name} of ${name}`)
}

export function define(table: TableSpec, attributes: AttributeViews, clock: Clock): TableDefinition {
  const input = {
    name: table.name,
    columns: table.columns.map((column) => ({ ...column, default: undefined })),
    readScope: table.readScope ?? undefined,
    writeScope: table.writeScope ?? undefined,
    rowFilter: table.rowFilter ?? undefined,
    stepUp: table.stepUp,
    description: table.description === '' ? undefined : table.description,
    isLive: table.live,
    isColumnar: table.columnar,
    retention: table.retention,
    isHeld: table.hold,
    checks: Object.entries(table.checks ?? {}).map(([name, condition]) => ({ name, condition })),
  }
  const defined = defineTable(input, { ...NO_TABLES, attributes }, BigInt(clock()) * 1000n)
  return { ...defined, indexes: (table.indexes ?? []).map((index) => toIndex(index, defined)) }
}

function toIndex({ name, columns, unique }: IndexSpec, table: TableDefinition): IndexDefinition {
  refuseReserved(name)
  const found = columns.map((text) => {
    const [wanted = '', direction] = text.split(' ')
    const column = table.columns.find((known) => known.name.toLowerCase() === wanted.toLowerCase())
    if (column === undefined) throw refuse('Data.Conflict', `${table.name} has no column ${wanted}`)
    return { name: column.name, descending: direction !== undefined }
  })
  return { name, columns: found, unique }
}

export function changesFor(
  spec: TableSpec,
  snapshot: CatalogueSnapshot,
  attributes: AttributeViews,
  clock: Clock,
): CatalogueChange[] {
  const current = snapshot.findDefinition(spec.name)
  if (current === undefined) throw refuse('Data.UnknownTable', `There is no table ${spec.name}`)
  const wanted = define(spec, attributes, clock)
  const known = new Set(current.columns.map(({ name }) => name.toLowerCase()))
  const changes: CatalogueChange[] = []
  let from = current
  let table: TableDefinition = {
    ...current,
    readScope: wanted.readScope,
    writeScope: wanted.writeScope,
    rowFilter: wanted.rowFilter,
    checks: wanted.checks ?? [],
    stepUp: wanted.stepUp,
    description: wanted.description,
    isLive: wanted.isLive,
    isColumnar: wanted.isColumnar,
    retention: wanted.retention,
    isHeld: wanted.isHeld,
  }
  for (const column of wanted.columns.filter(({ name }) => !known.has(name.toLowerCase()))) {
    const isUnique = wanted.uniques.some((unique) => unique.length === 1 && unique[0] === column.name)
    if (!column.nullable)
      throw refuse(
        'Data.Conflict',
        `The new column ${column.name} must be nullable, since existing rows have no value for it`,
      )
    table = {
      ...table,
      columns: [...table.columns, column],
      uniques: isUnique ? [...table.uniques, [column.name]] : table.uniques,
    }
    changes.push({ kind: 'alter', name: table.name, from, table, step: { kind: 'add-column', column, isUnique } })
    from = table
  }
  const isSame = (one: IndexDefinition) => (other: IndexDefinition) =>
    JSON.stringify(indexSpec(one)) === JSON.stringify(indexSpec(other))
  const gone = spec.indexes === undefined ? [] : current.indexes.filter((index) => !wanted.indexes.some(isSame(index)))
  // Of an index that is another one now: its name must be free.
  for (const index of gone) {
    table = { ...table, indexes: table.indexes.filter(({ name }) => name !== index.name) }
    changes.push({ kind: 'alter', name: table.name, from, table, step: { kind: 'drop-index', index: index.name } })
    from = table
  }
  for (const index of wanted.indexes.filter((index) => !current.indexes.some(isSame(index)))) {
    table = { ...table, indexes: [...table.indexes, index] }
    changes.push({ kind: 'alter', name: table.name, from, table, step: { kind: 'create-index', index } })
    from = table
  }
  rebind(table, attributes)
  changes.push({ kind: 'alter', name: table.name, from, table, step: { kind: 'rights' } })
  return changes
}

function findProblems(
  table: TableSpec,
  snapshot: CatalogueSnapshot,
  attributes: AttributeViews,
  clock: Clock,
): { path: string; text: string }[] {
  const view = snapshot.table(table.name)
  if (view?.isSystem) return [{ path: 'name', text: `${table.name} is a system table` }]
  if (view?.view !== undefined || view?.isKept) return [{ path: 'name', text: `${table.name} is a view` }]
  for (const [path, candidate] of [
    ['columns', { ...table, rowFilter: null, checks: {}, indexes: [] }],
    ['checks', { ...table, rowFilter: null, indexes: [] }],
    ['row_filter', { ...table, indexes: [] }],
    ['indexes', table],
  ] as const) {
    try {
      define(candidate, attributes, clock)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      return [{ path, text: error.message }]
    }
  }
  const taken = (table.indexes ?? []).find(({ name }) => isTaken(name, table.name, snapshot))
  if (taken !== undefined)
    return [{ path: 'indexes', text: `There is already an index ${taken.name} of another table` }]
  const problem = findRetentionProblem(table, snapshot, attributes, clock)
  return problem === undefined ? [] : [{ path: 'retention', text: problem }]
}

function isTaken(index: string, table: string, snapshot: CatalogueSnapshot): boolean {
  const found = snapshot.index(index)
  return found !== undefined && found.table.name.toLowerCase() !== table.toLowerCase()
}

/** What the catalogue would refuse. */
function findRetentionProblem(
  table: TableSpec,
  snapshot: CatalogueSnapshot,
  attributes: AttributeViews,
  clock: Clock,
): string | undefined {
  if (table.retention === undefined) return undefined
  const current = snapshot.findDefinition(table.name)
  const { retention, ...wanted } = define(table, attributes, clock)
  const indexes = [...wanted.indexes, ...(current?.indexes ?? [])]
  const definition = { ...(current ?? wanted), retention, indexes }
  try {
    refuseAgainstRetention({ kind: 'create', table: definition }, undefined)
    return undefined
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const { Hint: hint } = error.details.members ?? {}
    return typeof hint === 'string' ? `${error.message}: ${hint}` : error.message
  }
}

async function checkRows(table: TableDefinition, given: TextRows): Promise<void> {
  const named = await withColumns(given)
  if (named === undefined) return
  const { columns, rows } = named
  const places = table.columns.map(({ name }) =>
    columns.findIndex((other) => other.toLowerCase() === name.toLowerCase()),
  )
  const keys = [table.primaryKey, ...table.uniques].map((names) => new UniqueKey(table, names, places))
  let number = 0
  for await (const row of rows) {
    const values = readRow(table, columns, row, ++number)
    for (const [index, column] of table.columns.entries())
      if (!column.nullable && column.default === undefined && (values[places[index] ?? -1] ?? null) === null)
        throw refuse('Data.BadValue', `Row ${number} has no value for the column ${column.name}`)
    for (const key of keys) key.add(values, number)
  }
}

/** Finds rows with equal keys. As in SQL, a key with NULL is equal to none. */
class UniqueKey {
  readonly #columns: readonly { readonly place: number; readonly column: TableDefinition['columns'][number] }[]
  readonly #seen = new Set<string>()

  constructor(table: TableDefinition, names: readonly string[], places: readonly number[]) {
    this.#columns = table.columns
      .map((column, index) => ({ column, place: places[index] ?? -1 }))
      .filter(({ column }) => names.includes(column.name))
  }

  add(values: readonly IqlValue[], row: number): void {
    const parts: string[] = []
    for (const { place, column } of this.#columns) {
      const value = values[place] ?? null
      if (value === null) return
      parts.push(writeValue(column.type, value))
    }
    const key = JSON.stringify(parts)
    if (parts.length > 0 && this.#seen.size === this.#seen.add(key).size)
      throw refuse(
        'Data.UniqueViolation',
        `Row ${row} has the same ${this.#columns.map(({ column }) => column.name).join(', ')} as an earlier one`,
      )
  }
}

/** The column names in the first row, and the other rows; undefined if there are none. */
export async function withColumns(
  rows: TextRows,
): Promise<{ readonly columns: readonly string[]; readonly rows: AsyncIterable<TextRow> } | undefined> {
  async function* each(): AsyncGenerator<TextRow> {
    yield* rows
  }
  const iterator = each()
  const first = await iterator.next()
  return first.done ? undefined : { columns: first.value.map(String), rows: iterator }
}

interface NamedColumns {
  readonly name: string
  readonly columns: readonly { readonly name: string; readonly type: IqlType }[]
}

export function readRow(table: NamedColumns, columns: readonly string[], row: TextRow, number: number): IqlValue[] {
  if (row.length !== columns.length)
    throw refuse('Data.BadValue', `Row ${number} has ${row.length} values for ${columns.length} columns`)
  return row.map((text, index) => {
    const name = columns[index] ?? ''
    const column = table.columns.find((candidate) => candidate.name.toLowerCase() === name.toLowerCase())
    if (column === undefined)
      throw refuse('Criteria.UnknownColumn', `The table ${table.name} has no column ${JSON.stringify(name)}`)
    if (text === null) return null
    const read = readValue(column.type, text)
    if ('value' in read) return read.value
    throw refuse(
      'Data.BadValue',
      `Row ${number}: the value ${JSON.stringify(text.slice(0, 100))} of the column ${column.name} ${read.problem}`,
    )
  })
}
