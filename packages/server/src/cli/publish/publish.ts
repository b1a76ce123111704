/** `gatehouse publish`: one message, or the messages of stdin, to a feed. Data is sent as it is written, digit for digit. */
import { fstatSync } from 'node:fs'
import { ConnectionError } from '../../../../client/src/index.ts'
import type { Arguments } from '../args.ts'
import { CommandError, UsageError } from '../errors.ts'
import { explained, type Gate, withGate } from '../gate.ts'
import { asObject, parseJson } from '../output/json.ts'
import { Progress } from '../query/progress.ts'
import { requireFreeStdin } from '../sign-in/sign-in.ts'
import { type Batch, MOST_LINES, readBatches } from './batches.ts'

/** Attempts for each request: about four seconds, in which a server can restart. */
const ATTEMPTS = 6

export async function publish(args: Arguments): Promise<void> {
  const [feed = '', topic, data] = args.positionals
  const key = args.value('--key')
  const skip = args.integer('--skip')
  if (topic !== undefined) {
    if (skip !== undefined) throw new UsageError('--skip is for messages from stdin')
    const body = oneMessage(topic, data)
    await withGate(args, (gate) => publishOne(gate, feed, body, key), { attempts: ATTEMPTS })
    return
  }
  requireFreeStdin(args, 'the messages')
  if (process.stdin.isTTY)
    throw new UsageError('Give a topic and JSON, or pipe in lines such as {"Topic": "ACME", "Data": 1}')
  await withGate(args, (gate) => publishLines(gate, feed, key, skip ?? 0), { attempts: ATTEMPTS })
}

/** As an array, in which JSON of several lines is allowed too. */
function oneMessage(topic: string, data: string | undefined): string {
  if (data === undefined) throw new UsageError('Give the message as JSON after the topic')
  if (parseJson(data) === undefined)
    throw new UsageError(`This is not JSON: ${data.slice(0, 100)} (a text needs quotes)`)
  return `[{"Topic":${JSON.stringify(topic)},"Data":${data}}]`
}

async function publishOne(gate: Gate, feed: string, body: string, key: string | undefined): Promise<void> {
  const position = await send(gate, feed, { body, type: 'application/json', key })
  process.stdout.write(position === undefined ? 'published\n' : `published at ${position}\n`)
}

async function publishLines(gate: Gate, feed: string, key: string | undefined, skip: number): Promise<void> {
  const progress = new Progress(feed, sizeOfInput(), 'messages')
  let [messages, bytes] = [0, 0]
  let through = skip
  let sending: Batch | undefined
  try {
    for await (const batch of checked(readBatches(process.stdin, skip), key)) {
      const body = batch.lines.join('\n')
      sending = batch
      await send(gate, feed, { body, type: 'application/x-ndjson', key })
      sending = undefined
      through = batch.last
      messages += batch.lines.length
      bytes += Buffer.byteLength(body) + 1
      progress.show(bytes, messages)
    }
  } catch (error) {
    throw new CommandError(`${explainReason(error)}\n${standing(through, skip, sending, error)}`)
  } finally {
    progress.end()
    // The writer may keep the pipe open, which would keep this process alive.
    process.stdin.destroy()
  }
  process.stdout.write(`${messages} ${messages === 1 ? 'message' : 'messages'} published\n`)
}

/** With a key there is one request, which can be repeated as it is. */
async function* checked(batches: AsyncGenerator<Batch>, key: string | undefined): AsyncGenerator<Batch> {
  if (key === undefined) {
    yield* batches
    return
  }
  const all: Batch[] = []
  for await (const batch of batches) all.push(batch)
  const lines = all.flatMap((batch) => batch.lines)
  const [first] = all
  const last = all.at(-1)
  if (first === undefined || last === undefined) return
  if (lines.length > MOST_LINES || Buffer.byteLength(lines.join('\n')) > 8 * 1024 * 1024)
    throw new CommandError(`--key is for one request, which has at most ${MOST_LINES} messages and 8 MiB`)
  yield { lines, first: first.first, last: last.last }
}

async function send(
  gate: Gate,
  feed: string,
  {
    body,
    type,
    key = crypto.randomUUID(),
  }: { readonly body: string; readonly type: string; readonly key?: string | undefined },
): Promise<string | undefined> {
  const headers = { 'content-type': type, 'idempotency-key': key }
  const path = `/feeds/${encodeURIComponent(feed)}`
  const { Position: position } = asObject(await gate.json(path, { method: 'POST', headers, body, idempotent: true }))
  return typeof position === 'string' ? position : undefined
}

function explainReason(error: unknown): string {
  const known = explained(error)
  if (known instanceof Error) return known.message
  return String(known)
}

/** What was published, and how to continue. */
function standing(through: number, skip: number, sending: Batch | undefined, error: unknown): string {
  const published = through === skip ? 'nothing was published' : `published up to line ${through}`
  if (sending !== undefined && error instanceof ConnectionError)
    return `${published}; lines ${sending.first} to ${sending.last} were sent, and it is not known whether they were published`
  return through === 0 ? published : `${published}; continue with --skip ${through}`
}

/** Undefined if stdin is no file. */
function sizeOfInput(): number | undefined {
  const stat = fstatSync(0)
  return stat.isFile() ? stat.size : undefined
}
