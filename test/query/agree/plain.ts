/** Generates random statements in the subset that IQL and SQL share, so that PostgreSQL can run the same text. */
import type { Choice } from './choice.ts'

export type PlainKind = 'Integer' | 'Decimal' | 'Text' | 'Boolean' | 'Timestamp' | 'Date'

export interface PlainStatement {
  readonly text: string
  /** The kinds of the result columns. */
  readonly kinds: readonly PlainKind[]
}

const KINDS: readonly PlainKind[] = ['Integer', 'Decimal', 'Text', 'Boolean', 'Timestamp', 'Date']
const COLUMNS: Readonly<Record<PlainKind, readonly string[]>> = {
  Integer: ['id', 'k', 'i'],
  Decimal: ['d', 's', 'w', 'e'],
  Text: ['t', 'u'],
  Boolean: ['ok'],
  Timestamp: ['ts', 'at'],
  Date: ['dt'],
}
const LITERALS: Readonly<Record<PlainKind, readonly string[]>> = {
  Integer: ['0', '1', '2', '7', '-3'],
  Decimal: ['0.5', '1.25', '-2.0', '10.00'],
  Text: ["'a'", "'BHP'", "''", "'it''s'", "'é'"],
  Boolean: ['TRUE', 'FALSE'],
  Timestamp: ["TIMESTAMP '2026-01-30T10:00:00Z'", "TIMESTAMP '2024-02-29 12:00:00.5'"],
  Date: ["DATE '2026-01-30'", "DATE '2024-02-29'"],
}

export function plainStatement(choice: Choice): PlainStatement {
  return new PlainStatements(choice).statement()
}

class PlainStatements {
  readonly #choice: Choice
  #aliases = 0

  constructor(choice: Choice) {
    this.#choice = choice
  }

  statement(): PlainStatement {
    const kinds = this.#choice.list(1, 3, () => this.#choice.of(KINDS))
    const body = this.#choice.oneIn(5)
      ? `${this.#select(kinds)} ${this.#choice.of(['UNION', 'UNION ALL', 'INTERSECT', 'EXCEPT', 'EXCEPT ALL'])} ${this.#select(kinds)}`
      : this.#select(kinds)
    const order = kinds.map((_kind, index) => `${index + 1}${this.#choice.of(['', ' DESC', ' NULLS FIRST'])}`)
    const limit = this.#choice.oneIn(3) ? ` LIMIT ${this.#choice.of(['1', '4', '100'])} OFFSET 1` : ''
    return { text: `${body} ORDER BY ${order.join(', ')}${limit}`, kinds }
  }

  #select(kinds: readonly PlainKind[]): string {
    const { from, aliases } = this.#from()
    const where = this.#choice.oneIn(2) ? ` WHERE ${this.#make('Boolean', aliases, 2)}` : ''
    if (this.#choice.oneIn(3)) return this.#grouped(kinds, from + where, aliases)
    const isWindowed = this.#choice.oneIn(5)
    const items = kinds.map((kind, index) => {
      const made = isWindowed && kind === 'Integer' ? this.#window(aliases) : this.#make(kind, aliases, 3)
      return `${made} AS c${index + 1}`
    })
    return `SELECT ${this.#choice.oneIn(6) ? 'DISTINCT ' : ''}${items.join(', ')} FROM ${from}${where}`
  }

