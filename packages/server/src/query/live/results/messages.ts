/** The messages of live queries as JSON texts, cut into pieces. They are put together from the texts of keys and rows. */

import { textBytes } from '../../../lib/text-memory.ts'
import type { Steps } from '../../../lib/turns.ts'
import type { LiveMessage, ResetReason } from '../contract.ts'
import { isStep, ROWS_PER_STEP } from './row-steps.ts'

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
  /** The JSON text of `Licence`; empty if there is nothing to say. */
  readonly licence: string
  /** It answers a resume whose position could not be used. */
  readonly isAnswer: boolean
}

/** The messages of a step, in order. */
export interface LiveMessages {
  /** Whether there is a message at this index. */
  has(index: number): boolean
  /** Messages are asked for in order. */
  at(index: number): LiveMessage
  /** False: a message is encoded when it is asked for. */
  readonly isEncoded: boolean
  /** The memory that they take until they are sent. */
  readonly bytes: number
  /** Called when a subscriber starts and stops receiving them. */
  open(): void
  close(): void
}

export class EncodedMessages implements LiveMessages {
  readonly isEncoded = true
  readonly bytes: number
  readonly #messages: readonly LiveMessage[]

  constructor(messages: readonly LiveMessage[]) {
    this.#messages = messages
    this.bytes = messages.reduce((sum, { bytes }) => sum + bytes, 0)
  }

  has(index: number): boolean {
    return index < this.#messages.length
  }

  at(index: number): LiveMessage {
    const message = this.#messages[index]
    if (message === undefined) throw new RangeError(`There are ${this.#messages.length} messages`)
    return message
  }

  open(): void {}

  close(): void {}
}

export const NO_MESSAGES: LiveMessages = new EncodedMessages([])

/** The piece that begins at this row, and where the next one begins. */
export function snapshotPiece(
  keys: readonly string[],
  rows: ReadonlyMap<string, string>,
  start: number,
  { head, position }: { readonly head: SnapshotHead | undefined; readonly position: string },
): { readonly message: LiveMessage; readonly end: number } {
  const piece = new Piece('Snapshot')
  if (head !== undefined) {
    const { method, keyNames, columns, licence, isAnswer } = head
    if (isAnswer) piece.member('"Recovered":false')
    piece.member(`"Method":"${method}","Key":${JSON.stringify(keyNames)},"Columns":${columns}`)
    if (licence !== '') piece.member(`"Licence":${licence}`)
  }
  let end = start
  for (let key = keys[end]; key !== undefined; key = keys[++end]) {
    if (!piece.put({ key, row: rows.get(key) ?? '', index: undefined })) return { message: piece.finish(), end }
  }
  return { message: piece.finish(position, ',"More":false'), end }
}

export function* changePieces(
  put: Iterable<PutEntry>,
  removed: Iterable<string>,
  options: { readonly position: string; readonly isRecovered: boolean; readonly asOf?: string | undefined },
): Steps<LiveMessages> {
  const done: LiveMessage[] = []
  let piece = new Piece('Change')
  if (options.isRecovered) piece.member('"Recovered":true')
  if (options.asOf !== undefined) piece.member(`"AsOf":"${options.asOf}"`)
  /** Adds an entry to the piece or, if there is no room, to the next. */
  const add = (put: (to: Piece) => boolean): void => {
    if (put(piece)) return
    done.push(piece.finish())
    piece = new Piece('Change')
    put(piece)
  }
  let count = 0
  for (const entry of put) {
    if (isStep(count++, entry.row)) yield
    add((to) => to.put(entry))
  }
  for (const key of removed) {
    if (count++ % ROWS_PER_STEP === 0) yield
    add((to) => to.remove(key))
  }
  done.push(piece.finish(options.position))
  return new EncodedMessages(done)
}

export function progressMessage(position: string, asOf: string | undefined): LiveMessage {
  const time = asOf === undefined ? '' : `"AsOf":"${asOf}",`
  return createMessage('Progress', `{"Kind":"Progress",${time}"Position":"${position}"}`, position)
}

export const RESETS: Readonly<Record<ResetReason, LiveMessages>> = {
  Rights: resetMessage('Rights'),
  Definition: resetMessage('Definition'),
  Lost: resetMessage('Lost'),
  Expired: resetMessage('Expired'),
  Overflow: resetMessage('Overflow'),
}

/** One message for each reason, which all subscribers share. */
function resetMessage(reason: ResetReason): LiveMessages {
  const text = `{"Kind":"Reset","Reason":"${reason}"}`
  return new EncodedMessages([{ kind: 'Reset', text, put: 0, removed: 0, position: undefined, bytes: 0 }])
}

function createMessage(
  kind: LiveMessage['kind'],
  text: string,
  position: string | undefined,
  put = 0,
  removed = 0,
): LiveMessage {
  return { kind, text, put, removed, position, bytes: textBytes(text) + Buffer.byteLength(text) }
}

class Piece {
  readonly #kind: 'Snapshot' | 'Change'
  #members = ''
  #put = ''
  #removed = ''
  #putCount = 0
  #removedCount = 0
  #bytes = 0

  constructor(kind: 'Snapshot' | 'Change') {
    this.#kind = kind
  }

  member(text: string): void {
    this.#members += `,${text}`
    this.#bytes += Buffer.byteLength(text)
  }

  /** False if there is no room. */
  put({ key, row, index }: PutEntry): boolean {
    const place = index === undefined ? '' : `,"Index":${index}`
    const entry = `{"Key":${key},"Row":${row}${place}}`
    if (!this.#hasRoom(entry)) return false
    this.#put += this.#put === '' ? entry : `,${entry}`
    this.#putCount++
    return true
  }

  remove(key: string): boolean {
    if (!this.#hasRoom(key)) return false
    this.#removed += this.#removed === '' ? key : `,${key}`
    this.#removedCount++
    return true
  }

  /** Without a position, more follow. */
  finish(position?: string, more = ''): LiveMessage {
    const put = this.#put === '' && this.#kind === 'Change' ? '' : `,"Put":[${this.#put}]`
    const removed = this.#removed === '' ? '' : `,"Remove":[${this.#removed}]`
    const end = position === undefined ? ',"More":true' : `${more},"Position":"${position}"`
    const text = `{"Kind":"${this.#kind}"${this.#members}${put}${removed}${end}}`
    return createMessage(this.#kind, text, position, this.#putCount, this.#removedCount)
  }

  /** A longer entry gets a separate piece. */
  #hasRoom(entry: string): boolean {
    const bytes = Buffer.byteLength(entry) + 1
    const isEmpty = this.#put === '' && this.#removed === ''
    if (this.#bytes + bytes > PIECE_BYTES && !isEmpty) return false
    this.#bytes += bytes
    return true
  }
}
