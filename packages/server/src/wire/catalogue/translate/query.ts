/** Catalogue statements as SQL of SQLite: sources, select lists, set operations, ordering. */
import { CatalogueError } from '../catalogue-error.ts'
import { findRelation, INFORMATION_SCHEMA, OWNER_COLUMNS, PG_CATALOG, type Relation } from '../data/relations.ts'
import { OID } from '../data/types.ts'
import type { Body, Expression, From, Query, Select } from '../syntax/ast.ts'
import { setSource, translateOrder } from './call.ts'
import { translate } from './expression.ts'
import { findOwners } from './owners.ts'
import { type Column, Scope, type Source } from './scope.ts'
import { expandStar, firstRows, groupTerm } from './select-list.ts'
import { type TranslatedQuery, Translation } from './translation.ts'
import { commonType, convert, quoteText, type Typed } from './typed.ts'

export interface TranslatedStatement {
  readonly sql: string
  readonly columns: readonly { readonly name: string; readonly type: number; readonly modifier: number }[]
  readonly parameterTypes: readonly number[]
  /** The catalogue's tables that it reads, as in `tableName`; with the table whose rows it wants, if it is only one. */
  readonly relations: readonly (readonly [table: string, owner: number | undefined])[]
}

export function translateStatement(query: Query, declared: readonly number[]): TranslatedStatement {
  const translation = new Translation(declared, translateQuery)
  const { sql, columns } = translateQuery(query, new Scope(), translation)
  return {
    sql,
    columns: columns.map(({ name, type, modifier }) => ({
      name,
      type: type === OID.unknown ? OID.text : type,
      modifier,
    })),
    parameterTypes: translation.parameterTypes,
    relations: translation.reads.map(({ table, owner }) => [table, owner]),
  }
}

/** The table of SQLite that holds a relation. */
export function tableName({ schema, name }: Pick<Relation, 'schema' | 'name'>): string {
  return schema === INFORMATION_SCHEMA ? `info_${name}` : name
}

function translateQuery(query: Query, scope: Scope, translation: Translation): TranslatedQuery {
  const ctes = query.ctes.map((cte) => translateCte(cte, query.isRecursive, scope, translation))
  const { sql, columns, orderTerm } =
    query.body.kind === 'select'
      ? translateSelect(query.body, query.orderBy, scope, translation)
      : translateBody(query.body, scope, translation)
  const order = translateOrder(query.orderBy, orderTerm)
  const bound = (value: Expression | undefined): string | undefined =>
    value === undefined ? undefined : convert(translate(value, scope, translation), OID.int8, translation).sql
  const [limit, offset] = [bound(query.limit), bound(query.offset)]
  return {
    sql: [
      ...(ctes.length === 0 ? [] : [`WITH ${query.isRecursive ? 'RECURSIVE ' : ''}${ctes.join(', ')}`]),
      sql,
      ...(order === '' ? [] : [`ORDER BY ${order}`]),
      ...(limit === undefined && offset === undefined
        ? []
        : [`LIMIT ${limit === undefined ? '-1' : `coalesce(${limit}, -1)`}`]),
      ...(offset === undefined ? [] : [`OFFSET ${offset}`]),
    ].join(' '),
    columns,
  }
}

function translateCte(
  cte: Query['ctes'][number],
  isRecursive: boolean,
  scope: Scope,
  translation: Translation,
): string {
  const alias = translation.alias()
  const name = (columns: TranslatedQuery['columns']): TranslatedQuery['columns'] =>
    columns.map((column, index) => ({ ...column, name: cte.columns[index] ?? column.name }))
  const { body } = cte.query
  if (isRecursive && body.kind === 'set') {
    // The first part determines the columns, which the second one reads.
    const first = translateBody(body.left, new Scope(scope), translation)
    scope.ctes.set(cte.name, { alias, columns: name(first.columns) })
  }
  const { sql, columns } = translation.query(cte.query, scope)
  scope.ctes.set(cte.name, { alias, columns: name(columns) })
  return `${alias}(${columns.map((_column, index) => `c${index + 1}`).join(', ')}) AS (${sql})`
}

interface TranslatedBody extends TranslatedQuery {
  /** A term of ORDER BY. */
  readonly orderTerm: (value: Expression) => string
}

