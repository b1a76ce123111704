/** Expressions of catalogue statements as SQL of SQLite, with their types. */
import { CatalogueError } from '../catalogue-error.ts'
import {
  arrayTypeOid,
  elementTypeOid,
  findRepresentation,
  findType,
  isVector,
  OID,
  standardName,
  typeName,
} from '../data/types.ts'
import type { Expression, Query, TypeName } from '../syntax/ast.ts'
import { translateCall } from './call.ts'
import type { Scope } from './scope.ts'
import type { Translation } from './translation.ts'
import { commonType, convert, isText, parameterName, quoteText, type Typed, typed, unify, unifyPair } from './typed.ts'

export function translate(node: Expression, scope: Scope, translation: Translation): Typed {
  const inner = (expression: Expression): Typed => translate(expression, scope, translation)
  switch (node.kind) {
    case 'text':
      return { ...typed(quoteText(node.value), OID.unknown), literal: node.value, at: node.at }
    case 'null':
      return typed('NULL', OID.unknown)
    case 'boolean':
      return { ...typed(node.value ? '1' : '0', OID.bool, 'bool'), isNameWeak: true }
    case 'number':
      return translateNumber(node.value, node.at)
    case 'parameter':
      return {
        ...typed(`:${parameterName(node.index)}`, translation.parameterType(node.index)),
        parameter: node.index,
        at: node.at,
      }
    case 'column': {
      const { sql, type, modifier, name, fields } = scope.column(node.path, node.at)
      return { sql, type, modifier, name, ...(fields === undefined ? {} : { fields }), at: node.at }
    }
    case 'call':
      return translateCall(node, scope, translation, translate)
    case 'unary':
      return translateUnary(node.operator, inner(node.operand), translation)
    case 'binary':
      return translateBinary(node, inner, translation)
    case 'quantified':
      return translateQuantified(node, scope, translation)
    case 'in':
      return translateIn(node, scope, translation)
    case 'like': {
      const escapeWith = node.escape === undefined ? undefined : inner(node.escape).sql
      return like(inner(node.left), inner(node.pattern), node, translation, escapeWith)
    }
    case 'between': {
      // With >= and <= its left side would be printed twice, and that in it four times.
      const [first, low] = unifyPair(inner(node.left), inner(node.low), translation)
      const [left, high] = unifyPair(first, inner(node.high), translation)
      return typed(`(${left.sql} ${node.isNegated ? 'NOT ' : ''}BETWEEN ${low.sql} AND ${high.sql})`, OID.bool)
    }
    case 'is': {
      const { sql } = inner(node.operand)
      return typed(`(${sql} IS ${node.isNegated ? 'NOT ' : ''}${node.what})`, OID.bool)
    }
    case 'distinct': {
      const [left, right] = unifyPair(inner(node.left), inner(node.right), translation)
      return typed(`(${left.sql} IS ${node.isNegated ? '' : 'NOT '}${right.sql})`, OID.bool)
    }
    case 'cast':
      return translateCast(inner(node.operand), node.type, translation)
    case 'case':
      return translateCase(node, inner, translation)
    case 'exists':
      return typed(`EXISTS (${translation.query(node.query, scope).sql})`, OID.bool, 'exists')
    case 'query': {
      const { sql, column } = oneColumn(node.query, scope, translation, node.at)
      return {
        ...typed(`(${sql})`, column.type, column.name, column.modifier),
        ...(column.fields === undefined ? {} : { fields: column.fields }),
      }
    }
    case 'array-query': {
      const { sql, column } = oneColumn(node.query, scope, translation, node.at)
      return typed(`(SELECT json_group_array(c1) FROM (${sql}))`, arrayTypeOid(column.type), 'array')
    }
    case 'array': {
      const { type, values } = unify(node.items.map(inner), translation)
      const isNested = elementTypeOid(type) !== undefined
      const items = values.map(({ sql }) => (isNested ? `json(${sql})` : sql))
      return typed(`json_array(${items.join(', ')})`, isNested ? type : arrayTypeOid(type), 'array')
    }
    case 'row':
      return typed(
        `(${node.items.map((item) => convertUnknown(inner(item), translation).sql).join(', ')})`,
        OID.record,
        'row',
      )
    case 'subscript':
      return translateSubscript(inner(node.operand), inner(node.index), translation, node.at)
    case 'field':
      return translateField(inner(node.operand), node.name, node.at)
  }
}

