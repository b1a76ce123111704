/** Tables in the declarative file. They are administered with IQL: see query/catalogue. */
import { readInterval, writeDuration } from 'gatehouse-iql'
import type { StepUpRules } from 'gatehouse-protocol'
import type { XStatic } from 'typebox/schema'
import { closed, either, flag, list, text, words } from '../schema/builders.ts'
import type { Fault } from '../schema/check-schema.ts'
import { BUILT_IN, type KnownScopes } from '../store/apis/known-scopes.ts'
import { duplicates, type JsonObject, type Known, type Section } from './define-resource.ts'
import { unknownName } from './names.ts'
import { declaredStepUp, STEP_UP_MEMBERS, stepUpTarget, WRITE_STEP_UP_MEMBERS } from './step-up-members.ts'

export type DeclaredTable = XStatic<typeof TABLE>

export interface TableTarget {
  readonly name: string
  readonly description: string
  readonly columns: readonly ColumnTarget[]
  readonly readScope: string | null
  readonly writeScope: string | null
  readonly rowFilter: string | null
  /** Conditions in IQL, by name. */
  readonly checks?: Readonly<Record<string, string>> | undefined
  readonly stepUp?: StepUpRules | undefined
  /** Whether changes are logged for live queries. */
  readonly live: boolean
  /** Whether the rows are also kept by column. */
  readonly columnar?: boolean | undefined
  /** How long rows are kept, and the column that says how old one is. */
  readonly retention?: { readonly time: string; readonly on: string } | undefined
  /** Whether no row may be deleted. */
  readonly hold?: boolean | undefined
  /** Ordered by name. Absent in a file: as they are. */
  readonly indexes?: readonly IndexTarget[] | undefined
}

export interface IndexTarget {
  readonly name: string
  /** Such as `symbol` or `at desc`. */
  readonly columns: readonly string[]
  readonly unique: boolean
}

export interface ColumnTarget {
  readonly name: string
  /** Without spaces: `Decimal(18,4)`. */
  readonly type: string
  readonly primaryKey: boolean
  readonly nullable: boolean
  readonly unique: boolean
}

export const TABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,62}$/.source
const COLUMN_TYPE =
  /^\s*(?:Text|Integer|Double|Boolean|Timestamp|Date|Time|Uuid|Json|Binary|Decimal\s*\(\s*\d{1,2}\s*,\s*\d{1,2}\s*\))\s*$/
    .source

/** The error message of the pattern. */
export const TABLE_NAME_PATTERN = [
  TABLE_NAME,
  'must consist of up to 63 letters, digits and underscores, and not begin with a digit',
] as const

const COLUMN = closed(['name', 'type'], {
  name: text({ pattern: TABLE_NAME }),
  type: text({ pattern: COLUMN_TYPE, description: 'Such as Integer, Decimal(18,4), Text or Timestamp.' }),
  primary_key: flag(),
  nullable: flag('Default: true, except for the primary key.'),
  unique: flag(),
})

export const NULL = { type: 'null' } as const

const INDEX_COLUMN = /^[A-Za-z_][A-Za-z0-9_]{0,62}(?: [Dd][Ee][Ss][Cc])?$/.source

const INDEX = closed(['name', 'columns'], {
  name: text({ pattern: TABLE_NAME }),
  columns: { ...list(text({ pattern: INDEX_COLUMN }), 'In their order, such as symbol, at desc.'), minItems: 1 },
  unique: flag(),
})

export const RETENTION_MEMBER = closed(['time', 'on'], {
  time: text({ minLength: 1, description: 'How long rows are kept, such as 30 days.' }),
  on: text({ pattern: TABLE_NAME, description: 'The Timestamp or Date that says how old a row is.' }),
})

const TABLE = closed(['name', 'columns'], {
  name: text({ pattern: TABLE_NAME }),
  description: words(),
  columns: { ...list(COLUMN), minItems: 1 },
  read_scope: either(text({ description: 'Default: any Platform/ scope.' }), NULL),
  write_scope: either(text({ description: 'Default: Platform/Admin.' }), NULL),
  row_filter: either(
    text({
      description: 'An IQL predicate over :sub, :username, :client, :roles and attributes such as :attribute.desk.',
    }),
    NULL,
  ),
  checks: {
    type: 'object',
    additionalProperties: text({ minLength: 1 }),
    description: 'CHECK constraints by name: IQL conditions over the columns, such as price > 0.',
  },
  ...STEP_UP_MEMBERS,
  ...WRITE_STEP_UP_MEMBERS,
  live: flag('false: changes are not logged, and live queries read the table again as a whole. Default: true.'),
  columnar: flag(
    'true: the rows are also kept by column, so that statements over many rows take less time: WITH (columns = on). Default: false.',
  ),
  retention: RETENTION_MEMBER,
  indexes: list(INDEX, 'The indexes. Others are dropped with prune only; absent: none is.'),
  hold: flag('true: no row can be deleted, nor the table: WITH (hold = on). false releases it. Absent: as it is.'),
  csv: text({
    minLength: 1,
    description: 'A CSV file with the initial rows, inserted when the table is created. The header names the columns.',
  }),
})

export const TABLES = {
  noun: 'table',
  section: 'tables',
  key: 'name',
  foldKey: (name) => name.toLowerCase(),
  list: list(TABLE),
  patterns: [
    TABLE_NAME_PATTERN,
    [
      COLUMN_TYPE,
      'must be one of the column types Text, Integer, Decimal(p,s), Double, Boolean, Timestamp, Date, Time, Uuid, Json, Binary',
    ],
  ],
  toItem: tableTarget,
  declare: declareTable,
  namedScopes: ({ readScope, writeScope }) => [readScope, writeScope],
  refersTo: ['scopes'],
  faults: tableFaults,
} as const satisfies Section<TableTarget, DeclaredTable>