function translateBody(body: Body, scope: Scope, translation: Translation): TranslatedBody {
  switch (body.kind) {
    case 'select':
      return translateSelect(body, [], scope, translation)
    case 'query': {
      const { sql, columns } = translation.query(body.query, scope)
      return { sql: `SELECT * FROM (${sql})`, columns, orderTerm: outputTerm(columns) }
    }
    case 'values':
      return translateValues(body, scope, translation)
    case 'set': {
      const left = translateBody(body.left, scope, translation)
      const right = translateBody(body.right, new Scope(scope), translation)
      if (left.columns.length !== right.columns.length)
        throw new CatalogueError('syntax', `each ${body.operator} query must have the same number of columns`)
      const columns = left.columns.map((column, index) => ({
        ...column,
        type: commonType([column.type, right.columns[index]?.type ?? OID.unknown]),
      }))
      // SQLite evaluates from left to right; INTERSECT, on the right, binds more tightly.
      const second = body.right.kind === 'set' ? `SELECT * FROM (${right.sql})` : right.sql
      return { sql: `${left.sql} ${body.operator} ${second}`, columns, orderTerm: outputTerm(columns) }
    }
  }
}

/** After a set operation, rows are ordered by its columns only. */
function outputTerm(columns: TranslatedQuery['columns']): (value: Expression) => string {
  return (value) => {
    const position =
      value.kind === 'number' ? Number(value.value) : value.kind === 'column' ? columnPosition(columns, value.path) : 0
    if (position < 1 || position > columns.length)
      throw new CatalogueError(
        'unsupported',
        'Results of UNION, INTERSECT and EXCEPT are ordered by their columns',
        value.at,
      )
    return String(position)
  }
}

function columnPosition(columns: readonly { readonly name: string }[], path: readonly string[]): number {
  return path.length === 1 ? columns.findIndex(({ name }) => name === path[0]) + 1 : 0
}

function translateValues(
  body: Extract<Body, { kind: 'values' }>,
  scope: Scope,
  translation: Translation,
): TranslatedBody {
  const rows = body.rows.map((row) => row.map((value) => translate(value, scope, translation)))
  const width = rows[0]?.length ?? 0
  if (rows.some(({ length }) => length !== width))
    throw new CatalogueError('syntax', 'VALUES lists must all be the same length', body.at)
  const types = Array.from({ length: width }, (_none, index) => {
    const common = commonType(rows.map((row) => row[index]?.type ?? OID.unknown))
    return common === OID.unknown ? OID.text : common
  })
  const lines = rows.map(
    (row) => `(${row.map((value, index) => convert(value, types[index] ?? OID.text, translation).sql).join(', ')})`,
  )
  const names = types.map((_type, index) => `column${index + 1} AS c${index + 1}`)
  const columns = types.map((type, index) => ({ name: `column${index + 1}`, type, modifier: -1 }))
  return {
    sql: `SELECT ${names.join(', ')} FROM (VALUES ${lines.join(', ')})`,
    columns,
    orderTerm: outputTerm(columns),
  }
}

/** `orderBy` is that of the query which it is the body of. */
function translateSelect(
  select: Select,
  orderBy: Query['orderBy'],
  scope: Scope,
  translation: Translation,
): TranslatedBody {
  scope.windows = select.windows
  const firstRead = translation.reads.length
  const from = select.from.map((source) => translateFrom(source, scope, translation))
  findOwners(select, scope, translation.reads.slice(firstRead))
  const print = (value: Expression): string => translate(value, scope, translation).sql
  const where =
    select.where === undefined
      ? undefined
      : convert(translate(select.where, scope, translation), OID.bool, translation).sql
  const setJoins: string[] = []
  scope.setJoins = setJoins
  const items = select.items.flatMap((item) =>
    item.kind === 'star' ? expandStar(item, scope) : [translateItem(item, scope, translation)],
  )
  scope.setJoins = undefined
  const columns = items.map(({ name, type, modifier, fields }) => ({ name, type, modifier, fields }))
  const list = items.length === 0 ? 'NULL AS c1' : items.map(({ sql }, index) => `${sql} AS c${index + 1}`).join(', ')
  const [firstSet, ...others] = setJoins
  const sources = [...from, ...(firstSet === undefined ? [] : [[firstSet, ...others].join(' ')])]
  const groups = select.groupBy.map((value) => groupTerm(value, select, items, scope, print))
  const having = select.having === undefined ? undefined : print(select.having)
  const term = (value: Expression): string => {
    const position =
      value.kind === 'number' ? Number(value.value) : value.kind === 'column' ? columnPosition(columns, value.path) : 0
    return items[position - 1]?.sql ?? print(value)
  }
  const first = select.distinctOn.length === 0 ? undefined : firstRows(select.distinctOn, orderBy, term)
  const sql = [
    `SELECT ${select.isDistinct ? 'DISTINCT ' : ''}${[list, ...(first?.extra ?? [])].join(', ')}`,
    ...(sources.length === 0 ? [] : [`FROM ${sources.join(', ')}`]),
    ...(where === undefined ? [] : [`WHERE ${where}`]),
    ...(groups.length === 0 ? [] : [`GROUP BY ${groups.join(', ')}`]),
    ...(having === undefined ? [] : [`HAVING ${having}`]),
  ].join(' ')
  if (first !== undefined) return { sql: first.around(sql, columns.length), columns, orderTerm: first.orderTerm }
  const orderTerm = (value: Expression): string => {
    if (value.kind === 'number') return outputTerm(columns)(value)
    // An output column comes before one of a table.
    const position = value.kind === 'column' ? columnPosition(columns, value.path) : 0
    return position > 0 ? String(position) : print(value)
  }
  return { sql, columns, orderTerm }
}