function convertUnknown(value: Typed, translation: Translation): Typed {
  return value.type === OID.unknown ? convert(value, OID.text, translation) : value
}

function translateNumber(text: string, at: number): Typed {
  if (!/^\d+$/.test(text)) return typed(String(Number(text)), OID.numeric)
  const value = BigInt(text)
  if (value > 0x7fffffffffffffffn) throw new CatalogueError('outOfRange', `The number ${text} is out of range`, at)
  return typed(String(value), value > 0x7fffffffn ? OID.int8 : OID.int4)
}

function translateUnary(operator: 'NOT' | '-' | '+' | '~', operand: Typed, translation: Translation): Typed {
  if (operator === 'NOT') return typed(`(NOT ${convert(operand, OID.bool, translation).sql})`, OID.bool)
  const value = operand.type === OID.unknown ? convert(operand, OID.int4, translation) : operand
  return typed(`(${operator} ${value.sql})`, value.type)
}

type Inner = (expression: Expression) => Typed

const COMPARISONS: ReadonlySet<string> = new Set(['=', '<>', '<', '>', '<=', '>='])
const REGEX = /^(!)?~(\*)?$/
const LIKE = /^(!)?~~(\*)?$/

function translateBinary(node: Extract<Expression, { kind: 'binary' }>, inner: Inner, translation: Translation): Typed {
  const { operator, at } = node
  if (operator === 'AND' || operator === 'OR') {
    const [left, right] = [node.left, node.right].map((side) => convert(inner(side), OID.bool, translation).sql)
    return typed(`(${left} ${operator} ${right})`, OID.bool)
  }
  if (node.left.kind === 'row' && node.right.kind === 'row' && COMPARISONS.has(operator))
    return typed(compareRows(operator, node.left.items, node.right.items, inner, translation), OID.bool)
  return operate(operator, inner(node.left), inner(node.right), at, translation)
}

function compareRows(
  operator: string,
  left: readonly Expression[],
  right: readonly Expression[],
  inner: Inner,
  translation: Translation,
): string {
  const pairs = left.map((item, index) => unifyPair(inner(item), inner(right[index] ?? item), translation))
  const side = (which: 0 | 1): string => `(${pairs.map((pair) => pair[which].sql).join(', ')})`
  return `(${side(0)} ${operator} ${side(1)})`
}

function operate(operator: string, left: Typed, right: Typed, at: number, translation: Translation): Typed {
  if (COMPARISONS.has(operator)) {
    const [a, b] = unifyPair(left, right, translation)
    return typed(`(${a.sql} ${operator} ${b.sql})`, OID.bool)
  }
  const regex = REGEX.exec(operator)
  if (regex !== null) {
    const [text, pattern] = [left, right].map((value) => convert(value, OID.text, translation).sql)
    return typed(
      `(${regex[1] === undefined ? '' : 'NOT '}gh_matches(${text}, ${pattern}, ${regex[2] === undefined ? 0 : 1}))`,
      OID.bool,
    )
  }
  const pattern = LIKE.exec(operator)
  if (pattern !== null)
    return like(
      left,
      right,
      { isNegated: pattern[1] !== undefined, isInsensitive: pattern[2] !== undefined },
      translation,
    )
  if (operator === '||') return concatenate(left, right, translation)
  if (operator === '@>' || operator === '<@' || operator === '&&') {
    const [a, b] = unifyPair(left, right, translation)
    return typed(`gh_array_compare('${operator}', ${a.sql}, ${b.sql})`, OID.bool)
  }
  if (!ARITHMETIC.has(operator)) {
    const types = `${standardName(left.type)} ${operator} ${standardName(right.type)}`
    throw new CatalogueError('unknownFunction', `operator does not exist: ${types}`, at)
  }
  const [a, b] = unifyPair(numeric(left, right, translation), numeric(right, left, translation), translation)
  if (![a, b].every(({ type }) => ['integer', 'real'].includes(findRepresentation(type)))) {
    const types = `${standardName(a.type)} ${operator} ${standardName(b.type)}`
    throw new CatalogueError('unknownFunction', `operator does not exist: ${types}`, at)
  }
  const type = commonType([a.type, b.type])
  // SQLite divides whole values as integers, and returns NULL for a division by zero.
  if (operator === '/' || operator === '%')
    return typed(`gh_divide('${operator}', ${findRepresentation(type) === 'real' ? 1 : 0}, ${a.sql}, ${b.sql})`, type)
  return typed(`(${a.sql} ${operator} ${b.sql})`, type)
}

