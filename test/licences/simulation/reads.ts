/** Requests that read once, by many ways: each says which numbers of which venues it has seen. */
import assert from 'node:assert/strict'
import { McpClient } from '../../support/mcp.ts'
import type { Values } from './ledger.ts'
import type { SimulatedPlace } from './simulation.ts'

export interface Reader {
  readonly place: SimulatedPlace
  readonly token: string
  /** For assistants. */
  readonly agent: string
}

/** Undefined where it is refused for lack of any licence. */
export type Read = (reader: Reader) => Promise<Values | undefined>

const UNAVAILABLE = new Set([500, 502, 503])

function statement(text: string): Read {
  return async ({ place, token }) => {
    const { status, body } = await place.query(text, token)
    if (status === 403) return undefined
    if (UNAVAILABLE.has(status) || body.Code === 'Data.Building') return []
    assert.equal(status, 200, JSON.stringify(body))
    return body.Rows
  }
}

async function fetchText({ place, token }: Reader, accept: string, text: string): Promise<string | undefined> {
  const reply = await fetch(`${place.server.url}/query?rows=arrays`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, accept, 'content-type': 'application/json' },
    body: JSON.stringify({ Statement: text }),
  })
  const bytes = Buffer.from(await reply.arrayBuffer())
  if (reply.status === 403) return undefined
  return reply.status === 200 ? bytes.toString('latin1') : ''
}

function lines(text: string | undefined): string[] | undefined {
  return text?.split(/\r?\n/).filter((line) => line !== '')
}

async function readFeed({ place, token }: Reader, topic: string, query = ''): Promise<Values> {
  const { status, body } = await place.server.send('GET', `/feeds/Numbers/${topic}${query}`, { token })
  if (status !== 200) return []
  const all: readonly { readonly Topic?: string; readonly Data: number }[] = body.Messages ?? [body]
  return all.map(({ Topic = topic, Data }) => [Topic, Data])
}

const TAG = /(X[ABC])#(\d+);/g
/** A line of the text that assistants get. */
const ROW = /^(X[ABC]),(\d+)$/gm

export const READS: readonly (readonly [way: string, read: Read])[] = [
  ['newest', statement('SELECT venue, max(id) AS number FROM ticks GROUP BY venue')],
  ['view', statement('SELECT venue, number FROM newest')],
  ['materialized view', statement('SELECT venue, number FROM kept')],
  ['latest', statement('SELECT venue, number FROM latest')],
  ['rows', statement('SELECT venue, id FROM ticks ORDER BY id DESC LIMIT 20')],
  ['join', statement('SELECT l.venue, l.number FROM latest l JOIN ticks t ON t.venue = l.venue AND t.id = l.number')],
  ['asof', statement('SELECT l.venue, t.id FROM latest l ASOF JOIN ticks t ON l.venue = t.venue AND l.number >= t.id')],
  [
    'nested',
    statement(
      "SELECT 'XA' AS venue, coalesce((SELECT max(id) FROM ticks WHERE venue = 'XA'), 0) AS id FROM latest LIMIT 1",
    ),
  ],
  ['window', statement('SELECT venue, max(id) OVER (PARTITION BY venue) AS id FROM ticks ORDER BY id DESC LIMIT 3')],
  ['by key', statement("SELECT venue, number FROM latest WHERE venue = 'XB'")],
  ['by value', statement("SELECT venue, id FROM ticks WHERE venue IN ('XA', 'XC') ORDER BY id DESC LIMIT 10")],
  [
    'select',
    async ({ place, token }) => {
      const { status, body } = await place.server.send('POST', '/Query/latest/Select?rows=arrays', { token, body: [] })
      if (status === 403) return undefined
      return status === 200 ? body.Rows : []
    },
  ],
  [
    'csv',
    async (reader) =>
      lines(await fetchText(reader, 'text/csv', 'SELECT venue, id FROM ticks'))
        ?.slice(1)
        .map((line) => line.split(','))
        .map(([venue = '', id]) => [venue, Number(id)]),
  ],
  [
    'ndjson',
    async (reader) =>
      lines(await fetchText(reader, 'application/x-ndjson', 'SELECT venue, id FROM ticks'))
        ?.map((line): unknown => JSON.parse(line))
        .filter(isPair),
  ],
  [
    'arrow',
    async (reader) => {
      const text = await fetchText(reader, 'application/vnd.apache.arrow.stream', 'SELECT tag FROM ticks')
      return text === undefined
        ? undefined
        : [...text.matchAll(TAG)].map(([, venue = '', number]) => [venue, Number(number)])
    },
  ],
  ['topic', async (reader) => readFeed(reader, 'XA')],
  ['history', async (reader) => readFeed(reader, 'XB', '?last=10')],
  ['pattern', async (reader) => readFeed(reader, '*', '?last=20')],
  [
    'assistant',
    async ({ place, agent }) => {
      const client = new McpClient(place.server, agent)
      const statement = 'SELECT venue, max(id) AS id FROM ticks GROUP BY venue'
      const { status, body, text } = await client.request('tools/call', { name: 'query', arguments: { statement } })
      if (UNAVAILABLE.has(status)) return []
      assert.equal(status, 200, text)
      const answer: string = body.result.content[0].text
      return [...answer.matchAll(ROW)].map(([, venue = '', number]) => [venue, Number(number)])
    },
  ],
]

function isPair(value: unknown): value is readonly [string, number] {
  return Array.isArray(value) && value.length === 2
}
