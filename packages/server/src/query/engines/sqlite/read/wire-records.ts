/**
 * Records of SQLite as messages of PostgreSQL's protocol. Most values are written from their bytes, without a value of JavaScript that
 * lives longer; the others as `wire-rows.ts` writes them.
 */
import type { IqlType, ResultColumn } from 'gatehouse-iql'
import type { WireForm } from '../../../model/result.ts'
import { COPY_DATA, createWireEncoder, DATA_ROW } from '../../../results/wire-rows.ts'
import { DAYS_TO_2000 } from '../../../types/date.ts'
import { addPostgresText as addDoubleText } from '../../../types/double.ts'
import { TextBytes } from '../../../types/text-bytes.ts'
import { addBinary as addMoment, addPostgresText as addMomentText } from '../../../types/timestamp.ts'
import { representation } from '../../../types/types.ts'
import { longCellDecoder } from '../representation.ts'
import { plainText } from './plain-texts.ts'
import type { TableRecord } from './records.ts'

/** An encoder of rows, and what adds records to it; undefined for a form whose rows are written from cells. */
export function createRecordEncoder(form: WireForm, columns: readonly ResultColumn[]) {
  const out = new TextBytes()
  const write = recordWriter(form, columns)
  const addRecord = write && ((record: TableRecord): void => write(out, record))
  return { encoder: createWireEncoder(form, columns, out), addRecord }
}

type RecordWriter = (out: TextBytes, record: TableRecord) => void

/** Adds the message of a row. */
function recordWriter(form: WireForm, columns: readonly ResultColumn[]): RecordWriter | undefined {
  switch (form.kind) {
    case 'rows':
      return messageWriter(DATA_ROW, columns, (index) => form.binary[index] === true)
    case 'copy-binary':
      return messageWriter(COPY_DATA, columns, () => true)
    case 'copy-text':
    case 'copy-csv':
      return undefined
  }
}

function messageWriter(
  message: number,
  columns: readonly ResultColumn[],
  isBinary: (index: number) => boolean,
): RecordWriter {
  const width = columns.length
  const writers = columns.map(({ type }, index) => valueWriter(type, isBinary(index)))
  const others = columns.map((column, index) => cellWriter(column, isBinary(index)))
  return (out, record) => {
    const start = out.beginMessage(message, width)
    for (let index = 0; index < width; index++) {
      record.next()
      if (record.isNull) out.addInt32(NULL_LENGTH)
      else if (!(writers[index] as ValueWriter)(out, record)) (others[index] as CellWriter)(out, record)
    }
    out.setInt32(start, out.length - start)
  }
}

const NULL_LENGTH = -1

/** Adds a value as the encoder of cells does. */
type CellWriter = (out: TextBytes, record: TableRecord) => void

function cellWriter(column: ResultColumn, isBinary: boolean): CellWriter {
  const decode = longCellDecoder(column)
  const { addBinary, addText } = representation(column.type).wire
  const write = isBinary ? addBinary : addText
  return (out, record) => {
    const start = out.length
    out.addInt32(NULL_LENGTH)
    const cell = decode(record.raw())
    if (cell === null) return
    write(out, cell)
    out.setInt32(start, out.length - start - 4)
  }
}

/** Adds a value with its length. False for a value that has to be written as a cell: nothing was added. */
type ValueWriter = (out: TextBytes, record: TableRecord) => boolean

function valueWriter(type: IqlType, isBinary: boolean): ValueWriter {
  if (type.kind === 'Decimal') return decimalWriter(type, isBinary)
  return isBinary ? binaryWriter(type) : textWriter(type)
}

function textWriter({ kind }: IqlType): ValueWriter {
  switch (kind) {
    case 'Integer':
      return addIntegerText
    case 'Double':
      return addRealText
    case 'Boolean':
      return ofInteger((out, value) => out.addByte(value === 1 ? LETTER_T : LETTER_F))
    case 'Timestamp':
      return ofInteger((out, micros) => {
        addMomentText(out, micros)
        out.addBytes(UTC)
      })
    case 'LocalTimestamp':
      return ofInteger(addMomentText)
    case 'Date':
      return ofInteger((out, days) => out.addDate(days))
    case 'Time':
      return ofInteger((out, micros) => out.addTime(micros))
    case 'Text':
    case 'Uuid':
    case 'Json':
      return addAscii
    default:
      return asCell
  }
}

const [LETTER_T, LETTER_F] = [0x74, 0x66]
const UTC = Buffer.from('+00')

function binaryWriter({ kind }: IqlType): ValueWriter {
  switch (kind) {
    case 'Integer':
    case 'Time':
      return addInteger
    case 'Double':
      return addReal
    case 'Boolean':
      return ofInteger((out, value) => out.addByte(value === 1 ? 1 : 0))
    case 'Timestamp':
    case 'LocalTimestamp':
      return ofInteger(addMoment)
    case 'Date':
      return ofInteger((out, days) => out.addInt32(days - DAYS_TO_2000))
    case 'Text':
    case 'Json':
      return addAscii
    default:
      return asCell
  }
}

const asCell: ValueWriter = () => false

function addIntegerText(out: TextBytes, record: TableRecord): boolean {
  const value = record.integer()
  if (Number.isNaN(value)) return false
  out.addSizedInteger(value)
  return true
}

function addInteger(out: TextBytes, record: TableRecord): boolean {
  const value = record.integer()
  if (Number.isNaN(value)) return false
  out.addSizedInt64(value)
  return true
}

function addRealText(out: TextBytes, record: TableRecord): boolean {
  if (!record.isReal) return false
  const start = out.length
  out.addInt32(0)
  addDoubleText(out, record.real())
  out.setInt32(start, out.length - start - 4)
  return true
}

/** Without a negative zero, as in IQL. */
function addReal(out: TextBytes, record: TableRecord): boolean {
  if (!record.isReal) return false
  out.addSizedFloat64(record.real() + 0)
  return true
}

function addAscii(out: TextBytes, record: TableRecord): boolean {
  return record.isText && out.addSizedAscii(record.bytes, record.start, record.end)
}

function ofInteger(write: (out: TextBytes, value: number) => void): ValueWriter {
  return (out, record) => {
    const value = record.integer()
    if (Number.isNaN(value)) return false
    const start = out.length
    out.addInt32(0)
    write(out, value)
    out.setInt32(start, out.length - start - 4)
    return true
  }
}

/** Of at most 18 digits; others are stored as bytes. */
function decimalWriter(type: IqlType, isBinary: boolean): ValueWriter {
  const writeText = plainText(type)
  const { addBinary, addText } = representation(type).wire
  const write = isBinary ? addBinary : addText
  return writeText === undefined ? asCell : ofInteger((out, unscaled) => write(out, writeText(unscaled) ?? ''))
}
