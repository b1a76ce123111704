/** Calls of functions in catalogue statements. */
import { CatalogueError } from '../catalogue-error.ts'
import { OID, standardName } from '../data/types.ts'
import type { Call, Expression, OrderItem, WindowSpec } from '../syntax/ast.ts'
import { AGGREGATES } from './aggregates.ts'
import { SCALARS } from './scalars.ts'
import type { Scope } from './scope.ts'
import { SET_FUNCTIONS, type SetColumn, type SetFunction } from './set-functions.ts'
import type { Translation } from './translation.ts'
import { convert, quoteText, type Typed, typed, unify } from './typed.ts'

type Translate = (node: Expression, scope: Scope, translation: Translation) => Typed

/** The names of all functions. */
export function catalogueFunctions(): string[] {
  return [...SCALARS.keys(), ...AGGREGATES.keys(), ...SET_FUNCTIONS.keys(), ...CONDITIONALS]
}

const CONDITIONALS: ReadonlySet<string> = new Set(['coalesce', 'nullif', 'greatest', 'least'])

export function translateCall(node: Call, scope: Scope, translation: Translation, translate: Translate): Typed {
  const name = node.path.at(-1) ?? ''
  const args = node.args.map((arg) => translate(arg, scope, translation))
  if (CONDITIONALS.has(name)) return conditional(name, args, node, translation)
  const aggregate = AGGREGATES.get(name)
  if (aggregate !== undefined) {
    if (aggregate.isWindow === true && node.over === undefined)
      throw new CatalogueError('syntax', `window function ${name} requires an OVER clause`, node.at)
    const values = args.map((arg) => (arg.type === OID.unknown ? convert(arg, OID.text, translation) : arg))
    const print = (value: Expression): string => translate(value, scope, translation).sql
    const list = node.isStar ? '*' : values.map(({ sql }) => sql).join(', ')
    const order = translateOrder(node.orderBy, print)
    const inside = `${node.isDistinct ? 'DISTINCT ' : ''}${list}${order === '' ? '' : ` ORDER BY ${order}`}`
    const filter = node.filter === undefined ? '' : ` FILTER (WHERE ${print(node.filter)})`
    const over = node.over === undefined ? '' : ` OVER (${translateWindow(node.over, scope, print, node.at)})`
    // SQLite takes no separator with DISTINCT.
    if (name === 'string_agg' && node.isDistinct)
      return typed(
        `gh_join(nullif(json_group_array(DISTINCT ${values[0]?.sql}${order === '' ? '' : ` ORDER BY ${order}`})${filter}, '[]'), ${values[1]?.sql})`,
        OID.text,
        name,
      )
    return typed(aggregate.sql(inside, `${filter}${over}`), aggregate.returns(values), name)
  }
  const set = SET_FUNCTIONS.get(name)
  if (set !== undefined) return setInSelect(name, set, node, args, scope, translation)
  const scalar = SCALARS.get(name)
  if (scalar === undefined || args.length < scalar.least || args.length > scalar.most) throw unknownFunction(node, args)
  const given = args.map((arg, index) => settle(arg, scalar.takes[index] ?? scalar.takes.at(-1) ?? 'any', translation))
  const list = given.map(({ sql }) => sql)
  const sql = scalar.sql === undefined ? `gh_${name}(${list.join(', ')})` : scalar.sql(list, given)
  const type = typeof scalar.returns === 'number' ? scalar.returns : scalar.returns(given)
  return typed(sql, type, name)
}

function settle(arg: Typed, type: number | 'any', translation: Translation): Typed {
  if (type === 'any')
    return arg.type === OID.unknown && arg.parameter !== undefined ? convert(arg, OID.text, translation) : arg
  if (arg.type === OID.unknown) return convert(arg, type, translation)
  // Names of objects become texts, where a text is wanted.
  return type === OID.text && arg.type !== OID.text ? convert(arg, type, translation) : arg
}

function unknownFunction({ path, at }: Call, args: readonly Typed[]): CatalogueError {
  const types = args.map(({ type }) => standardName(type)).join(', ')
  const hint = 'No function matches the given name and argument types. You might need to add explicit type casts.'
  return new CatalogueError('unknownFunction', `function ${path.join('.')}(${types}) does not exist`, at, hint)
}

function conditional(name: string, args: readonly Typed[], node: Call, translation: Translation): Typed {
  if (args.length === 0) throw unknownFunction(node, args)
  const { type, values } = unify(args, translation)
  const list = values.map((value) => (value.type === type ? value.sql : convert(value, type, translation).sql))
  switch (name) {
    case 'coalesce':
      return typed(list.length === 1 ? (list[0] ?? 'NULL') : `coalesce(${list.join(', ')})`, type, name)
    case 'nullif':
      return typed(`nullif(${list.join(', ')})`, type, name)
    default:
      return typed(`gh_${name}(${list.join(', ')})`, type, name)
  }
}

