/** One database of the catalogue: SQLite in memory, whose tables are filled when a statement first reads them. */
import Sqlite, { type Database, type Statement } from 'better-sqlite3'
import { LruMap } from '../../../lib/lru-map.ts'
import { CatalogueError } from '../catalogue-error.ts'
import { RELATIONS, type Relation } from '../data/relations.ts'
import { findRepresentation, isNamedId, OID } from '../data/types.ts'
import { findObject, registerFunctions, type ServerFacts } from '../functions/register.ts'
import { readArray, readBoolean, readInteger, readNumber, type Value, writeText } from '../functions/values.ts'
import { parseStatement } from '../syntax/parse-query.ts'
import { type TranslatedStatement, tableName, translateStatement } from '../translate/query.ts'
import { parameterName } from '../translate/typed.ts'
import { CatalogueModel, type CatalogueSession } from './catalogue-model.ts'
import type { Filling, RowSet } from './filling.ts'
import { INFORMATION_FILLINGS, PRIVILEGES } from './information-schema.ts'
import { CALLER_OID, OWNER_OID, type VisibleTable } from './objects.ts'
import { TABLE_FILLINGS } from './rows.ts'
import { SERVER_FILLINGS } from './server-rows.ts'

/** SQLite's own memory; the rest of the limit is for the process. */
const HEAP_BYTES = 128 * 1024 * 1024
/** The most that a result has, as text. */
const RESULT_BYTES = 32 * 1024 * 1024
/** Of the memory that a row and a value take besides their text. */
const ROW_BYTES = 64
const CELL_BYTES = 8

const TABLES: ReadonlyMap<string, Relation> = new Map(
  [...RELATIONS.values()].map((relation) => [tableName(relation), relation]),
)

/** Tables that are not here are empty. */
const FILLINGS = new Map([...SERVER_FILLINGS, ...TABLE_FILLINGS, ...INFORMATION_FILLINGS])

/** Tables that differ between callers, or are parts of others. */
const VIEWS: ReadonlyMap<string, View> = new Map<string, View>([
  ['pg_roles', { needs: [], sql: roles('rolpassword', "'********'") }],
  ['pg_authid', { needs: [], sql: roles('rolpassword', 'NULL') }],
  [
    'pg_user',
    {
      needs: [],
      sql: `SELECT gh_user() AS usename, ${CALLER_OID} AS usesysid, 0 AS usecreatedb, 0 AS usesuper, 0 AS userepl, 0 AS usebypassrls,
        '********' AS passwd, NULL AS valuntil, NULL AS useconfig`,
    },
  ],
  ...['table_privileges', 'role_table_grants'].map((name): [string, View] => [
    `info_${name}`,
    {
      needs: [PRIVILEGES],
      sql: `SELECT 'gatehouse' AS grantor, gh_user() AS grantee, 'gatehouse' AS table_catalog, 'public' AS table_schema, table_name,
        privilege_type, 'NO' AS is_grantable, 'NO' AS with_hierarchy FROM ${PRIVILEGES}`,
    },
  ]),
])

interface View {
  readonly sql: string
  /** Tables that it reads. */
  readonly needs: readonly string[]
}

function roles(passwordColumn: string, password: string): string {
  const role = (oid: number, name: string, canLogIn: number): string =>
    `SELECT ${oid} AS oid, ${name} AS rolname, 0 AS rolsuper, 1 AS rolinherit, 0 AS rolcreaterole, 0 AS rolcreatedb, ${canLogIn} AS rolcanlogin,
      0 AS rolreplication, -1 AS rolconnlimit, ${password} AS ${passwordColumn}, NULL AS rolvaliduntil, 0 AS rolbypassrls, NULL AS rolconfig`
  return `${role(OWNER_OID, "'gatehouse'", 0)} UNION ALL ${role(CALLER_OID, 'gh_user()', 1)}`
}

interface Prepared {
  readonly translated: TranslatedStatement
  readonly prepared: Statement<unknown[], Value[]>
}

export class CatalogueDatabase {
  readonly #database: Database
  readonly #model: CatalogueModel
  /** The tables that exist: whole, or with the rows of some tables. */
  readonly #provided = new Map<string, 'whole' | ReadonlySet<number>>()
  readonly #statements = new LruMap<Prepared>(100)