function translateItem(
  item: Extract<Select['items'][number], { kind: 'value' }>,
  scope: Scope,
  translation: Translation,
): Typed {
  const value = translate(item.value, scope, translation)
  return item.alias === undefined ? value : { ...value, name: item.alias }
}

function translateFrom(from: From, scope: Scope, translation: Translation): string {
  switch (from.kind) {
    case 'table':
      return translateTable(from, scope, translation)
    case 'query': {
      const sets = from.isLateral ? lateralSets(from, scope, translation) : undefined
      if (sets !== undefined) {
        addSource(scope, from, undefined, sets.columns)
        return sets.sql
      }
      const alias = translation.alias()
      // Outer queries are visible in it, other items of the same FROM are not.
      const { sql, columns } = from.isLateral
        ? lateral(from, scope, translation)
        : translation.query(from.query, around(scope))
      addSource(
        scope,
        from,
        undefined,
        columns.map((column, index) => ({ ...column, sql: `${alias}.c${index + 1}` })),
      )
      return `(${sql}) AS ${alias}`
    }
    case 'call': {
      const alias = translation.alias()
      const { table, columns } = setSource(from.call, alias, scope, translation, translate)
      const ordinality = from.hasOrdinality ? [{ name: 'ordinality', sql: `(${alias}.key + 1)`, type: OID.int8 }] : []
      const name = from.alias.name ?? from.call.path.at(-1) ?? ''
      // The only column of a function is called as its table is.
      const all = [...columns, ...ordinality].map((column, index) => ({
        ...column,
        name:
          from.alias.columns[index] ??
          (columns.length === 1 && index === 0 && from.alias.name !== undefined ? name : column.name),
        modifier: -1,
      }))
      scope.sources.push({ name, schema: undefined, columns: all, isFunction: true })
      return `${table} AS ${alias}`
    }
    case 'join':
      return translateJoin(from, scope, translation)
  }
}

/**
 * LATERAL (SELECT unnest(x), generate_subscripts(x, 1)): sets of rows, whose functions SQLite joins with the tables before them.
 * Undefined for every other query.
 */
function lateralSets(
  { query }: Extract<From, { kind: 'query' }>,
  scope: Scope,
  translation: Translation,
): { readonly sql: string; readonly columns: readonly Column[] } | undefined {
  const { body, ctes, orderBy, limit, offset } = query
  if (body.kind !== 'select' || body.from.length > 0 || body.where !== undefined || body.groupBy.length > 0)
    return undefined
  if (ctes.length > 0 || orderBy.length > 0 || limit !== undefined || offset !== undefined) return undefined
  const joins: string[] = []
  const outer = scope.setJoins
  scope.setJoins = joins
  const items = body.items.flatMap((item) => (item.kind === 'star' ? [] : [translateItem(item, scope, translation)]))
  scope.setJoins = outer
  if (joins.length === 0 || items.length !== body.items.length) return undefined
  return {
    sql: joins.join(' '),
    columns: items.map(({ sql, type, name, modifier }) => ({ sql, type, name, modifier })),
  }
}

/** SQLite has no LATERAL: such a query is run if it uses no other item of its FROM. */
function lateral(
  { query, at }: Extract<From, { kind: 'query' }>,
  scope: Scope,
  translation: Translation,
): TranslatedQuery {
  try {
    return translation.query(query, around(scope))
  } catch (error) {
    if (!(error instanceof CatalogueError) || !/^unknown(Table|Column)$/.test(error.fault)) throw error
    const hint = 'Join the tables, or use a subquery in the select list'
    throw new CatalogueError(
      'unsupported',
      'A subquery after LATERAL cannot use other tables of FROM on the catalogue',
      at,
      hint,
    )
  }
}

