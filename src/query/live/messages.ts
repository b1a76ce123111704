/** The messages of live queries as JSON texts, cut into pieces. They are put together from the texts of keys and rows. */
import { textBytes } from '../../lib/text-memory.ts'
import type { LiveMessage, ResetReason } from './live-query.ts'
import { isStep, ROWS_PER_STEP, type SlicedWork } from './slices.ts'

/**
 * A message may take 256 KiB in any encoding. MessagePack needs 9 bytes for a double that JSON writes with 3 and a comma, and
 * the transport adds its own members.
 */
const PIECE_BYTES = 112 * 1024

/** An entry of `Put`. In a Change of an ordered result it has its index in the new result. */
export interface PutEntry {
  readonly key: string
  readonly row: string
  readonly index: number | undefined
}

/** What the first piece of a snapshot says about the result: members of a JSON object. */
export interface SnapshotHead {
  readonly method: string
  readonly keyNames: readonly string[] | null
  /** The JSON text of `Columns`. */
  readonly columns: string
}

export function* snapshotPieces(
  head: SnapshotHead,
  rows: Iterable<readonly [key: string, row: string]>,
  position: string,
): SlicedWork<LiveMessage[]> {
  const pieces = new Pieces('Snapshot')
  pieces.member(`"Method":"${head.method}","Key":${JSON.stringify(head.keyNames)},"Columns":${head.columns}`)
  let count = 0
  for (const [key, row] of rows) {
    if (isStep(count++, row)) yield
    pieces.put({ key, row, index: undefined })
  }
  return pieces.end(position, ',"More":false')
}

/** A snapshot that answers a position that could not be resumed at. */
export function notRecovered(pieces: readonly LiveMessage[]): LiveMessage[] {
  return pieces.map((piece, index) =>
    index === 0
      ? messageOf('Snapshot', piece.text.replace('"Snapshot"', '"Snapshot","Recovered":false'), piece.position)
      : piece,
  )
}

export function* changePieces(
  put: Iterable<PutEntry>,
  removed: Iterable<string>,
  options: { readonly position: string; readonly isRecovered: boolean },
): SlicedWork<LiveMessage[]> {
  const pieces = new Pieces('Change')
  if (options.isRecovered) pieces.member('"Recovered":true')
  let count = 0
  for (const entry of put) {
    if (isStep(count++, entry.row)) yield
    pieces.put(entry)
  }
  for (const key of removed) {
    if (count++ % ROWS_PER_STEP === 0) yield
    pieces.remove(key)
  }
  return pieces.end(options.position, '')
}

export function progressMessage(position: string): LiveMessage {
  return messageOf('Progress', `{"Kind":"Progress","Position":"${position}"}`, position)
}

export const RESETS: Readonly<Record<ResetReason, LiveMessage>> = {
  Rights: resetMessage('Rights'),
  Definition: resetMessage('Definition'),
  Expired: resetMessage('Expired'),
  Overflow: resetMessage('Overflow'),
}

/** There are four of them, whoever is sent one. */
function resetMessage(reason: ResetReason): LiveMessage {
  return { kind: 'Reset', text: `{"Kind":"Reset","Reason":"${reason}"}`, position: undefined, bytes: 0 }
}

function messageOf(kind: LiveMessage['kind'], text: string, position: string | undefined): LiveMessage {
  return { kind, text, position, bytes: textBytes(text) + Buffer.byteLength(text) }
}

class Pieces {
  readonly #kind: 'Snapshot' | 'Change'
  readonly #done: LiveMessage[] = []
  #members = ''
  #put = ''
  #removed = ''
  #bytes = 0

  constructor(kind: 'Snapshot' | 'Change') {
    this.#kind = kind
  }

  /** Of the first piece. */
  member(text: string): void {
    this.#members += `,${text}`
    this.#bytes += Buffer.byteLength(text)
  }

  put({ key, row, index }: PutEntry): void {
    const place = index === undefined ? '' : `,"Index":${index}`
    const entry = `{"Key":${key},"Row":${row}${place}}`
    this.#makeRoom(entry)
    this.#put += this.#put === '' ? entry : `,${entry}`
  }

  remove(key: string): void {
    this.#makeRoom(key)
    this.#removed += this.#removed === '' ? key : `,${key}`
  }

  end(position: string, more: string): LiveMessage[] {
    this.#finish(`${more},"Position":"${position}"`, position)
    return this.#done
  }

  #makeRoom(entry: string): void {
    const bytes = Buffer.byteLength(entry) + 1
    const isEmpty = this.#put === '' && this.#removed === ''
    if (this.#bytes + bytes > PIECE_BYTES && !isEmpty) this.#finish(',"More":true', undefined)
    this.#bytes += bytes
  }

  #finish(end: string, position: string | undefined): void {
    const put = this.#put === '' && this.#kind === 'Change' ? '' : `,"Put":[${this.#put}]`
    const removed = this.#removed === '' ? '' : `,"Remove":[${this.#removed}]`
    const text = `{"Kind":"${this.#kind}"${this.#members}${put}${removed}${end}}`
    this.#done.push(messageOf(this.#kind, text, position))
    this.#members = ''
    this.#put = ''
    this.#removed = ''
    this.#bytes = 0
  }
}
