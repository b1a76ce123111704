/** Reads small results on the event loop as messages of PostgreSQL's protocol. */
import { type ResultColumn, writeDecimal } from 'gatehouse-iql'
import { BOUNDED_ROWS } from '../../../model/cost-class.ts'
import { type Cell, type WireForm, wireForm } from '../../../model/result.ts'
import { wireRowWriter } from '../../../results/wire-rows.ts'
import { TextBytes } from '../../../types/text-bytes.ts'
import { CHUNK_BYTES } from '../../bounded-rows.ts'
import type { ReadRun, ReadStatement, WholeRead } from '../../engine.ts'
import { fromWide, type RawRow, rowDecoder } from '../representation.ts'
import type { StatementCache } from '../statement-cache.ts'
import { boundedQuery, takeRows } from './bounded-query.ts'
import { plainText } from './plain-texts.ts'

/** Undefined when the result is not small. */
export type WireReader = (run: ReadRun) => WholeRead | undefined

/** The rows of one result, taken before the next one is read. */
const OUT = new TextBytes()

export function wireReader(statements: StatementCache, query: ReadStatement): WireReader {
  const { columns } = query
  const { sql, take, longColumns } = boundedQuery({ ...query, keyColumns: [] })
  const readers = columns.map(plainReader)
  const decodeRow = rowDecoder(columns)
  const writers = new WeakMap<WireForm, ReturnType<typeof wireRowWriter>>()
  const cells: Cell[] = []

  /** Integers as numbers: reading them as bigints, as `readExact` does, takes longer. False when a value needs it. */
  const addPlain = (raw: RawRow, write: ReturnType<typeof wireRowWriter>): boolean => {
    for (let index = 0; index < readers.length; index++) {
      const value = raw[index]
      const cell = value === null ? null : readers[index]?.(value)
      if (cell === undefined) return false
      cells[index] = cell
    }
    write(OUT, cells)
    return true
  }

  const readExact = (parameters: ReadRun['parameters'], write: ReturnType<typeof wireRowWriter>): number => {
    let count = 0
    OUT.truncate(0)
    for (const raw of takeRows(statements.get(sql), take, parameters) as Iterable<RawRow>) {
      const isLong = longColumns.some((index) => typeof raw[index] === 'bigint')
      if (isLong || ++count > BOUNDED_ROWS || OUT.length >= CHUNK_BYTES) return NOT_SMALL
      write(OUT, decodeRow(raw))
    }
    return count
  }

  const readPlain = (parameters: ReadRun['parameters'], write: ReturnType<typeof wireRowWriter>): number => {
    let count = 0
    OUT.truncate(0)
    for (const raw of takeRows(statements.get(sql, 'numbers'), take, parameters) as Iterable<RawRow>) {
      if (++count > BOUNDED_ROWS || OUT.length >= CHUNK_BYTES) return NOT_SMALL
      if (!addPlain(raw, write)) return NOT_PLAIN
    }
    return count
  }

  return ({ encoding, limits, parameters }) => {
    if (limits.skip > 0 || limits.rows < BOUNDED_ROWS || limits.bytes < CHUNK_BYTES) return undefined
    const form = wireForm(encoding)
    let write = writers.get(form)
    if (write === undefined) {
      write = wireRowWriter(form, columns)
      writers.set(form, write)
    }
    let rowCount = readPlain(parameters, write)
    if (rowCount === NOT_PLAIN) rowCount = readExact(parameters, write)
    if (rowCount === NOT_SMALL) return undefined
    return { text: '', bytes: OUT.take(), outcome: { rowCount, truncated: 'no', lastKey: [] } }
  }
}

/** In place of a number of rows. */
const [NOT_SMALL, NOT_PLAIN] = [-1, -2]

/** Reads a value whose integers are numbers. Undefined if it may be rounded, or a number is in place of a text that is too long. */
function plainReader({ type }: ResultColumn): (raw: unknown) => Cell | undefined {
  switch (type.kind) {
    case 'Integer':
    case 'Timestamp':
    case 'LocalTimestamp':
    case 'Date':
    case 'Time':
      return (raw) => (typeof raw === 'number' && Number.isSafeInteger(raw) ? raw : undefined)
    case 'Double':
      return (raw) => (typeof raw === 'number' ? raw : Number.NaN)
    case 'Boolean':
      return (raw) => raw === 1
    case 'Text':
    case 'Uuid':
    case 'Json':
      return (raw) => (typeof raw === 'string' ? raw : undefined)
    case 'Binary':
      return (raw) => (raw instanceof Uint8Array ? raw : undefined)
    case 'Decimal': {
      const { scale } = type
      const write = plainText(type)
      return (raw) => {
        if (raw instanceof Uint8Array) return writeDecimal(fromWide(raw), scale)
        return typeof raw === 'number' && Number.isSafeInteger(raw) ? write?.(raw) : undefined
      }
    }
    default:
      return () => undefined
  }
}
