/** Integer: 64 bits. */
import { INTEGER, readValue } from 'gatehouse-iql'
import { csvWords } from './csv-form.ts'
import { quoted } from './json-form.ts'
import { type AddCell, type Representation, type Value, wrongLength } from './representation.ts'
import { putBigint, putSafe, SAFE_DIGITS, type Words } from './words.ts'

export const INTEGERS: Representation = {
  json: {
    write: (integers) => (integers === 'strings' ? quoted : integerText),
    add: (integers) => (integers === 'strings' ? (out, cell) => out.addText(quoted(cell)) : addText),
  },
  csv: csvWords(integerText, addText),
  wire: {
    type: 'int8',
    addText,
    addBinary,
    isFreeText: false,
    readText: (text) => readValue(INTEGER, text.trim()),
    readBinary,
  },
  arrow: { type: { kind: 'int', bits: 64, isSigned: true }, layout: { words: 2, put: putInteger } },
  parquet: { element: { type: 'INT64' }, layout: { words: 2, put: putInteger } },
}

/** Most integers are small, and converting a number is faster than converting a bigint. */
function integerText(cell: Value): string {
  if (typeof cell === 'string') return cell
  const number = Number(cell)
  return Number.isSafeInteger(number) ? String(number) : String(cell)
}

/** Beyond 2^53 a number may be rounded. With `asIntN` the conversion of a bigint is compiled to a few instructions. */
function addText(...[out, cell]: Parameters<AddCell>): void {
  const value = typeof cell === 'bigint' ? Number(BigInt.asIntN(64, cell)) : cell
  if (typeof value === 'number' && Number.isSafeInteger(value)) out.addInteger(value)
  else out.addText(String(cell))
}

function addBinary(...[out, cell]: Parameters<AddCell>): void {
  if (typeof cell === 'number') {
    out.addInt64(cell)
    return
  }
  const value = typeof cell === 'bigint' ? cell : BigInt(String(cell))
  const number = Number(BigInt.asIntN(64, value))
  if (Number.isSafeInteger(number)) out.addInt64(number)
  else out.addBigInt64(value)
}

/** Also the shorter integers of PostgreSQL. */
function readBinary(bytes: Buffer) {
  switch (bytes.length) {
    case 8:
      return { value: bytes.readBigInt64BE() }
    case 4:
      return { value: BigInt(bytes.readInt32BE()) }
    case 2:
      return { value: BigInt(bytes.readInt16BE()) }
    default:
      return wrongLength()
  }
}

function putInteger(words: Words, at: number, cell: Value): boolean {
  if (typeof cell === 'number') putSafe(words, at, cell)
  else if (typeof cell === 'bigint') putBigint(words, at, cell)
  else {
    const text = String(cell)
    if (text.length <= SAFE_DIGITS) putSafe(words, at, Number(text))
    else words.int64[at >> 1] = BigInt(text)
  }
  return true
}
