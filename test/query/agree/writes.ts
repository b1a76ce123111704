/** Generates random writes and definitions for a table `w`, whose definition changes on the way. */
import { type Expression, printExpression } from 'gatehouse-iql'
import { COLUMNS, cell, type Row, type TableColumn } from './data.ts'
import type { Write } from './engines.ts'
import type { Expressions, Source } from './expressions.ts'
import type { Queries } from './queries.ts'

/** A write, and how it changes the known definition if both engines accept it. */
export interface Step {
  readonly kind: string
  readonly write: Write
  /** Every value is certainly evaluated, and the rows cannot conflict with each other. */
  readonly isTotal: boolean
  readonly taken: () => void
}

interface Column {
  readonly name: string
  /** The column whose type and values it uses. */
  readonly like: TableColumn
  readonly isUnique: boolean
}

const KEY = COLUMNS.filter(({ name }) => name === 'id')
const OTHERS = COLUMNS.filter(({ name }) => name !== 'id')
const KEYS = ['9223372036854775807', '-9223372036854775808', '0', '-1']

export class Writes {
  readonly #make: Expressions
  readonly #queries: Queries
  #columns: readonly Column[] = []
  #indexes: readonly string[] = []
  #names = 0

  constructor(make: Expressions, queries: Queries) {
    this.#make = make
    this.#queries = queries
  }

  /** The first step creates the table, and so does the step after it was dropped. */
  step(): Step {
    const { choice } = this.#make
    if (this.#columns.length === 0) return this.#create()
    const makers: readonly (() => Step)[] = [
      () => this.#insertValues(),
      () => this.#insertValues(),
      () => this.#insertCall(),
      () => this.#insertCall(),
      () => this.#insertSelect(),
      () => this.#update(),
      () => this.#update(),
      () => this.#moveKey(),
      () => this.#delete(),
      () => (choice.oneIn(3) ? this.#define() : this.#insertCall()),
    ]
    return choice.of(makers)()
  }

  #define(): Step {
    const { choice } = this.#make
    const makers: readonly (() => Step)[] = [
      () => this.#addColumn(),
      () => this.#addColumn(),
      () => this.#dropColumn(),
      () => this.#renameColumn(),
      () => this.#createIndex(),
      () => this.#dropIndex(),
      () => this.#drop(),
    ]
    return choice.of(makers)()
  }

  #create(): Step {
    const { choice } = this.#make
    const columns = choice.list(3, 8, () => this.#newColumn())
    const parts = columns.map((column) => this.#definition(column, choice.oneIn(3)))
    const write = `CREATE TABLE w (id Integer PRIMARY KEY, ${parts.join(', ')})`
    return this.#definitionStep('create', write, () => {
      this.#columns = columns
      this.#indexes = []
    })
  }

