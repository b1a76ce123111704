/**
 * Rows whose values JSON writes as SQLite returns them, or as a text: JSON.stringify writes such rows as a whole. Written value by value,
 * 100 rows by an index take 1.4 times as long (../../DESIGN.md), and their read alone 1.5 times the processor time, as arrays 1.9 times.
 */
import type { ResultColumn } from 'gatehouse-iql'
import { BOUNDED_ROWS } from '../../../model/cost-class.ts'
import type { Encoding } from '../../../model/result.ts'
import type { TextEncoders } from '../../../results/encoders.ts'
import { CHUNK_BYTES } from '../../bounded-rows.ts'
import type { ReadLimits, ReadRun, ReadStatement, WholeRead } from '../../engine.ts'
import type { StatementCache } from '../statement-cache.ts'
import { boundedQuery, takeRows } from './bounded-query.ts'
import { plainText } from './plain-texts.ts'

/** `not plain`: the values have to be written one by one. Undefined when the result is not small. */
export type PlainReader = (run: ReadRun) => WholeRead | 'not plain' | undefined

export function plainReader(statements: StatementCache, query: ReadStatement, encoders: TextEncoders): PlainReader {
  const { sql, take } = boundedQuery({ ...query, keyColumns: [] })
  const formCells = { objects: plainCells(query.columns, 'objects'), arrays: plainCells(query.columns, 'arrays') }
  return ({ encoding, limits, parameters }) => {
    const { format, integers, rows: form } = encoding
    const cells = formCells[form]
    if (cells === undefined || take === 'one by one' || format !== 'json' || integers !== 'numbers' || !isWhole(limits))
      return 'not plain'
    const rows = takeRows(statements.get(sql, form), take, parameters) as PlainRow[]
    if (rows.length > BOUNDED_ROWS) return undefined
    const size = makePlain(rows, cells)
    if (size === undefined) {
      // Such values usually recur.
      formCells[form] = undefined
      return 'not plain'
    }
    if (size >= CHUNK_BYTES) return undefined
    const text = encoders.jsonHead + JSON.stringify(rows).slice(1, -1)
    if (text.length >= CHUNK_BYTES) return undefined
    return { text, outcome: { rowCount: rows.length, truncated: 'no', lastKey: [] } }
  }
}

/** No row is skipped, and no limit can truncate a small result. */
function isWhole({ skip, rows, bytes }: ReadLimits): boolean {
  return skip === 0 && rows >= BOUNDED_ROWS && bytes >= CHUNK_BYTES
}

/** By the names of the columns or by their ordinals. */
type PlainRow = Record<string | number, unknown>

interface PlainCell {
  readonly key: string | number
  readonly isText: boolean
  readonly read: PlainValueReader
}

/** Undefined if a column, or its place in an object, has no plain form. */
function plainCells(columns: readonly ResultColumn[], form: Encoding['rows']): readonly PlainCell[] | undefined {
  const cells: PlainCell[] = []
  for (const [index, column] of columns.entries()) {
    const read = plainValueReader(column)
    if (read === undefined || (form === 'objects' && !keepsItsPlace(column.name))) return undefined
    cells.push({ key: form === 'objects' ? column.name : index, isText: column.type.kind === 'Text', read })
  }
  return cells
}

/** Objects put members that look like indexes first, and `__proto__` is not a member. */
function keepsItsPlace(name: string): boolean {
  return !/^\d*$/.test(name) && name !== '__proto__'
}

/** Reads a value whose integers are numbers. Undefined if it has no plain form: an integer beyond 2^53 may be rounded. */
type PlainValueReader = (raw: unknown) => unknown

function plainValueReader(column: ResultColumn): PlainValueReader | undefined {
  const { type } = column
  switch (type.kind) {
    case 'Integer':
      return (raw) => (Number.isSafeInteger(raw) ? raw : undefined)
    case 'Double':
      return (raw) => (Number.isFinite(raw) ? raw : undefined)
    case 'Boolean':
      return (raw) => raw === 1
    case 'Text':
    case 'Uuid':
      return (raw) => (typeof raw === 'string' ? raw : undefined)
    default: {
      const write = plainText(type)
      return write && ((raw) => (typeof raw === 'number' && Number.isSafeInteger(raw) ? write(raw) : undefined))
    }
  }
}

/** Replaces SQLite's values by those of JSON. Returns the length of the texts; undefined when a value has no plain form. */
function makePlain(rows: readonly PlainRow[], cells: readonly PlainCell[]): number | undefined {
  let size = 0
  for (const row of rows) {
    for (const { key, isText, read } of cells) {
      const raw = row[key]
      if (raw === null) continue
      if (isText) {
        // A number replaces a text that is too long.
        size += typeof raw === 'string' ? raw.length : CHUNK_BYTES
        continue
      }
      const value = read(raw)
      if (value === undefined) return undefined
      if (value !== raw) row[key] = value
    }
  }
  return size
}
