/** What the query service asks of licences: which tables products cover, and what a caller may see of these. */
import {
  binary,
  boolean,
  columnRef,
  type Expression,
  type IqlType,
  number,
  readValue,
  type TableView,
  text,
  type UnlicensedRows,
} from 'gatehouse-iql'
import {
  type FollowedTables as Followed,
  type HeldTables as Held,
  HTTP_ERRORS,
  type Principal,
  Refusal,
  type TableNeed,
} from 'gatehouse-protocol'

export interface TableLicences {
  /** Changes with what products cover; 0 as long as no table was covered, and nothing is asked. */
  readonly version: number
  /** By names in lower case. */
  covers(table: string): TableCoverage | undefined
  /** To plan with: what the caller has if no place is missing. A Promise: it is found when that has resolved. Undefined: not covered. */
  find(caller: LicensedCaller, table: string): TableAccess | Promise<void> | undefined
  /** Takes the places of the caller for these tables. */
  hold(caller: LicensedCaller, needs: readonly TableNeed[]): HeldTables | Promise<HeldTables>
  /** For a live query. */
  follow(caller: LicensedCaller, onChange: () => void): FollowedTables
  /** The delays that products have for a table, in milliseconds. Undefined while products are not known. */
  delays(table: string): readonly number[] | undefined
  /** Called when products cover other tables, or parts of them, or have other delays: with the names of these tables. */
  onChanged(listener: (tables: ReadonlySet<string>) => void): void
}

export interface TableCoverage {
  /** Undefined: all rows are covered. */
  readonly column: string | undefined
  readonly products: ReadonlySet<string>
}

export interface LicensedCaller {
  readonly principal: Principal
  /** Empty where it is not known. */
  readonly address: string
  readonly way: LicensedWay
  /** Whether a live query may displace other places of the caller; by default it may. */
  readonly mayDisplace?: boolean
}

/** How a table is used, for the usage report. */
export type LicensedWay = 'query' | 'wire' | 'live'

/** What a caller may see of a table. One object for all who may see the same. */
export interface TableAccess {
  /** In lower case. */
  readonly table: string
  readonly column: string | undefined
  /** Each row is in one of them. */
  readonly parts: readonly AccessPart[]
}

export interface AccessPart {
  readonly rows: RowChoice
  readonly access: 'realtime' | 'delayed' | 'none'
  /** Milliseconds; 0 unless it is delayed. */
  readonly delay: number
  /** Those that cover the rows: none of them if the rows are nobody's. */
  readonly products: readonly string[]
  /** The one that opens it, if any does. */
  readonly product: string | undefined
  /** Whether the product gives this access to all. */
  readonly isFree: boolean
  /** What is missing for more: the reason of `Licence.Needed`. */
  readonly missing: string
}

/** By the values of the column. */
export type RowChoice =
  | { readonly kind: 'all' }
  | { readonly kind: 'in' | 'not-in'; readonly values: readonly (string | number)[] }

export type HeldTables = Held<TableAccess>
export type FollowedTables = Followed<TableAccess>

/** One for each table. */
export function joinNeeds(needs: readonly TableNeed[]): TableNeed[] {
  return [...Map.groupBy(needs, ({ table }) => table)].map(([table, some]) => {
    const isAll = some.some(({ parts }) => parts === undefined)
    return { table, parts: isAll ? undefined : [...new Set(some.flatMap(({ parts = [] }) => parts))].sort(ascending) }
  })
}

export const NO_LICENCES: TableLicences = {
  version: 0,
  covers: () => undefined,
  find: () => undefined,
  hold: () => ({ find: () => undefined, refusal: undefined, catchUp: () => undefined, onLowered: () => () => {} }),
  follow: () => ({
    find: () => undefined,
    hold: () => undefined,
    refusalFor: () => undefined,
    catchUp: () => undefined,
    setPrincipal() {},
    close() {},
  }),
  delays: () => [],
  onChanged() {},
}

type LicenceError = Extract<keyof typeof HTTP_ERRORS, `Licence.${string}`>

export function licenceRefusal(
  code: LicenceError,
  text: string,
  members: Readonly<Record<string, unknown>> = {},
): Refusal {
  const { status } = HTTP_ERRORS[code]
  return new Refusal(code, status, text, { members, ...(status === 503 && { headers: { 'retry-after': '1' } }) })
}

/** What a caller may see of covered tables, as far as a statement is planned with it. */
export interface TableRights {
  /** Undefined: no product covers the table. Throws a PlanPending while it is not known. */
  find(table: string): TableAccess | undefined
}

/** As of when the rows of a copy are, by its table and its delay in milliseconds: in microseconds since the epoch. */
export type CopyTimes = (table: string, delay: number) => bigint | undefined

/** Copies of tables as they were some time ago. */
export interface Copies {
  /** Changes with what `find` finds. */
  readonly version: number
  /** The copy of a table, if its rows are known. The delay is in milliseconds. */
  find(table: TableView, delay: number): TableView | undefined
  /** Whether it is known if it can be read: not before the states of copies were read, after a start. */
  isKnown(table: TableView, delay: number): boolean
  /** As this node knows them now: rows that are read later are as of these times, or a moment later. */
  readonly times: CopyTimes
}

export const NO_COPIES: Copies = { version: 0, find: () => undefined, isKnown: () => true, times: () => undefined }