const ARITHMETIC: ReadonlySet<string> = new Set(['+', '-', '*', '/', '%', '&', '|', '<<', '>>'])

function numeric(value: Typed, other: Typed, translation: Translation): Typed {
  return value.type === OID.unknown && other.type === OID.unknown ? convert(value, OID.int4, translation) : value
}

function concatenate(left: Typed, right: Typed, translation: Translation): Typed {
  const arrays = [left, right].filter(({ type }) => elementTypeOid(type) !== undefined)
  const [array] = arrays
  if (array !== undefined) {
    const element = elementTypeOid(array.type) ?? OID.text
    const items = [left, right].map((value) => {
      if (elementTypeOid(value.type) !== undefined) return value.sql
      if (value.literal?.startsWith('{')) return convert(value, array.type, translation).sql
      return `json_array(${convert(value, element, translation).sql})`
    })
    return typed(`gh_array_cat(${items.join(', ')})`, array.type)
  }
  const [a, b] = [left, right].map((value) => convert(value, OID.text, translation).sql)
  return typed(`(${a} || ${b})`, OID.text)
}

/** LIKE of SQLite is made case-sensitive when a database is opened. */
function like(
  left: Typed,
  pattern: Typed,
  { isNegated, isInsensitive }: { readonly isNegated: boolean; readonly isInsensitive: boolean },
  translation: Translation,
  escapeWith?: string,
): Typed {
  const texts = [left, pattern].map((value) => convert(value, OID.text, translation).sql)
  const [text, against] = isInsensitive ? texts.map((sql) => `lower(${sql})`) : texts
  return typed(
    `(${text} ${isNegated ? 'NOT ' : ''}LIKE ${against} ESCAPE ${escapeWith === undefined ? "'\\'" : `nullif(${escapeWith}, '')`})`,
    OID.bool,
  )
}

function translateQuantified(
  node: Extract<Expression, { kind: 'quantified' }>,
  scope: Scope,
  translation: Translation,
): Typed {
  const left = translate(node.left, scope, translation)
  const { operator, quantifier, at } = node
  const isAny = quantifier === 'ANY'
  if ('body' in node.right) {
    const { sql, column } = oneColumn(node.right, scope, translation, at)
    const value = convertTo(left, column.type, translation)
    if (isAny && operator === '=') return typed(`(${value.sql} IN (${sql}))`, OID.bool)
    if (!isAny && operator === '<>') return typed(`(${value.sql} NOT IN (${sql}))`, OID.bool)
    return typed(
      quantify(isAny, `(${sql}) AS q`, operate(operator, value, typed('q.c1', column.type), at, translation)),
      OID.bool,
    )
  }
  const given = translate(node.right, scope, translation)
  const array = given.type === OID.unknown ? convert(given, arrayTypeOid(left.type), translation) : given
  const element = elementTypeOid(array.type) ?? (array.type === OID.anyarray ? left.type : undefined)
  if (element === undefined) throw new CatalogueError('syntax', 'op ANY/ALL (array) requires array on right side', at)
  const value = convertTo(left, element, translation)
  if (isAny && operator === '=') return typed(`(${value.sql} IN (SELECT value FROM json_each(${array.sql})))`, OID.bool)
  return typed(
    quantify(
      isAny,
      `json_each(${array.sql}) AS q`,
      operate(operator, value, typed('q.value', element), at, translation),
    ),
    OID.bool,
  )
}

function quantify(isAny: boolean, source: string, condition: Typed): string {
  return isAny
    ? `EXISTS (SELECT 1 FROM ${source} WHERE ${condition.sql})`
    : `NOT EXISTS (SELECT 1 FROM ${source} WHERE NOT ${condition.sql})`
}

function convertTo(value: Typed, type: number, translation: Translation): Typed {
  return value.type === OID.unknown ? convert(value, type === OID.unknown ? OID.text : type, translation) : value
}

