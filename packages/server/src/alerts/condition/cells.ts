/** The values of a row of a live message, as conditions compare them. */
import { type IqlType, type IqlValue, type ResultColumn, readValue } from 'gatehouse-iql'
import { isRawNumber, type Json } from '../../lib/exact-json.ts'
import type { Cells } from './evaluate.ts'

export type ReadCells = (row: { readonly [column: string]: Json }) => Cells

/** Reads only the columns with these ordinals. */
export function compileCells(columns: readonly ResultColumn[], used: ReadonlySet<number>): ReadCells {
  const readers = columns.map(({ name, type }, ordinal) => ({ name, type, isUsed: used.has(ordinal) }))
  return (row) =>
    readers.map(({ name, type, isUsed }) =>
      isUsed ? readCell(Object.hasOwn(row, name) ? (row[name] ?? null) : null, type) : null,
    )
}

function readCell(value: Json, type: IqlType): IqlValue {
  if (value === null || typeof value === 'boolean') return value
  if (typeof value === 'string') return readText(value, type)
  if (typeof value === 'number') return type.kind === 'Double' ? value : readText(String(value), type)
  if (isRawNumber(value)) return readText(value.rawJSON, type)
  // Json is compared with nothing, but may be NULL.
  return ''
}

function readText(text: string, type: IqlType): IqlValue {
  if (type.kind === 'Text') return text
  if (type.kind === 'Json') return ''
  const read = readValue(type, text)
  if ('value' in read) return read.value
  throw new Error(`A live row has ${type.kind} that ${read.problem}`)
}