  constructor(tables: readonly VisibleTable[], server: ServerFacts) {
    this.#model = new CatalogueModel(tables)
    this.#database = new Sqlite(':memory:')
    this.#database.pragma('case_sensitive_like = ON')
    this.#database.pragma(`hard_heap_limit = ${HEAP_BYTES}`)
    this.#database.pragma('temp_store = MEMORY')
    registerFunctions(this.#database, this.#model, server)
  }

  describe(text: string, declared: readonly number[], session: CatalogueSession): TranslatedStatement {
    return this.#statement(text, declared, session).translated
  }

  /** The rows in PostgreSQL's text form. */
  run(
    text: string,
    parameters: readonly (string | null)[],
    declared: readonly number[],
    session: CatalogueSession,
  ): (string | null)[][] {
    const { translated, prepared } = this.#statement(text, declared, session)
    const { columns, parameterTypes } = translated
    const values = Object.fromEntries(
      parameterTypes.map((type, index) => [
        parameterName(index + 1),
        this.#readParameter(parameters[index] ?? null, type),
      ]),
    )
    const rows: (string | null)[][] = []
    let bytes = 0
    for (const row of iterate(prepared, values)) {
      const texts = columns.map(({ type }, index) => writeText(row[index] ?? null, type, this.#model))
      bytes += ROW_BYTES
      for (const one of texts) bytes += (one?.length ?? 0) + CELL_BYTES
      if (bytes > RESULT_BYTES)
        throw new CatalogueError('tooLarge', `A result of the catalogue has at most ${RESULT_BYTES} bytes`)
      rows.push(texts)
    }
    return rows
  }

  /** The backends that the statement that ran last wants to cancel. */
  get cancels(): readonly number[] {
    return [...this.#model.cancels]
  }

  close(): void {
    this.#database.close()
  }

  #statement(text: string, declared: readonly number[], session: CatalogueSession): Prepared {
    this.#model.session = session
    this.#model.cancels.clear()
    const key = `${declared.join(' ')} ${text}`
    const known = this.#statements.get(key)
    if (known !== undefined) return known
    const translated = translateStatement(parseStatement(text), declared)
    for (const [table, owner] of translated.relations) this.#provide(table, owner)
    const statement = { translated, prepared: this.#prepare(translated.sql) }
    this.#statements.set(key, statement)
    return statement
  }

  #readParameter(text: string | null, type: number): Value {
    if (text === null) return null
    if (isNamedId(type)) return BigInt(findObject(this.#model, type, text))
    switch (findRepresentation(type)) {
      case 'integer':
        return BigInt(readInteger(text, type))
      case 'boolean':
        return BigInt(readBoolean(text))
      case 'real':
        return readNumber(text)
      case 'array':
        return JSON.stringify(readArray(text, type, undefined, (each, name) => findObject(this.#model, each, name)))
      case 'text':
        return text
    }
  }

  #prepare(sql: string) {
    try {
      return this.#database.prepare<unknown[], Value[]>(sql).raw(true)
    } catch (error) {
      throw asCatalogueError(error)
    }
  }

  /** Makes the table, with all its rows or at least those that belong to one table. */
  #provide(table: string, owner: number | undefined): void {
    const known = this.#provided.get(table)
    if (known === 'whole' || (owner !== undefined && known?.has(owner) === true)) return
    const view = VIEWS.get(table)
    if (view !== undefined) {
      for (const needed of view.needs) this.#provide(needed, undefined)
      this.#database.exec(`CREATE VIEW "${table}" AS ${view.sql}`)
      this.#provided.set(table, 'whole')
      return
    }
    const fill = FILLINGS.get(table)
    const owning = owner === undefined ? undefined : this.#model.table(owner)
    const isWhole = owning === undefined
    const tables = isWhole ? this.#model.tables : [owning]
    const filling = fill?.({ tables, index: (oid) => this.#model.index(oid) }, isWhole)
    if (known === undefined) this.#create(table, filling)
    else if (isWhole) this.#database.exec(`DELETE FROM "${table}"`)
    for (const set of filling === undefined ? [] : [filling, ...(filling.more ?? [])]) this.#insert(table, set)
    // After the rows, which is quicker.
    for (const columns of known === undefined ? (INDEXES.get(table) ?? []) : [])
      this.#database.exec(`CREATE INDEX "${table}_${columns[0]}" ON "${table}" (${columns.join(', ')})`)
    this.#provided.set(table, isWhole ? 'whole' : new Set([...(known ?? []), owning.oid]))
  }

  /** Values that all rows share are not stored. */
  #create(table: string, filling: Filling | undefined): void {
    const constants = new Map(Object.entries(filling?.constants ?? {}))
    const columns =
      TABLES.get(table)?.columns ??
      (filling?.columns ?? []).map((name) => ({ name, type: OID.text, isRequired: false }))
    const declared = columns.map(({ name, type, isRequired }) => {
      const kind = findRepresentation(type)
      if (name === 'oid') return '"oid" INTEGER PRIMARY KEY'
      const column = `"${name}" ${AFFINITIES.get(kind) ?? ''}`
      const derived = filling?.derived?.[name]
      if (derived !== undefined) return `${column} AS (${derived}) VIRTUAL`
      if (filling === undefined || filling.columns.includes(name)) return column
      const constant = constants.get(name)
      const value = constant === undefined ? (isRequired ? (DEFAULTS.get(kind) ?? 'NULL') : 'NULL') : literal(constant)
      return `${column} AS (${value}) VIRTUAL`
    })
    this.#database.exec(`CREATE TABLE "${table}" (${declared.join(', ')})`)
  }

  /** Many rows at once, which takes a third less time. */
  #insert(table: string, { columns, fixed = {}, rows }: RowSet): void {
    const others = Object.entries(fixed)
    const names = [...columns, ...others.map(([name]) => name)].map((name) => `"${name}"`).join(', ')
    const row = `(${[...columns.map(() => '?'), ...others.map(([, value]) => literal(value))].join(', ')})`
    const prepare = (count: number) =>
      this.#database.prepare<[Value[]]>(
        `INSERT INTO "${table}" (${names}) VALUES ${Array.from({ length: count }, () => row).join(', ')}`,
      )
    const [many, one] = [prepare(ROWS_AT_ONCE), prepare(1)]
    this.#database.transaction(() => {
      let waiting: (readonly Value[])[] = []
      for (const values of rows) {
        waiting.push(values)
        if (waiting.length < ROWS_AT_ONCE) continue
        many.run(waiting.flat())
        waiting = []
      }
      for (const values of waiting) one.run([...values])
    })()
  }
}

const ROWS_AT_ONCE = 40

function literal(value: Value): string {
  return typeof value === 'string' ? `'${value}'` : String(value ?? 'NULL')
}

const AFFINITIES: ReadonlyMap<string, string> = new Map([
  ['integer', 'INTEGER'],
  ['boolean', 'INTEGER'],
  ['real', 'REAL'],
  ['text', 'TEXT'],
  ['array', 'TEXT'],
])
const DEFAULTS: ReadonlyMap<string, string> = new Map([
  ['integer', '0'],
  ['boolean', '0'],
  ['real', '0'],
  ['text', "''"],
  ['array', "'[]'"],
])

/** For joins of many tables. Tables with a column oid are found by it anyway. */
const INDEXES: ReadonlyMap<string, readonly (readonly string[])[]> = new Map([
  ['pg_class', [['relname']]],
  ['pg_attribute', [['attrelid', 'attnum']]],
  ['pg_attrdef', [['adrelid', 'adnum']]],
  ['pg_index', [['indrelid'], ['indexrelid']]],
  ['pg_constraint', [['conrelid'], ['conindid']]],
  ['pg_description', [['objoid', 'objsubid']]],
  ['info_columns', [['table_name']]],
  ['info_tables', [['table_name']]],
])

function* iterate(
  statement: { iterate(values: Readonly<Record<string, Value>>): IterableIterator<Value[]> },
  values: Readonly<Record<string, Value>>,
): Generator<readonly Value[]> {
  try {
    yield* statement.iterate(values)
  } catch (error) {
    throw asCatalogueError(error)
  }
}

function asCatalogueError(error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error
  if (error.code === 'SQLITE_NOMEM') return new CatalogueError('outOfMemory', 'The statement needs too much memory')
  if (error.code === 'SQLITE_TOOBIG') return new CatalogueError('tooLarge', 'A value of the statement is too large')
  // What the grammar lets through and SQLite refuses.
  return error.code === 'SQLITE_ERROR'
    ? new CatalogueError('unsupported', `The catalogue cannot run this statement: ${error.message}`)
    : error
}
