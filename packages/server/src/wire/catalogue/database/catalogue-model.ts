/** All objects of one database of the catalogue, found by their ids and names. */

import { FUNCTION_LINES } from '../data/postgres-catalogue.ts'
import { PG_CATALOG, RELATIONS } from '../data/relations.ts'
import { findType, isNamedId, OID, standardName, typeRow } from '../data/types.ts'
import type { ObjectNames } from '../functions/values.ts'
import type { StatementJob } from '../process/jobs.ts'
import {
  CALLER_OID,
  type ConstraintObject,
  type IndexObject,
  OWNER_OID,
  owningTableOid,
  TableObject,
  type VisibleTable,
} from './objects.ts'

export const NAMESPACES: ReadonlyMap<string, number> = new Map([
  ['pg_toast', 99],
  ['pg_catalog', 11],
  ['public', 2200],
  ['information_schema', 13207],
])
export const PUBLIC_OID = 2200
export const OWNER = 'gatehouse'

/** Functions that types name. */
export const FUNCTIONS = FUNCTION_LINES.trim()
  .split('\n')
  .map((line) => {
    const [oid, name = '', returns, takes = ''] = line.split(' ')
    return { oid: Number(oid), name, returns: Number(returns), takes: takes === '' ? [] : takes.split(',').map(Number) }
  })

export type CatalogueSession = Pick<StatementJob, 'user' | 'processId' | 'cancelled'>

export class CatalogueModel implements ObjectNames {
  readonly tables: readonly TableObject[]
  /** Whose statement runs. */
  session: CatalogueSession = { user: '', processId: 0, cancelled: [] }
  /** The backends that it wants to cancel. */
  readonly cancels = new Set<number>()
  readonly #tablesByOid = new Map<number, TableObject>()
  readonly #tablesByName = new Map<string, TableObject>()
  /** Made by the first search for the name of an index. */
  #indexesByName: Map<string, IndexObject> | undefined
  readonly #relationNames = new Map<number, string>()
  readonly #functionNames = new Map(FUNCTIONS.map(({ oid, name }) => [oid, name]))

  constructor(tables: readonly VisibleTable[]) {
    this.tables = tables.map((table) => new TableObject(table))
    for (const table of this.tables) {
      this.#tablesByOid.set(table.oid, table)
      this.#tablesByName.set(table.name, table)
    }
    for (const { schema, name, oid } of RELATIONS.values())
      this.#relationNames.set(oid, schema === PG_CATALOG ? name : `${schema}.${name}`)
  }

  table(oid: number): TableObject | undefined {
    return this.#tablesByOid.get(oid)
  }

  index(oid: number): { readonly index: IndexObject; readonly table: TableObject } | undefined {
    const table = this.#tableWith(oid)
    const index = table?.indexes.find((one) => one.oid === oid)
    return table === undefined || index === undefined ? undefined : { index, table }
  }

  constraint(oid: number): ConstraintObject | undefined {
    return this.#tableWith(oid)?.constraints.find((one) => one.oid === oid)
  }