export function translateOrder(items: readonly OrderItem[], print: (value: Expression) => string): string {
  // PostgreSQL has NULL after all values in ascending order.
  return items
    .map(
      ({ value, isDescending, nulls }) =>
        `${print(value)}${isDescending ? ' DESC' : ''} NULLS ${nulls ?? (isDescending ? 'FIRST' : 'LAST')}`,
    )
    .join(', ')
}

function translateWindow(window: WindowSpec, scope: Scope, print: (value: Expression) => string, at: number): string {
  const base = window.base === undefined ? undefined : scope.findWindow(window.base)
  if (window.base !== undefined && base === undefined)
    throw new CatalogueError('unknownObject', `window "${window.base}" does not exist`, at)
  const partition = [...(base?.partitionBy ?? []), ...window.partitionBy].map(print)
  const order = translateOrder([...(base?.orderBy ?? []), ...window.orderBy], print)
  return [
    ...(partition.length === 0 ? [] : [`PARTITION BY ${partition.join(', ')}`]),
    ...(order === '' ? [] : [`ORDER BY ${order}`]),
  ].join(' ')
}

export interface SetSource {
  readonly table: string
  readonly columns: readonly SetColumn[]
}

/** The table of a function that returns a set; a scalar function gives one row. */
export function setSource(
  node: Call,
  alias: string,
  scope: Scope,
  translation: Translation,
  translate: Translate,
): SetSource {
  const name = node.path.at(-1) ?? ''
  const set = SET_FUNCTIONS.get(name)
  if (set === undefined) {
    const { sql, type } = translateCall(node, scope, translation, translate)
    return { table: `json_each(json_array(${sql}))`, columns: [{ name, sql: `${alias}.value`, type }] }
  }
  if (name === 'unnest' && node.args.length > 1) return unnestSeveral(node, alias, scope, translation, translate)
  const args = checkedArguments(
    set,
    node,
    node.args.map((arg) => translate(arg, scope, translation)),
    translation,
  )
  return { table: set.table(args.map(({ sql }) => sql)), columns: set.columns(args, alias) }
}

/** Arrays side by side: rows up to the end of the longest. */
function unnestSeveral(
  node: Call,
  alias: string,
  scope: Scope,
  translation: Translation,
  translate: Translate,
): SetSource {
  const columns = node.args.flatMap((arg, index) => {
    const single = setSource({ ...node, args: [arg] }, alias, scope, translation, translate).columns
    return single.map((column) => ({ ...column, sql: `json_extract(${alias}.value, '$[${index}]')` }))
  })
  const arrays = node.args.map((arg) => translate(arg, scope, translation).sql)
  return { table: `json_each(gh_zip(${arrays.join(', ')}))`, columns }
}

function checkedArguments(
  set: SetFunction,
  node: Call,
  args: readonly Typed[],
  translation: Translation,
): readonly Typed[] {
  if (args.length < set.least || args.length > set.most) throw unknownFunction(node, args)
  return args.map((arg, index) => settle(arg, set.takes[index] ?? 'any', translation))
}

/** In the select list, several advance together: the first one gives the number of rows. */
function setInSelect(
  name: string,
  set: SetFunction,
  node: Call,
  args: readonly Typed[],
  scope: Scope,
  translation: Translation,
): Typed {
  const joins = scope.setJoins
  if (joins === undefined)
    throw new CatalogueError('unsupported', `set-returning functions are not allowed here: ${name}`, node.at)
  const alias = translation.alias()
  const given = checkedArguments(set, node, args, translation)
  const columns = set.columns(given, alias)
  const table = `${set.table(given.map(({ sql }) => sql))} AS ${alias}`
  const [first] = joins
  joins.push(
    first === undefined ? table : `LEFT JOIN ${table} ON ${alias}.key = ${first.slice(first.lastIndexOf(' ') + 1)}.key`,
  )
  const [only, ...others] = columns
  if (only === undefined) throw new CatalogueError('unsupported', `${name} cannot be used here`, node.at)
  if (others.length === 0) return typed(only.sql, only.type, name)
  const members = columns.map((column) => `${quoteText(column.name)}, ${column.sql}`)
  return {
    ...typed(`json_object(${members.join(', ')})`, OID.record, name),
    fields: new Map(columns.map((column) => [column.name, column.type])),
  }
}