/** Tables as callers with this access see them; by that of the catalogue, which is another one after each change. */
const LICENSED = new WeakMap<TableView, Map<TableAccess, Licensed>>()

interface Licensed {
  readonly copiesVersion: number
  readonly table: TableView
}
/** Of tables as callers see them. */
const ACCESSES = new WeakMap<TableView, TableAccess>()

/** The access of a caller to a table of a plan; undefined where no product covers it. */
export function findAccess(table: TableView): TableAccess | undefined {
  return ACCESSES.get(table)
}

/** The table with what a licence leaves of it: rows without access do not exist for the caller, and delayed ones are read from copies. */
export function applyLicence(table: TableView, access: TableAccess, copies: Copies): TableView {
  const known = LICENSED.get(table) ?? new Map<TableAccess, Licensed>()
  LICENSED.set(table, known)
  const found = known.get(access)
  if (found?.copiesVersion === copies.version) return found.table
  const licensed = createLicensed(table, access, copies)
  known.set(access, { copiesVersion: copies.version, table: licensed })
  return licensed
}

function createLicensed(table: TableView, access: TableAccess, copies: Copies): TableView {
  const isWritten = (part: AccessPart) => part.access === 'realtime' || part.products.length === 0
  const visible = chooseRows(table, access, isRealtime)
  const inserted = visible && both(chooseRows(table, access, isWritten), table.rowFilter)
  const unlicensed = access.parts.flatMap((part): UnlicensedRows[] => {
    const condition = isWritten(part) ? undefined : chooseRows(table, access, (each) => each === part)
    return condition === undefined ? [] : [{ condition, products: part.products, reason: part.missing }]
  })
  const licensed: TableView = {
    ...table,
    rowFilter: both(visible, table.rowFilter),
    ...(visible === undefined ? {} : { insertFilter: inserted ?? boolean(true), unlicensed }),
  }
  ACCESSES.set(licensed, access)
  const delays = new Set(access.parts.filter(isDelayed).map(({ delay }) => delay))
  const copied = [...delays].sort(ascending).flatMap((delay): TableView[] => {
    const copy = copies.find(table, delay)
    if (copy === undefined) return []
    const rows = chooseRows(table, access, (part) => isDelayed(part) && part.delay === delay)
    const read = { ...copy, rowFilter: both(rows, table.rowFilter) }
    ACCESSES.set(read, access)
    return [read]
  })
  if (copied.length === 0) return licensed
  return remember({ ...licensed, reads: access.parts.some(isRealtime) ? [licensed, ...copied] : copied }, access)
}

function remember(table: TableView, access: TableAccess): TableView {
  ACCESSES.set(table, access)
  return table
}

export function isDelayed({ access }: Pick<AccessPart, 'access'>): boolean {
  return access === 'delayed'
}

function ascending(one: number, other: number): number {
  return one - other
}

const NOTHING = new Map<string, TableAccess>()

/** Of somebody of whom nothing is known. */
export function noAccess(table: string): TableAccess {
  const known = NOTHING.get(table)
  if (known !== undefined) return known
  const part = { access: 'none', delay: 0, product: undefined, isFree: true, products: [''], missing: 'none' } as const
  const access: TableAccess = { table, column: undefined, parts: [{ ...part, rows: { kind: 'all' } }] }
  NOTHING.set(table, access)
  return access
}

export function isRealtime({ access }: Pick<AccessPart, 'access'>): boolean {
  return access === 'realtime'
}

/** Undefined: all rows. A column that is not there, or may be NULL, says nothing of rows: then there are none. */
function chooseRows(
  table: TableView,
  { parts, column = '' }: TableAccess,
  isChosen: (part: AccessPart) => boolean,
): Expression | undefined {
  if (parts.every(isChosen)) return undefined
  const found = table.columns.find(({ name }) => name.toLowerCase() === column.toLowerCase())
  const conditions = parts.filter(isChosen).flatMap(({ rows }) => {
    if (rows.kind === 'all') return boolean(true)
    if (found === undefined || found.nullable || !mayCover(found.type)) return []
    const items = rows.values.flatMap((value) => toLiteral(value, found.type) ?? [])
    if (items.length === 0) return rows.kind === 'not-in' ? boolean(true) : []
    return { kind: 'in-list', operand: columnRef(found.name), items, negated: rows.kind === 'not-in', at: 0 } as const
  })
  const [first = boolean(false), ...rest] = conditions
  return rest.reduce<Expression>((all, each) => binary('or', all, each), first)
}

const COVERING: ReadonlySet<IqlType['kind']> = new Set<IqlType['kind']>(['Text', 'Integer', 'Boolean', 'Uuid', 'Date'])

/** Whether the values of a column can say which rows a product covers. */
export function mayCover({ kind }: IqlType): boolean {
  return COVERING.has(kind)
}

/** Undefined where no value of the type is written like that: then no row has it. */
export function toLiteral(value: string | number, type: IqlType): Expression | undefined {
  const written = String(value)
  if (!('value' in readValue(type, written))) return undefined
  if (type.kind === 'Boolean') return boolean(written.toLowerCase() === 'true')
  if (type.kind !== 'Integer') return text(written)
  return written.startsWith('-')
    ? { kind: 'unary', operator: '-', operand: number(written.slice(1)), at: 0 }
    : number(written)
}

function both(one: Expression | undefined, other: Expression | undefined): Expression | undefined {
  return one === undefined ? other : other === undefined ? one : binary('and', one, other)
}