function tableFaults(table: DeclaredTable, { scopes }: Pick<Known, 'scopes'>): Fault[] {
  return [
    ...duplicates('columns', { key: 'name' }, table.columns, ({ name }) => name.toLowerCase()),
    ...table.columns.flatMap((column, index) =>
      columnFaults(column).map(({ path, text: reason }) => ({ path: `columns[${index}].${path}`, text: reason })),
    ),
    ...scopeFaults('read_scope', table.read_scope, scopes),
    ...scopeFaults('write_scope', table.write_scope, scopes),
    ...duplicates('indexes', { key: 'name' }, table.indexes ?? [], ({ name }) => name.toLowerCase()),
    ...(table.indexes ?? []).flatMap((index, place) => indexFaults(index, place, table)),
  ]
}

function indexFaults({ columns }: IndexMember, place: number, table: DeclaredTable): Fault[] {
  const names = columns.map((column) => column.split(' ')[0]?.toLowerCase() ?? '')
  const known = new Set(table.columns.map(({ name }) => name.toLowerCase()))
  return names.flatMap((name, index) => {
    const path = `indexes[${place}].columns[${index}]`
    if (!known.has(name)) return [{ path, text: `${table.name} has no column ${name}` }]
    return names.indexOf(name) < index ? [{ path, text: `"${name}" is listed twice` }] : []
  })
}

type IndexMember = NonNullable<DeclaredTable['indexes']>[number]

/** A scope of an API is in no token for the built-in services. */
export function scopeFaults(path: string, scope: string | null | undefined, known: KnownScopes): Fault[] {
  if (typeof scope !== 'string') return []
  const builtIn = known.scopes().filter((name) => known.findTarget(name) === BUILT_IN)
  if (builtIn.includes(scope)) return []
  const api = known.findApi(scope)?.resource
  const isOfApi = `"${scope}" is a scope of ${api}: name one of the platform`
  return [{ path, text: api === undefined ? unknownName('scope', scope, builtIn) : isOfApi }]
}

function columnFaults(column: DeclaredTable['columns'][number]): Fault[] {
  const faults: Fault[] = []
  if (column.primary_key === true && column.nullable === true)
    faults.push({ path: 'nullable', text: 'a column of the primary key cannot be nullable' })
  const [, precision, scale] = /\((\d+)\s*,\s*(\d+)/.exec(column.type.replaceAll(/\s/g, '')) ?? []
  if (precision !== undefined && (Number(precision) < 1 || Number(precision) > MOST_DIGITS))
    faults.push({ path: 'type', text: `a Decimal column has 1 to ${MOST_DIGITS} digits, not ${precision}` })
  else if (precision !== undefined && Number(scale) > Number(precision))
    faults.push({ path: 'type', text: `the scale ${scale} exceeds the precision ${precision}` })
  return faults
}

/** The number of digits of a Decimal column. */
const MOST_DIGITS = 38

export function tableTarget(table: DeclaredTable): TableTarget {
  const stepUp = stepUpTarget(table)
  return {
    name: table.name,
    description: table.description ?? '',
    columns: table.columns.map((column) => ({
      name: column.name,
      type: column.type.replaceAll(/\s/g, ''),
      primaryKey: column.primary_key ?? false,
      nullable: column.nullable ?? column.primary_key !== true,
      unique: column.unique ?? false,
    })),
    readScope: table.read_scope ?? null,
    writeScope: table.write_scope ?? null,
    rowFilter: table.row_filter ?? null,
    ...(Object.keys(table.checks ?? {}).length > 0 && { checks: table.checks }),
    ...(stepUp && { stepUp }),
    live: table.live ?? true,
    ...(table.columnar && { columnar: true }),
    ...(table.retention && { retention: writtenTime(table.retention) }),
    ...(table.hold && { hold: true }),
    ...(table.indexes && { indexes: table.indexes.map(indexTarget).sort(byName) }),
  }
}

function indexTarget({ name, columns, unique }: IndexMember): IndexTarget {
  return { name, columns: columns.map((column) => column.replace(/ desc$/i, ' desc')), unique: unique ?? false }
}

export function byName(a: IndexTarget, b: IndexTarget): number {
  return a.name < b.name ? -1 : 1
}

/** As the catalogue writes it, so that the plan sees no difference. */
export function writtenTime({ time, on }: { readonly time: string; readonly on: string }) {
  const interval = readInterval(time)
  return { time: interval === undefined ? time : writeDuration(interval), on }
}

function declareTable(table: TableTarget): JsonObject {
  const { name, description, columns, readScope, writeScope, rowFilter, checks = {}, stepUp, live, columnar } = table
  return {
    name,
    ...(description !== '' && { description }),
    columns: columns.map(declaredColumn),
    ...(readScope !== null && { read_scope: readScope }),
    ...(writeScope !== null && { write_scope: writeScope }),
    ...(rowFilter !== null && { row_filter: rowFilter }),
    ...(Object.keys(checks).length > 0 && { checks }),
    ...declaredStepUp(stepUp),
    ...(!live && { live }),
    ...(columnar && { columnar }),
    ...(table.retention && { retention: table.retention }),
    ...(table.hold && { hold: true }),
    ...(table.indexes && { indexes: table.indexes.map(declaredIndex) }),
  }
}

function declaredIndex({ name, columns, unique }: IndexTarget): JsonObject {
  return { name, columns: [...columns], ...(unique && { unique }) }
}

function declaredColumn({ name, type, primaryKey, nullable, unique }: ColumnTarget): object {
  return {
    name,
    type,
    ...(primaryKey && { primary_key: true }),
    ...(!primaryKey && !nullable && { nullable: false }),
    ...(unique && { unique: true }),
  }
}