  #newColumn(): Column {
    const { choice } = this.#make
    const like = choice.of(OTHERS)
    return { name: `c${++this.#names}`, like, isUnique: like.kind !== 'Json' && choice.oneIn(8) }
  }

  /** With a default a column can be NOT NULL, even if it is added to existing rows. */
  #definition({ name, like, isUnique }: Column, hasDefault: boolean): string {
    const { choice } = this.#make
    const value = hasDefault ? ` DEFAULT ${this.#value(like)}` : ''
    const notNull = hasDefault && choice.oneIn(3) ? ' NOT NULL' : ''
    return `${name} ${like.type}${notNull}${isUnique ? ' UNIQUE' : ''}${value}`
  }

  #addColumn(): Step {
    const column = this.#newColumn()
    const write = `ALTER TABLE w ADD COLUMN ${this.#definition(column, this.#make.choice.oneIn(2))}`
    return this.#definitionStep('add column', write, () => {
      this.#columns = [...this.#columns, column]
    })
  }

  #dropColumn(): Step {
    const { name } = this.#make.choice.of(this.#columns)
    return this.#definitionStep('drop column', `ALTER TABLE w DROP COLUMN ${name}`, () => {
      this.#columns = this.#columns.filter((column) => column.name !== name)
    })
  }

  #renameColumn(): Step {
    const { name } = this.#make.choice.of(this.#columns)
    const to = `c${++this.#names}`
    return this.#definitionStep('rename column', `ALTER TABLE w RENAME COLUMN ${name} TO ${to}`, () => {
      this.#columns = this.#columns.map((column) => (column.name === name ? { ...column, name: to } : column))
    })
  }

  #createIndex(): Step {
    const { choice } = this.#make
    const name = `i${++this.#names}`
    const columns = choice.list(1, 2, () => choice.of(this.#columns)).map((column) => column.name)
    const unique = choice.oneIn(4) ? 'UNIQUE ' : ''
    const order = choice.oneIn(2) ? ' DESC' : ''
    const write = `CREATE ${unique}INDEX ${name} ON w (${columns.join(', ')}${order})`
    return this.#definitionStep('create index', write, () => {
      this.#indexes = [...this.#indexes, name]
      if (unique !== '')
        this.#columns = this.#columns.map((column) =>
          columns.includes(column.name) ? { ...column, isUnique: true } : column,
        )
    })
  }

  #dropIndex(): Step {
    const { choice } = this.#make
    const name = this.#indexes.length === 0 ? 'i0' : choice.of(this.#indexes)
    return this.#definitionStep('drop index', `DROP INDEX ${name}`, () => {
      this.#indexes = this.#indexes.filter((index) => index !== name)
    })
  }

  #drop(): Step {
    return this.#definitionStep('drop', 'DROP TABLE w', () => {
      this.#columns = []
    })
  }

  #definitionStep(kind: string, write: string, taken: () => void): Step {
    return { kind, write, isTotal: true, taken }
  }

  #insertValues(): Step {
    const { choice } = this.#make
    const columns = this.#some()
    const row = (): string => {
      const values = columns.map(({ like }) => (choice.oneIn(12) ? 'DEFAULT' : this.#value(like)))
      return `(${[this.#key(), ...values].join(', ')})`
    }
    const rows = choice.list(1, 4, row)
    const rest = `${this.#onConflict()}${this.#returning()}`
    const write = `INSERT INTO w ${this.#list(columns)} VALUES ${rows.join(', ')}${rest}`
    return { kind: 'insert values', write, isTotal: false, taken: unchanged }
  }

  #insertCall(): Step {
    const { choice } = this.#make
    const rows = choice.list(1, 5, (): Row => {
      const cells = this.#some().map(({ name, like }) => [name, cell(choice, like.name, this.#make.isTame)] as const)
      return Object.fromEntries([['id', this.#key()], ...cells])
    })
    return { kind: 'insert call', write: { table: 'w', rows }, isTotal: false, taken: unchanged }
  }

  #insertSelect(): Step {
    const { choice } = this.#make
    const table = choice.of(['a', 'b', 'w'])
    const source = table === 'w' ? this.#source() : { alias: table, columns: COLUMNS, key: 'id' }
    const columns = this.#some()
    const context = this.#queries.createContext(source)
    const values = columns.map(({ like }) => this.#fitted(like, this.#make.make(like.kind, context, 2)))
    const id = `${table}.id + ${choice.of(['0', '20', '100', '1000'])}`
    const where = choice.oneIn(2) ? '' : ` WHERE ${printExpression(this.#make.make('Boolean', context, 2))}`
    // Without a WHERE, ON after the query would be parsed as a join condition.
    const conflict = where === '' ? '' : this.#onConflict()
    const query = `SELECT ${[id, ...values].join(', ')} FROM ${table}${where}`
    const write = `INSERT INTO w ${this.#list(columns)} ${query}${conflict}${this.#returning()}`
    return { kind: 'insert select', write, isTotal: false, taken: unchanged }
  }

  #update(): Step {
    const { choice } = this.#make
    const plain = this.#columns.filter(({ isUnique }) => !isUnique)
    if (plain.length === 0) return this.#moveKey()
    const context = this.#queries.createContext(this.#source())
    const column = choice.of(plain)
    const value = choice.oneIn(12)
      ? 'DEFAULT'
      : this.#fitted(column.like, this.#make.make(column.like.kind, context, 2))
    const where = choice.oneIn(6) ? 'ALL' : `WHERE ${printExpression(this.#make.make('Boolean', context, 3))}`
    const write = `UPDATE w SET ${column.name} = ${value} ${where}${this.#returning()}`
    return { kind: 'update', write, isTotal: false, taken: unchanged }
  }

  /** One row at a time, since the order in which rows take over each other's keys is undefined. */
  #moveKey(): Step {
    const write = `UPDATE w SET id = ${this.#key()} WHERE id = ${this.#key()}${this.#returning()}`
    return { kind: 'move key', write, isTotal: true, taken: unchanged }
  }

  #delete(): Step {
    const { choice } = this.#make
    const context = this.#queries.createContext(this.#source())
    const condition = printExpression(this.#make.make('Boolean', context, 3))
    const where = choice.oneIn(15) ? 'ALL' : `WHERE ${condition} AND w.id % 3 = ${choice.below(3)}`
    return { kind: 'delete', write: `DELETE FROM w ${where}${this.#returning()}`, isTotal: false, taken: unchanged }
  }

  #some(): readonly Column[] {
    const chosen = this.#columns.filter(() => !this.#make.choice.oneIn(4))
    return chosen.length === 0 ? this.#columns : chosen
  }

  #list(columns: readonly Column[]): string {
    return `(${['id', ...columns.map(({ name }) => name)].join(', ')})`
  }

  #source(): Source {
    const own = this.#columns.map(({ name, like }) => ({ name, kind: like.kind }))
    return { alias: 'w', columns: [...KEY, ...own], key: 'id' }
  }

  #key(): string {
    const { choice } = this.#make
    return choice.oneIn(15) ? choice.of(KEYS) : String(choice.below(40))
  }

  #value(like: TableColumn): string {
    return this.#make.choice.oneIn(8) ? 'NULL' : this.#fitted(like, this.#make.literal(like.kind))
  }

  #fitted({ type, kind }: TableColumn, expression: Expression): string {
    const text = printExpression(expression)
    return kind === 'Decimal' ? `CAST(${text} AS ${type})` : text
  }

  #onConflict(): string {
    const { choice } = this.#make
    if (!choice.oneIn(3)) return ''
    if (choice.oneIn(3)) return choice.of([' ON CONFLICT DO NOTHING', ' ON CONFLICT (id) DO NOTHING'])
    const plain = this.#columns.filter(({ isUnique }) => !isUnique)
    const set = plain.slice(0, 2).map(({ name }) => `${name} = excluded.${name}`)
    const where = choice.oneIn(3) ? ` WHERE ${choice.of(['w.id > 5', 'excluded.id < 20'])}` : ''
    return set.length === 0 ? '' : ` ON CONFLICT (id) DO UPDATE SET ${set.join(', ')}${where}`
  }

  #returning(): string {
    const { choice } = this.#make
    if (choice.oneIn(2)) return ''
    if (choice.oneIn(2)) return ' RETURNING *'
    const { name, like } = choice.of(this.#columns)
    return ` RETURNING id, ${name}${like.kind === 'Integer' ? `, ${name} IS NULL AS n` : ''}`
  }
}

const unchanged = (): void => {}
