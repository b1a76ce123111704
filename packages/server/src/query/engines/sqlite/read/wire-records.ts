/**
 * Records of SQLite as messages of PostgreSQL's protocol. Most values are written from their bytes, without a value of JavaScript that
 * lives longer; the others as `wire-rows.ts` writes them.
 */
import type { IqlType, ResultColumn } from 'gatehouse-iql'
import type { Cell, WireForm } from '../../../model/result.ts'
import { TextBytes } from '../../../results/text-bytes.ts'
import {
  addDoubleText,
  addMoment,
  addMomentText,
  DAYS_TO_2000,
  type WireCellWriter,
  wireCellWriter,
} from '../../../results/wire-cells.ts'
import { COPY_DATA, createWireEncoder, DATA_ROW } from '../../../results/wire-rows.ts'
import { longCellDecoder } from '../representation.ts'
import { plainText } from './plain-texts.ts'
import type { Record } from './records.ts'

/** An encoder of rows, and what adds records to it; undefined for a form whose rows are written from cells. */
export function createRecordEncoder(form: WireForm, columns: readonly ResultColumn[]) {
  const out = new TextBytes()
  const write = recordWriter(form, columns)
  const addRecord = write && ((record: Record): void => write(out, record))
  return { encoder: createWireEncoder(form, columns, out), addRecord }
}

type RecordWriter = (out: TextBytes, record: Record) => void

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
  const writers = columns.map((column, index) => valueWriter(column, isBinary(index)))
  return (out, record) => {
    const start = out.length
    out.addByte(message)
    out.addInt32(0)
    out.addInt16(width)
    for (let index = 0; index < width; index++) {
      record.next()
      const at = out.length
      out.addInt32(NULL_LENGTH)
      if (record.isNull || !(writers[index] as ValueWriter)(out, record)) continue
      out.setInt32(at, out.length - at - 4)
    }
    out.setInt32(start + 1, out.length - start - 1)
  }
}

const NULL_LENGTH = -1

/** Adds the value without its length. False if the value is absent: nothing was added. */
type ValueWriter = (out: TextBytes, record: Record) => boolean

function valueWriter(column: ResultColumn, isBinary: boolean): ValueWriter {
  const { type } = column
  const decode = longCellDecoder(column)
  const writeCell = wireCellWriter(type, isBinary)
  const write =
    type.kind === 'Decimal' ? decimalWriter(type, writeCell) : isBinary ? binaryWriter(type) : textWriter(type)
  return (out, record) => {
    if (write?.(out, record)) return true
    const cell: Cell = decode(record.raw())
    if (cell === null) return false
    writeCell(out, cell)
    return true
  }
}

/** False for a value that another way is for: nothing was added. */
function textWriter({ kind }: IqlType): ValueWriter | undefined {
  switch (kind) {
    case 'Integer':
      return ofInteger((out, value) => out.addInteger(value))
    case 'Double':
      return ofReal(addDoubleText)
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
      return undefined
  }
}

const [LETTER_T, LETTER_F] = [0x74, 0x66]
const UTC = Buffer.from('+00')

function binaryWriter({ kind }: IqlType): ValueWriter | undefined {
  switch (kind) {
    case 'Integer':
    case 'Time':
      return ofInteger((out, value) => out.addInt64(value))
    case 'Double':
      return ofReal((out, value) => out.addFloat64(value + 0))
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
      return undefined
  }
}

/** Of at most 18 digits; others are stored as bytes. */
function decimalWriter(type: IqlType, writeCell: WireCellWriter): ValueWriter | undefined {
  const textOf = plainText(type)
  return textOf && ofInteger((out, unscaled) => writeCell(out, textOf(unscaled) ?? ''))
}

type NumberWriter = (out: TextBytes, value: number) => void

function ofInteger(write: NumberWriter): ValueWriter {
  return (out, record) => {
    const value = record.isInteger ? record.integer() : Number.NaN
    // Beyond 2^53.
    if (Number.isNaN(value)) return false
    write(out, value)
    return true
  }
}

function ofReal(write: NumberWriter): ValueWriter {
  return (out, record) => {
    if (record.isReal) write(out, record.real())
    else if (record.isInteger) write(out, Number(record.raw()))
    else return false
    return true
  }
}

function addAscii(out: TextBytes, record: Record): boolean {
  return record.isText && out.addAscii(record.bytes, record.start, record.end)
}