  #grouped(kinds: readonly PlainKind[], from: string, aliases: readonly string[]): string {
    const key = `${aliases[0]}.k`
    const items = kinds.map((kind, index) => `${this.#aggregate(kind, aliases)} AS c${index + 1}`)
    const having = this.#choice.oneIn(3) ? ` HAVING count(*) > ${this.#choice.of(['0', '1', '3'])}` : ''
    return `SELECT ${items.join(', ')} FROM ${from} GROUP BY ${key}${having}`
  }

  #aggregate(kind: PlainKind, aliases: readonly string[]): string {
    const of = (wanted: PlainKind): string => this.#make(wanted, aliases, 1)
    const filter = this.#choice.oneIn(4) ? ` FILTER (WHERE ${of('Boolean')})` : ''
    switch (kind) {
      case 'Integer':
        return this.#choice.of([`${aliases[0]}.k`, `count(*)${filter}`, `count(DISTINCT ${of('Text')})${filter}`])
      case 'Decimal':
        return `sum(${of(this.#choice.of(['Decimal', 'Integer']))})${filter}`
      case 'Boolean':
        return `${this.#choice.of(['bool_and', 'bool_or'])}(${of('Boolean')})${filter}`
      default:
        return `${this.#choice.of(['min', 'max'])}(${of(kind)})${filter}`
    }
  }

  /** Ordered by the keys of all tables, so that the order is total. */
  #window(aliases: readonly string[]): string {
    const [alias = ''] = aliases
    const call = this.#choice.of(['row_number()', 'rank()', 'dense_rank()', `lag(${alias}.i)`, `lead(${alias}.k, 2)`])
    const partition = this.#choice.oneIn(2) ? `PARTITION BY ${alias}.k ` : ''
    return `${call} OVER (${partition}ORDER BY ${aliases.map((each) => `${each}.id DESC`).join(', ')})`
  }

  #from(): { from: string; aliases: readonly string[] } {
    const left = `t${++this.#aliases}`
    const table = () => this.#choice.of(['a', 'b'])
    if (this.#choice.oneIn(2)) return { from: `${table()} AS ${left}`, aliases: [left] }
    const right = `t${++this.#aliases}`
    const join = this.#choice.of(['JOIN', 'LEFT JOIN', 'RIGHT JOIN', 'FULL JOIN'])
    const column = this.#choice.of(['id', 'k', 'u', 'dt'])
    const from = `${table()} AS ${left} ${join} ${table()} AS ${right} ON ${left}.${column} = ${right}.${column}`
    return { from, aliases: [left, right] }
  }

  /** The left operand is always a column, since PostgreSQL treats a small literal as a 32-bit integer. */
  #make(kind: PlainKind, aliases: readonly string[], depth: number): string {
    const choice = this.#choice
    const column = `${choice.of(aliases)}.${choice.of(COLUMNS[kind])}`
    if (depth <= 0 || choice.oneIn(4)) return column
    const next = (wanted: PlainKind): string => this.#make(wanted, aliases, depth - 1)
    const literal = choice.of(LITERALS[kind])
    const general = [
      () => `CASE WHEN ${next('Boolean')} THEN ${next(kind)} ELSE ${next(kind)} END`,
      () => `coalesce(${next(kind)}, ${literal})`,
      () => `nullif(${next(kind)}, ${literal})`,
    ]
    return choice.of([...this.#own(kind, column, literal, next, aliases), ...general])()
  }

  #own(
    kind: PlainKind,
    column: string,
    literal: string,
    next: (wanted: PlainKind) => string,
    aliases: readonly string[],
  ): (() => string)[] {
    const choice = this.#choice
    switch (kind) {
      case 'Integer':
        return [
          () => `(${column} ${choice.of(['+', '-', '*'])} ${next('Integer')})`,
          () => `(${next('Integer')} ${choice.of(['/', '%'])} ${choice.of(['3', '-7'])})`,
          () => `(${next('Date')} - ${next('Date')})`,
          () => `abs(${column})`,
        ]
      case 'Decimal':
        return [
          () => `(${column} ${choice.of(['+', '-', '*'])} ${literal})`,
          () => `(${next('Decimal')} + ${next('Decimal')})`,
          () => `abs(${next('Decimal')})`,
        ]
      case 'Text':
        return [() => `(${next('Text')} || ${literal})`, () => `replace(${next('Text')}, 'a', 'bb')`]
      case 'Timestamp':
        return [() => `(${next('Timestamp')} + INTERVAL '${choice.of(['1 month', '-3 days', '90 minutes'])}')`]
      case 'Date':
        return [() => `(${next('Date')} + ${choice.of(['1', '31'])})`]
      case 'Boolean':
        return this.#tests(next, aliases)
    }
  }

  #tests(next: (wanted: PlainKind) => string, aliases: readonly string[]): (() => string)[] {
    const choice = this.#choice
    const kind = choice.of(KINDS)
    const not = choice.of(['', 'NOT '])
    return [
      () => `(${next(kind)} ${choice.of(['=', '<>', '<', '<=', '>', '>='])} ${next(kind)})`,
      () => `(${next(kind)} IS ${not}DISTINCT FROM ${next(kind)})`,
      () => `(${next(kind)} IS ${not}NULL)`,
      () => `(${next('Boolean')} ${choice.of(['AND', 'OR'])} ${next('Boolean')})`,
      () => `(NOT ${next('Boolean')})`,
      () => `(${next('Integer')} ${not}BETWEEN ${next('Integer')} AND ${next('Integer')})`,
      () => `(${next(kind)} ${not}IN (${LITERALS[kind].slice(0, 2).join(', ')}))`,
      () => `(${next('Text')} ${not}LIKE ${choice.of(["'%a%'", "'_'", "'B%'", "''"])})`,
      () => `(${not}EXISTS (SELECT 1 AS one FROM b AS z WHERE z.k = ${choice.of(aliases)}.k))`,
      () => `(${next('Integer')} ${not}IN (SELECT z.k FROM a AS z WHERE z.ok))`,
    ]
  }
}
