/** Random row filters over attributes, and an oracle of what they show: SQL's three-valued logic in a few lines. */
import type { AttributeValues } from '../../packages/server/src/store/accounts/user.ts'
import type { AttributeDefinition } from '../../packages/server/src/store/attributes/attributes.ts'
import type { Choice } from '../query/agree/choice.ts'

export type Value = string | number | boolean
/** Null is unknown, or the absence of a value. */
type Truth = boolean | null

type Kind = 'Text' | 'Integer' | 'Boolean' | 'Date'

/** Of each kind, one attribute with one value and one with many; `constructor` is also a member of every object. */
const NAMES: Readonly<Record<Kind, readonly [one: string, many: string]>> = {
  Text: ['constructor', 'desk'],
  Integer: ['level', 'levels'],
  Boolean: ['flag', 'flags'],
  Date: ['since', 'days'],
}
const KINDS = ['Text', 'Integer', 'Boolean', 'Date'] as const

export const DEFINITIONS: readonly AttributeDefinition[] = KINDS.flatMap((type) =>
  NAMES[type].map((name, index) => ({
    ...{ name, type, many: index === 1, claim: undefined, scope: undefined, scim: undefined },
  })),
)

const VALUES: Readonly<Record<Kind, readonly Value[]>> = {
  Text: ['FX', 'Rates', "O'Hara", 'a"b\\c', 'NULL', '{}', 'Zürich', ' '],
  Integer: [-1, 0, 1, 2, 9007199254740991],
  Boolean: [true, false],
  Date: ['1969-12-31', '2024-02-29', '2026-11-17'],
}

export interface Row {
  readonly id: number
  readonly Text: Value | null
  readonly Integer: Value | null
  readonly Boolean: Value | null
  readonly Date: Value | null
}

const COLUMNS: Readonly<Record<Kind, string>> = { Text: 't', Integer: 'n', Boolean: 'b', Date: 'd' }
export const TABLE = 'CREATE TABLE filtered (id Integer PRIMARY KEY, t Text, n Integer, b Boolean, d Date)'

export function randomRows(choice: Choice, count: number): Row[] {
  const cell = (kind: Kind) => (choice.oneIn(5) ? null : choice.of(VALUES[kind]))
  return Array.from({ length: count }, (_item, id) => ({
    ...{ id, Text: cell('Text'), Integer: cell('Integer'), Boolean: cell('Boolean'), Date: cell('Date') },
  }))
}

export function buildInsert(rows: readonly Row[]): string {
  const tuples = rows.map((row) => `(${[row.id, ...KINDS.map((kind) => literal(row[kind], kind))].join(', ')})`)
  return `INSERT INTO filtered VALUES ${tuples.join(', ')}`
}

/** Some attributes are missing. */
export function randomValues(choice: Choice): AttributeValues {
  const entries = KINDS.flatMap((kind) =>
    NAMES[kind].map((name, index) => {
      const count = choice.oneIn(2) ? 0 : index === 0 ? 1 : choice.below(3) + 1
      return [name, [...new Set(Array.from({ length: count }, () => choice.of(VALUES[kind])))]] as const
    }),
  )
  return Object.fromEntries(entries.filter(([, values]) => values.length > 0))
}

export interface Filter {
  readonly text: string
  test(row: Row, values: AttributeValues): Truth
}

/** Conditions over attributes, columns and constants, under AND, OR and NOT. */
export function randomFilter(choice: Choice, depth: number): Filter {
  const kind = depth === 0 ? 0 : choice.below(4)
  if (kind === 1) {
    const inner = randomFilter(choice, depth - 1)
    return { text: `NOT (${inner.text})`, test: (row, values) => not(inner.test(row, values)) }
  }
  if (kind === 2 || kind === 3) {
    const [a, b] = [randomFilter(choice, depth - 1), randomFilter(choice, depth - 1)]
    const isAnd = kind === 2
    return {
      text: `(${a.text}) ${isAnd ? 'AND' : 'OR'} (${b.text})`,
      test: (row, values) => (isAnd ? and : or)(a.test(row, values), b.test(row, values)),
    }
  }
  return randomComparison(choice)
}

function randomComparison(choice: Choice): Filter {
  const kind = choice.of(KINDS)
  if (choice.oneIn(3)) return setComparison(choice, kind)
  const [x, y, z] = [operand(choice, kind), operand(choice, kind), operand(choice, kind)]
  const negated = choice.oneIn(2)
  const word = negated ? 'NOT ' : ''
  const signed = (truth: Truth) => (negated ? not(truth) : truth)
  switch (choice.below(3)) {
    case 0: {
      const operator = choice.of(['=', '<>', '<', '<=', '>', '>='] as const)
      return {
        text: `${x.text} ${operator} ${y.text}`,
        test: (row, values) => compare(operator, x.of(row, values), y.of(row, values)),
      }
    }
    case 1:
      return {
        text: `${x.text} ${word}IN (${y.text}, ${z.text})`,
        test: (row, values) => {
          const equals = [y, z].map((item) => compare('=', x.of(row, values), item.of(row, values)))
          return signed(equals.reduce(or))
        },
      }
    default:
      return {
        text: `${x.text} ${word}BETWEEN ${y.text} AND ${z.text}`,
        test: (row, values) => {
          const value = x.of(row, values)
          return signed(and(compare('>=', value, y.of(row, values)), compare('<=', value, z.of(row, values))))
        },
      }
  }
}

function setComparison(choice: Choice, kind: Kind): Filter {
  const [, name] = NAMES[kind]
  const x = operand(choice, kind)
  const set = `:attribute.${name}`
  const [text, negated] = choice.of([
    [`${x.text} = ${set}`, false],
    [`${set} = ${x.text}`, false],
    [`${x.text} <> ${set}`, true],
    [`${x.text} IN (${set})`, false],
    [`${x.text} NOT IN (${set})`, true],
  ] as const)
  return {
    text,
    test(row, values) {
      const value = x.of(row, values)
      const held = values[name]
      if (held === undefined || value === null) return null
      return held.includes(value) !== negated
    },
  }
}

interface Operand {
  readonly text: string
  of(row: Row, values: AttributeValues): Value | null
}

/** A column, an attribute with at most one value, or a constant. */
function operand(choice: Choice, kind: Kind): Operand {
  const [name] = NAMES[kind]
  switch (choice.below(5)) {
    case 0: {
      const value = choice.of(VALUES[kind])
      return { text: literal(value, kind), of: () => value }
    }
    case 1:
    case 2:
      return {
        text: `:attribute.${name}`,
        of: (_row, values) => (Object.hasOwn(values, name) ? (values[name]?.[0] ?? null) : null),
      }
    default:
      return { text: COLUMNS[kind], of: (row) => row[kind] }
  }
}

function literal(value: Value | null, kind: Kind): string {
  if (value === null) return 'NULL'
  const text = typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value)
  return kind === 'Date' ? `DATE ${text}` : text
}

function not(a: Truth): Truth {
  return a === null ? null : !a
}

function and(a: Truth, b: Truth): Truth {
  return a === false || b === false ? false : a === null || b === null ? null : true
}

function or(a: Truth, b: Truth): Truth {
  return not(and(not(a), not(b)))
}

function compare(operator: '=' | '<>' | '<' | '<=' | '>' | '>=', a: Value | null, b: Value | null): Truth {
  if (a === null || b === null) return null
  switch (operator) {
    case '=':
      return a === b
    case '<>':
      return a !== b
    case '<':
      return a < b
    case '<=':
      return a <= b
    case '>':
      return a > b
    case '>=':
      return a >= b
  }
}
