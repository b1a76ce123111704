/** The messages of a live query: subscribes, reconnects where the connection was lost, and parses what arrives. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Unreachable } from '../../client.ts'
import { CommandError } from '../../errors.ts'
import { readEvents, type ServerSentEvent } from '../../event-stream.ts'
import { membersOf, parseJson } from '../../json.ts'
import {
  type Column,
  columnsOf,
  expectSuccess,
  type QueryConnection,
  QueryRefused,
  type StatementOptions,
} from '../connection.ts'

export interface Entry {
  /** JSON text: what identifies the row. */
  readonly key: string
  readonly row: unknown
  /** The place in the new result, if it is ordered. */
  readonly index: number | undefined
}

export type Message =
  | ({
      readonly kind: 'snapshot'
      readonly columns: readonly Column[] | undefined
      readonly put: readonly Entry[]
    } & Piece)
  | ({ readonly kind: 'change'; readonly put: readonly Entry[]; readonly remove: readonly string[] } & Piece)
  | { readonly kind: 'reset'; readonly reason: string }
  | { readonly kind: 'progress' }

interface Piece {
  /** Whether further pieces of the same message follow. */
  readonly more: boolean
}

export interface LiveOptions extends Pick<StatementOptions, 'parameters' | 'search'> {
  readonly signal: AbortSignal
  /** Called with the reason when the connection is lost, and with undefined when it is there again. */
  readonly onConnection: (lost: string | undefined) => void
}

/** A server sends something every 15 seconds; after this long without a byte the connection is dead. */
const SILENCE_MS = 45_000
const FIRST_DELAY_MS = 250
const LAST_DELAY_MS = 5_000
/** What may pass by itself: a server that is stopping or overloaded. */
const TRANSIENT = new Set([429, 502, 503, 504])
/** The end of a token ends the reply; the next request renews it, and is refused if the user has lost the right to. */
const TOKEN_ENDED = 401

/** Ends when the signal is aborted; throws what the server refuses, and Unreachable if it was never reached. */
export async function* liveEvents(
  connection: QueryConnection,
  statement: string,
  { signal, onConnection, ...options }: LiveOptions,
): AsyncGenerator<ServerSentEvent> {
  let lastId = ''
  let wasConnected = false
  let delay = FIRST_DELAY_MS
  while (!signal.aborted) {
    const attempt = new AbortController()
    let lost: string
    let hasEnded = false
    try {
      const response = await request(attempt)
      wasConnected = true
      onConnection(undefined)
      for await (const event of readEvents(watched(response, attempt), lastId)) {
        hasEnded = event.type === 'end'
        if (hasEnded) throw endOf(event, statement)
        delay = FIRST_DELAY_MS
        lastId = event.lastId
        yield event
      }
      lost = 'the server closed the connection'
    } catch (error) {
      if (signal.aborted) return
      if (!wasConnected || !isTransient(error, hasEnded)) throw error
      lost = error instanceof Error ? error.message : String(error)
    } finally {
      attempt.abort()
    }
    if (signal.aborted) return
    onConnection(lost)
    await sleep(delay * (0.75 + Math.random() / 2), undefined, { signal }).catch(() => {})
    delay = Math.min(delay * 2, LAST_DELAY_MS)
  }

  async function request(attempt: AbortController): Promise<Response> {
    const response = await connection.statement(statement, {
      ...options,
      accept: 'text/event-stream',
      headers: lastId === '' ? {} : { 'last-event-id': lastId },
      signal: AbortSignal.any([signal, attempt.signal]),
    })
    await expectSuccess(response, statement)
    if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true)
      throw new CommandError('The server does not offer live queries')
    return response
  }
}

/** Aborts the attempt when nothing arrives any more. */
async function* watched({ body }: Response, attempt: AbortController): AsyncGenerator<Uint8Array> {
  const timer = setTimeout(() => attempt.abort(new Error('the server is silent')), SILENCE_MS)
  try {
    for await (const chunk of body ?? []) {
      timer.refresh()
      yield chunk
    }
  } finally {
    clearTimeout(timer)
  }
}

function endOf({ data }: ServerSentEvent, statement: string): QueryRefused {
  const problem = membersOf(parseJson(data))
  return new QueryRefused(Number(problem.status), problem, statement)
}

/** Errors of the body that is being read have no type of their own. */
function isTransient(error: unknown, hasEnded: boolean): boolean {
  if (error instanceof QueryRefused) return TRANSIENT.has(error.status) || (hasEnded && error.status === TOKEN_ENDED)
  return error instanceof Unreachable || !(error instanceof CommandError || error instanceof RangeError)
}

/** Undefined for kinds that this version does not know. */
export function parseMessage(data: string): Message | undefined {
  const { Kind, Columns, Put, Remove, More, Reason } = membersOf(parseJson(data))
  const put = (Array.isArray(Put) ? Put : []).map(entryOf)
  switch (Kind) {
    case 'Snapshot':
      return {
        kind: 'snapshot',
        columns: Columns === undefined ? undefined : columnsOf(Columns),
        put,
        more: More === true,
      }
    case 'Change':
      return {
        kind: 'change',
        put,
        remove: (Array.isArray(Remove) ? Remove : []).map((key) => JSON.stringify(key)),
        more: More === true,
      }
    case 'Reset':
      return { kind: 'reset', reason: String(Reason) }
    case 'Progress':
      return { kind: 'progress' }
    default:
      return undefined
  }
}

function entryOf(value: unknown): Entry {
  const { Key, Row, Index } = membersOf(value)
  return { key: JSON.stringify(Key), row: Row, index: typeof Index === 'number' ? Index : undefined }
}
