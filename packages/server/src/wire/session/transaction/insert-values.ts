/** An INSERT with one row of parameters, and the values of rows for it: many rows share its plan, which would take far more memory than they do. */
import { type Bound, type IqlValue, printName, sameType } from 'gatehouse-iql'
import type { SessionCaller } from '../contract.ts'
import type { SessionEnv } from '../env.ts'
import { IqlStatement } from '../statement/iql-statement.ts'

type BoundInsert = Extract<Bound['statement'], { readonly kind: 'insert' }>

export function insertText(table: string, columns: readonly string[]): string {
  const places = columns.map((_, index) => `$${index + 1}`)
  return `INSERT INTO ${quoted(table)} (${columns.map(quoted).join(', ')}) VALUES (${places.join(', ')})`
}

export function rowStatement(text: string, { principal }: SessionCaller, env: SessionEnv): IqlStatement {
  return new IqlStatement(text, { text: '', offset: 0 }, [], principal, env)
}

/** The values of an INSERT of constants; undefined if it has others, or shares its plan with INSERTs of other constants. */
export function constantRows({ columns, rows }: BoundInsert): IqlValue[][] | undefined {
  if (rows.kind !== 'values') return undefined
  const result: IqlValue[][] = []
  for (const row of rows.rows) {
    const values: IqlValue[] = []
    for (const [index, cell] of row.entries()) {
      const type = columns[index]?.type
      if (cell.kind !== 'literal' || cell.written !== undefined || type === undefined) return undefined
      if (cell.value !== null && !sameType(cell.type, type)) return undefined
      values.push(cell.value)
    }
    result.push(values)
  }
  return result
}

/** Of a row, besides its values. */
const ROW_BYTES = 64

export function rowBytes(values: readonly IqlValue[]): number {
  let size = ROW_BYTES
  for (const value of values)
    size += typeof value === 'string' ? 16 + 2 * value.length : value instanceof Uint8Array ? 16 + value.length : 16
  return size
}

function quoted(name: string): string {
  return printName({ text: name, at: 0 })
}