function around(scope: Scope): Scope {
  const outer = new Scope(scope.parent)
  for (const [name, cte] of scope.ctes) outer.ctes.set(name, cte)
  return outer
}

function translateTable(
  { path, alias, at }: Extract<From, { kind: 'table' }>,
  scope: Scope,
  translation: Translation,
): string {
  const sqlAlias = translation.alias()
  const [only = ''] = path
  const cte = path.length === 1 ? scope.findCte(only) : undefined
  if (cte !== undefined) {
    const columns = cte.columns.map((column, index) => ({ ...column, sql: `${sqlAlias}.c${index + 1}` }))
    addSource(scope, { alias: { ...alias, name: alias.name ?? only } }, undefined, columns)
    return `${cte.alias} AS ${sqlAlias}`
  }
  const relation = findRelation(path)
  if (relation === undefined)
    throw new CatalogueError('unknownTable', `relation "${path.join('.')}" does not exist`, at)
  const table = tableName(relation)
  const owned = OWNER_COLUMNS.get(table)
  translation.reads.push({
    table,
    ownerColumn: owned === undefined ? undefined : `${sqlAlias}."${owned}"`,
    owner: undefined,
  })
  const columns: Column[] = relation.columns.map(({ name, type, modifier }) => ({
    name,
    type,
    modifier,
    sql: `${sqlAlias}."${name}"`,
  }))
  if (relation.schema === PG_CATALOG) columns.push(...systemColumns(relation, sqlAlias))
  addSource(scope, { alias: { ...alias, name: alias.name ?? relation.name } }, relation.schema, columns)
  return `${quoteName(table)} AS ${sqlAlias}`
}

function quoteName(name: string): string {
  return `"${name}"`
}

function systemColumns({ oid, kind }: Relation, alias: string): Column[] {
  if (kind !== 'r') return []
  return [
    { name: 'tableoid', type: OID.oid, modifier: -1, sql: String(oid), isHidden: true },
    { name: 'xmin', type: OID.xid, modifier: -1, sql: '1', isHidden: true },
    { name: 'ctid', type: 27, modifier: -1, sql: `(${quoteText('(0,')} || ${alias}.rowid || ')')`, isHidden: true },
  ]
}

function addSource(
  scope: Scope,
  { alias }: Pick<Extract<From, { kind: 'query' }>, 'alias'>,
  schema: string | undefined,
  columns: readonly Column[],
): void {
  const renamed = columns.map((column, index) => ({ ...column, name: alias.columns[index] ?? column.name }))
  scope.sources.push({ name: alias.name ?? '', schema, columns: renamed })
}

function translateJoin(from: Extract<From, { kind: 'join' }>, scope: Scope, translation: Translation): string {
  const before = scope.sources.length
  const left = translateFrom(from.left, scope, translation)
  const middle = scope.sources.length
  const right = translateFrom(from.right, scope, translation)
  const source = from.right.kind === 'join' ? `(${right})` : right
  if (from.on !== undefined) {
    const on = convert(translate(from.on, scope, translation), OID.bool, translation).sql
    return `${left} ${from.join} ${source} ON ${on}`
  }
  const [lefts, rights] = [scope.sources.slice(before, middle), scope.sources.slice(middle)]
  const names = from.using === 'natural' ? sharedNames(lefts, rights) : from.using
  if (names.length === 0) return `${left} ${from.join} ${source}${from.join === 'JOIN' ? '' : ' ON 1'}`
  const conditions = names.map((name) => {
    const [a, b] = [lefts, rights].map((sources) => unmerged(sources).find((column) => column.name === name))
    if (a === undefined || b === undefined)
      throw new CatalogueError(
        'unknownColumn',
        `column "${name}" specified in USING clause does not exist in ${a === undefined ? 'left' : 'right'} table`,
      )
    b.isMerged = true
    return `${a.sql} = ${b.sql}`
  })
  return `${left} ${from.join} ${source} ON ${conditions.join(' AND ')}`
}

function unmerged(sources: readonly Source[]): Column[] {
  return sources.flatMap(({ columns }) =>
    columns.filter(({ isMerged, isHidden }) => isMerged !== true && isHidden !== true),
  )
}

function sharedNames(lefts: readonly Source[], rights: readonly Source[]): string[] {
  const names = new Set(unmerged(rights).map(({ name }) => name))
  return unmerged(lefts).flatMap(({ name }) => (names.has(name) ? [name] : []))
}