  /** The table that an index, a constraint or a type belongs to. */
  #tableWith(oid: number): TableObject | undefined {
    return this.#tablesByOid.get(owningTableOid(oid))
  }

  #rowType(oid: number): TableObject | undefined {
    const table = this.#tableWith(oid)
    return table?.rowType === oid || table?.arrayType === oid ? table : undefined
  }

  /** Whether names find the object without a schema. */
  isVisible(oid: number): boolean {
    const name = this.#relationNames.get(oid)
    return name === undefined || !name.includes('.')
  }

  isRelation(oid: number): boolean {
    return this.#tablesByOid.has(oid) || this.#relationNames.has(oid) || this.index(oid) !== undefined
  }

  roleName(oid: number): string | undefined {
    return oid === OWNER_OID ? OWNER : oid === CALLER_OID ? this.session.user : undefined
  }

  typeName(oid: number): string {
    const table = this.#rowType(oid)
    if (table !== undefined)
      return oid === table.arrayType ? `${quoteIdentifier(table.name)}[]` : quoteIdentifier(table.name)
    return typeRow(oid) === undefined ? '???' : standardName(oid)
  }

  /** What a value of a type such as regclass shows; the number of an object that does not exist. */
  objectName(type: number, oid: number): string {
    if (oid === 0 && isNamedId(type)) return '-'
    return this.#findName(type, oid) ?? String(oid)
  }

  #findName(type: number, oid: number): string | undefined {
    switch (type) {
      case OID.regclass: {
        const name = this.#tablesByOid.get(oid)?.name ?? this.index(oid)?.index.name
        return name === undefined ? this.#relationNames.get(oid) : quoteIdentifier(name)
      }
      case OID.regtype:
        return typeRow(oid) === undefined && this.#rowType(oid) === undefined ? undefined : this.typeName(oid)
      case OID.regnamespace:
        return NAMESPACES.entries().find(([, id]) => id === oid)?.[0]
      case OID.regrole:
        return this.roleName(oid)
      case OID.regproc:
      case OID.regprocedure:
        return this.#functionNames.get(oid)
      default:
        return undefined
    }
  }

  /** The id of the object that a text names. */
  find(type: number, text: string): number | undefined {
    const trimmed = (type === OID.regtype ? text.replace(MODIFIER, '') : text).trim()
    if (/^\d+$/.test(trimmed)) return Number(trimmed)
    if (trimmed === '-') return 0
    const path = readPath(trimmed)
    const [name = '', schema] = path.toReversed()
    switch (type) {
      case OID.regclass:
        return this.#findRelation(name, schema)
      case OID.regtype: {
        const known = findType(type === OID.regtype && schema === undefined ? trimmed.toLowerCase() : name)
        return known ?? this.#tablesByName.get(name)?.rowType
      }
      case OID.regnamespace:
        return NAMESPACES.get(name)
      case OID.regrole:
        return name === OWNER ? OWNER_OID : name === this.session.user ? CALLER_OID : undefined
      case OID.regproc:
      case OID.regprocedure:
        return FUNCTIONS.find((one) => one.name === name.replace(/\(.*$/s, ''))?.oid
      default:
        return undefined
    }
  }

  #findRelation(name: string, schema: string | undefined): number | undefined {
    const system = schema === 'public' ? undefined : RELATIONS.get(`${schema ?? PG_CATALOG}.${name}`)?.oid
    if (system !== undefined) return system
    if (schema !== undefined && schema !== 'public') return undefined
    const table = this.#tablesByName.get(name)
    if (table !== undefined) return table.oid
    this.#indexesByName ??= new Map(this.tables.flatMap(({ indexes }) => indexes.map((index) => [index.name, index])))
    return this.#indexesByName.get(name)?.oid
  }
}

/** The digits or the length of a type, which are no part of it: numeric(10,2), timestamp(3) with time zone. */
const MODIFIER = /\(\s{0,9}\d{1,9}\s{0,9}(?:,\s{0,9}-?\d{1,9}\s{0,9})?\)/

/** `schema.name`, where unquoted parts are in lower case. There may be blanks around the point. */
export function readPath(text: string): string[] {
  return [...text.matchAll(/"((?:[^"]|"")*)"|([^".\s][^".]*)/g)].map(([, quoted, plain]) =>
    quoted === undefined ? (plain ?? '').trim().toLowerCase() : quoted.replaceAll('""', '"'),
  )
}

/** Quotes a name where PostgreSQL needs quotes. */
export function quoteIdentifier(name: string): string {
  return /^[a-z_][a-z0-9_$]*$/.test(name) && !KEYWORDS.has(name) ? name : `"${name.replaceAll('"', '""')}"`
}

/** Reserved words that are likely names of tables and columns. */
const KEYWORDS: ReadonlySet<string> = new Set(
  'all and any array as asc case cast check collate column constraint create default desc distinct do else end except false fetch for foreign from grant group having in initially intersect into left limit not null offset on only or order primary references right select some table then to true union unique user using values when where window with'.split(
    ' ',
  ),
)