function translateIn(node: Extract<Expression, { kind: 'in' }>, scope: Scope, translation: Translation): Typed {
  const inner = (expression: Expression): Typed => translate(expression, scope, translation)
  const operator = node.isNegated ? 'NOT IN' : 'IN'
  if ('body' in node.right) {
    const { sql, columns } = translation.query(node.right, scope)
    const left = inner(node.left)
    const value = convertTo(left, columns[0]?.type ?? OID.text, translation)
    return typed(`(${value.sql} ${operator} (${sql}))`, OID.bool)
  }
  if (node.left.kind === 'row') {
    const rows = node.right.map((row) => inner(row).sql)
    return typed(`(${inner(node.left).sql} ${operator} (VALUES ${rows.join(', ')}))`, OID.bool)
  }
  const left = inner(node.left)
  const items = node.right.map(inner)
  const type = left.type === OID.unknown ? unify(items, translation).type : left.type
  const list = items.map((item) => unifyPair(typed('x', type), item, translation)[1].sql)
  return typed(`(${convertTo(left, type, translation).sql} ${operator} (${list.join(', ')}))`, OID.bool)
}

function translateCast(operand: Typed, name: TypeName, translation: Translation): Typed {
  const type = requireType(name)
  const converted = convert(operand, type, translation)
  const isNameWeak = operand.isNameWeak === true
  return { ...converted, type, name: isNameWeak ? typeName(elementTypeOid(type) ?? type) : operand.name, isNameWeak }
}

export function requireType({ path, isExact, isArray, at }: TypeName): number {
  const type = findType(path.at(-1) ?? '', isExact)
  if (type === undefined) throw new CatalogueError('unknownObject', `type "${path.join('.')}" does not exist`, at)
  return isArray ? arrayTypeOid(type) : type
}

function translateCase(node: Extract<Expression, { kind: 'case' }>, inner: Inner, translation: Translation): Typed {
  const results = [
    ...node.branches.map(({ result }) => result),
    ...(node.otherwise === undefined ? [] : [node.otherwise]),
  ].map(inner)
  const { values } = unify(results, translation)
  // PostgreSQL looks at ELSE first.
  const common = commonType(results.toReversed().map((result) => result.type))
  const type = common === OID.unknown ? OID.text : common
  const subject = node.subject === undefined ? undefined : inner(node.subject)
  const whens = node.branches.map(({ when }, index) => {
    const condition = inner(when)
    const test =
      subject === undefined ? convert(condition, OID.bool, translation) : unifyPair(subject, condition, translation)[1]
    return `WHEN ${test.sql} THEN ${sameText(values[index], type, translation)}`
  })
  const last = node.otherwise === undefined ? undefined : values.at(-1)
  const otherwise = last === undefined ? '' : ` ELSE ${sameText(last, type, translation)}`
  const sql = `CASE ${subject === undefined ? '' : `${subject.sql} `}${whens.join(' ')}${otherwise} END`
  const named = results.at(-1)
  const isNameWeak = node.otherwise === undefined || named === undefined || named.isNameWeak === true
  return { ...typed(sql, type, isNameWeak ? 'case' : named.name), isNameWeak }
}

/** A branch whose value is not kept as the others are. */
function sameText(value: Typed | undefined, type: number, translation: Translation): string {
  if (value === undefined) return 'NULL'
  return isText(type) && !isText(value.type) ? convert(value, type, translation).sql : value.sql
}

export function oneColumn(query: Query, scope: Scope, translation: Translation, at: number) {
  const { sql, columns } = translation.query(query, scope)
  const [column] = columns
  if (column === undefined || columns.length > 1)
    throw new CatalogueError('syntax', 'subquery must return only one column', at)
  return { sql, column }
}

function translateSubscript(operand: Typed, index: Typed, translation: Translation, at: number): Typed {
  const element = elementTypeOid(operand.type)
  if (element === undefined)
    throw new CatalogueError(
      'unknownObject',
      `cannot subscript type ${standardName(operand.type)} because it does not support subscripting`,
      at,
    )
  const position = convert(index, OID.int4, translation).sql
  const first = isVector(operand.type) ? 0 : 1
  return typed(`gh_item(${operand.sql}, (${position}) - ${first})`, element, operand.name)
}

function translateField(operand: Typed, name: string, at: number): Typed {
  const type = operand.fields?.get(name)
  if (type === undefined)
    throw new CatalogueError(
      'unknownColumn',
      `column "${name}" not found in data type ${standardName(operand.type)}`,
      at,
    )
  return typed(`json_extract(${operand.sql}, ${quoteText(`$."${name}"`)})`, type, name)
}
