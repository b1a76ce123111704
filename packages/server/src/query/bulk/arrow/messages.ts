/**
 * The messages of an Arrow stream (Arrow columnar format, "Encapsulated message format"), or those that the footer of an Arrow file
 * lists: their metadata, and where their bodies are. The bytes between the messages of a file mean nothing.
 */
import { setImmediate as immediate } from 'node:timers/promises'
import { badBody } from '../../batches/row-error.ts'
import type { KeptBody } from '../reader.ts'
import { FlatTable } from './flatbuffer-reader.ts'

export const MESSAGE = { schema: 1, dictionary: 2, batch: 3 } as const

export interface ArrowMessage {
  readonly kind: number
  readonly header: FlatTable
  /** Where its body is. */
  readonly start: number
  readonly length: number
}

export interface ArrowBody {
  readonly schema: FlatTable
  /** Dictionaries and record batches. */
  readonly messages: AsyncIterable<ArrowMessage>
}

/** A schema of a thousand columns has some 100 KB. */
const MAX_METADATA_BYTES = 4 * 1024 * 1024
const FILE_MARK = 'ARROW1'
const CONTINUATION = 0xffff_ffff
const LENGTH_BYTES = 4

export async function readMessages(body: KeptBody): Promise<ArrowBody> {
  const start = await bytesAt(body, 0, Math.min(body.length, FILE_MARK.length))
  if (start.toString('latin1') === FILE_MARK) return readFile(body)
  const messages = readStream(body)
  const first = await messages.next()
  if (first.done || first.value.kind !== MESSAGE.schema)
    throw badBody('The body is not an Arrow stream: it does not begin with a schema')
  return { schema: first.value.header, messages }
}

async function* readStream(body: KeptBody): AsyncGenerator<ArrowMessage, void, void> {
  // The end of the stream needs no marker.
  for (let at = 0; at < body.length; ) {
    const message = await messageAt(body, at)
    if (message === undefined) return
    yield message
    at = message.start + message.length
    await immediate()
  }
}

/** "IPC File Format": the footer has the schema and the places of all other messages. */
async function readFile(body: KeptBody): Promise<ArrowBody> {
  const markAt = body.length - FILE_MARK.length
  const lengthAt = markAt - LENGTH_BYTES
  const isWhole =
    lengthAt >= FILE_MARK.length && (await bytesAt(body, markAt, body.length)).toString('latin1') === FILE_MARK
  if (!isWhole) throw badBody('The Arrow file was cut off: it does not end with ARROW1')
  const length = (await bytesAt(body, lengthAt, markAt)).readUInt32LE()
  if (length > MAX_METADATA_BYTES || length > lengthAt)
    throw badBody('The Arrow file is damaged: its footer has an impossible length')
  const footer = FlatTable.root(await bytesAt(body, lengthAt - length, lengthAt))
  const schema = footer.table(1)
  if (schema === undefined) throw badBody('The Arrow file is damaged: its footer has no schema')
  return { schema, messages: listed(body, [...footer.blocks(2), ...footer.blocks(3)]) }
}

async function* listed(body: KeptBody, places: readonly number[]): AsyncGenerator<ArrowMessage, void, void> {
  for (const place of places) {
    const message = await messageAt(body, place)
    if (message === undefined)
      throw badBody('The Arrow file is damaged: its footer refers to a message that is not there')
    yield message
    await immediate()
  }
}

/** Undefined for the mark that ends a stream. */
async function messageAt(body: KeptBody, place: number): Promise<ArrowMessage | undefined> {
  let at = place
  const marker = (await bytesAt(body, at, at + LENGTH_BYTES)).readUInt32LE()
  at += LENGTH_BYTES
  // Before version 0.15 there was no continuation marker.
  const length = marker === CONTINUATION ? (await bytesAt(body, at, at + LENGTH_BYTES)).readUInt32LE() : marker
  if (marker === CONTINUATION) at += LENGTH_BYTES
  if (length === 0) return undefined
  if (length > MAX_METADATA_BYTES)
    throw badBody('The body is neither an Arrow stream nor an Arrow file: send one of the IPC formats')
  const metadata = FlatTable.root(await bytesAt(body, at, at + length))
  const header = metadata.table(2)
  if (header === undefined) throw badBody('The Arrow stream is damaged: a message has no header')
  const start = at + length
  const bodyLength = metadata.long(3)
  if (start + bodyLength > body.length) throw endsEarly()
  return { kind: metadata.byte(1), header, start, length: bodyLength }
}

async function bytesAt(body: KeptBody, start: number, end: number): Promise<Buffer> {
  if (end > body.length) throw endsEarly()
  const bytes = await body.read(start, end)
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function endsEarly(): Error {
  return badBody('The Arrow stream ends within a message')
}
