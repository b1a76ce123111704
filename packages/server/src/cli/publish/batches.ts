/** Lines of an input as batches: as large as a request may be, or what has arrived when nothing more comes for a moment. */
import { setTimeout as sleep } from 'node:timers/promises'
import { CommandError } from '../errors.ts'
import { asObject, parseJson } from '../output/json.ts'

export interface Batch {
  /** The lines as they were read, without empty ones. */
  readonly lines: readonly string[]
  /** The numbers of its first and last line in the input, from 1. */
  readonly first: number
  readonly last: number
}

/** Of one request. */
export const MOST_LINES = 10_000
const MOST_BYTES = 8 * 1024 * 1024
const IDLE_MS = 20

/** Ends with an error after the last batch before a line that is not a message. */
export async function* readBatches(input: AsyncIterable<Buffer>, skip: number): AsyncGenerator<Batch> {
  let lines: string[] = []
  let [bytes, first, number] = [0, skip + 1, 0]
  const take = (): Batch => {
    const batch = { lines, first, last: number }
    ;[lines, bytes, first] = [[], 0, number + 1]
    return batch
  }
  for await (const arrived of readPieces(input)) {
    if (arrived === undefined) {
      if (lines.length > 0) yield take()
      continue
    }
    for (const text of arrived) {
      if (number < skip) {
        number++
        continue
      }
      const line = text.trim()
      const size = Buffer.byteLength(line) + 1
      if (lines.length >= MOST_LINES || (bytes + size > MOST_BYTES && lines.length > 0)) yield take()
      const fault = findFault(line, size)
      if (fault !== undefined) {
        if (lines.length > 0) yield take()
        throw new CommandError(`Line ${number + 1} ${fault}`)
      }
      number++
      if (line === '') continue
      lines.push(line)
      bytes += size
    }
  }
  if (lines.length > 0) yield take()
}

/** Complete lines as they arrive; undefined when nothing comes for a moment. */
async function* readPieces(input: AsyncIterable<Buffer>): AsyncGenerator<readonly string[] | undefined> {
  const decoder = createDecoder()
  const chunks = input[Symbol.asyncIterator]()
  let rest = ''
  for (;;) {
    const next = chunks.next()
    const arrived = await Promise.race([next, sleep(IDLE_MS, undefined, { ref: false })])
    if (arrived === undefined) yield undefined
    const { done, value } = await next
    const lines = (rest + decode(decoder, done ? undefined : value)).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > MOST_BYTES) throw new CommandError('A line has more than 8 MiB')
    yield lines
    if (!done) continue
    if (rest !== '') yield [rest]
    return
  }
}

function createDecoder() {
  return new TextDecoder('utf-8', { fatal: true })
}

function decode(decoder: ReturnType<typeof createDecoder>, chunk: Buffer | undefined): string {
  try {
    return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true })
  } catch {
    throw new CommandError('The input is not UTF-8')
  }
}

function findFault(line: string, size: number): string | undefined {
  if (line === '') return undefined
  if (size > MOST_BYTES) return 'has more than 8 MiB'
  const message = parseJson(line)
  if (message === undefined) return 'is not JSON'
  const { Topic: topic, Data: data } = asObject(message)
  if (typeof topic !== 'string') return 'has no "Topic", which is a text: a line is {"Topic": …, "Data": …}'
  return data === undefined ? 'has no "Data"; null is a value' : undefined
}
