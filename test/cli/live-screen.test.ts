/** A live result on a terminal: messages become rows, and rows a screen. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { createLive, type Live, type LiveChange, type Row, statement } from '../../packages/client/src/index.ts'
import type { Channel } from '../../packages/client/src/stream/channel.ts'
import { Values } from '../../packages/client/src/values.ts'
import { LiveRows, type RowChange } from '../../packages/server/src/cli/query/live/rows.ts'
import { type Size, screenLines } from '../../packages/server/src/cli/query/live/screen.ts'

const COLUMNS = { symbol: { Ordinal: 0, Type: 'Text' }, bid: { Ordinal: 1, Type: 'Decimal(18, 4)' } }

test('a change replaces rows in their place, adds at the end and removes; the pieces of a message are applied together', async () => {
  const result = createResult(['A', '1'], ['B', '2'])
  assert.deepEqual(await signs(result, { Kind: 'Change', Put: [entry('C', '3')], More: true }), [])
  assert.equal(shown(result), 'A1 B2')
  const whole = { Kind: 'Change', Put: [entry('A', '9'), entry('B', '2')], Remove: [['X']] }
  assert.deepEqual(await signs(result, whole), ['+C3', '~A9'])
  assert.equal(shown(result), 'A9 B2 C3')
  assert.deepEqual(await signs(result, { Kind: 'Change', Remove: [['B']] }), ['-B2'])
  assert.equal(shown(result), 'A9 C3')
  assert.ok(result.rows.growsAtEnd)
  assert.deepEqual(result.rows.rows[0]?.moves, ['same', 'up'])
})

test('with places, what is put and held is taken out first, then inserted by rising place', async () => {
  const result = openResult('select symbol, bid from prices order by bid desc', [
    ['A', '5'],
    ['B', '4'],
    ['C', '3'],
    ['D', '2'],
  ])
  await apply(result, { Kind: 'Change', Put: [entry('A', '1', 3), entry('E', '9', 0)], Remove: [['D']] })
  assert.equal(shown(result), 'E9 B4 C3 A1')
  assert.ok(!result.rows.growsAtEnd)
  // An order of a part is not one of the result.
  const inner = openResult('select symbol, bid from (select * from prices order by bid) as p', [['A', '5']])
  await apply(inner, { Kind: 'Change', Put: [entry('B', '1')] })
  assert.ok(inner.rows.growsAtEnd)
})

test('a snapshot in pieces after a reset is compared with what was held; lost pieces are dropped', async () => {
  const result = createResult(['A', '1'], ['B', '2'])
  await apply(result, { Kind: 'Snapshot', Columns: COLUMNS, Put: [entry('lost', '0')], More: true })
  result.channel.onConfirmed()
  await apply(result, { Kind: 'Snapshot', Columns: COLUMNS, Put: [entry('B', '3')], More: true })
  assert.deepEqual(await signs(result, { Kind: 'Snapshot', Put: [entry('C', '4')] }), ['-A1', '~B3', '+C4'])
  // What is held is shown until the new result is here.
  assert.deepEqual(await signs(result, { Kind: 'Reset', Reason: 'Rights' }), [])
  assert.equal(shown(result), 'B3 C4')
  assert.deepEqual(await signs(result, { Kind: 'Snapshot', Columns: COLUMNS, Put: [] }), ['-B3', '-C4'])
  assert.equal(shown(result), '')
  assert.deepEqual(await signs(result, { Kind: 'Progress', Position: 'x' }), [])
  assert.deepEqual(await signs(result, { Kind: 'Novelty' }), [])
})

test('a screen: header, rule, the rows that fit, the status', () => {
  const result = createResult(['ACME', '101.2500'], ['日本', '7.0000'], ['X\u001b[2J', '1.0000'])
  const lines = readText(drawScreen(result, { columns: 40, rows: 7 }))
  assert.deepEqual(lines, [
    'symbol     │      bid',
    '───────────┼─────────',
    'ACME       │ 101.2500',
    '日本       │   7.0000',
    'X\\u001b[2J │   1.0000',
    '',
    'status',
  ])
  assert.deepEqual(readText(drawScreen(result, { columns: 16, rows: 4 })), [
    'symbol │     bid',
    '───────┼────────',
    'ACME   │ 101.25…',
    'status',
  ])
  assert.deepEqual(readText(drawScreen(result, { columns: 40, rows: 4 }, { fromEnd: true }))[2], 'X\\u001b[2J │ 1.0000')
  assert.deepEqual(readText(drawScreen(result, { columns: 40, rows: 1 })), ['status'])
})

test('cells that changed are highlighted for a while', async () => {
  const size = { columns: 40, rows: 7 }
  const result = createResult(['ACME', '101.2500'], ['BOLT', '48.1000'])
  await apply(result, { Kind: 'Change', Put: [entry('BOLT', '48.2000')] })
  const [highlighted, plain] = [drawScreen(result, size, { highlightedSince: 0 }), drawScreen(result, size)]
  assert.equal(highlighted[3], 'BOLT  \u001b[2m │ \u001b[0m\u001b[32m 48.2000\u001b[0m')
  assert.equal(plain[3], 'BOLT  \u001b[2m │ \u001b[0m 48.2000')
  assert.equal(highlighted[2], plain[2])
})

function entry(symbol: string, bid: string, index?: number) {
  return { Key: [symbol], Row: { symbol, bid }, ...(index === undefined ? {} : { Index: index }) }
}

/** A live query whose messages the test sends. */
interface Result {
  readonly live: Live
  readonly rows: LiveRows
  readonly channel: Channel
  readonly changes: AsyncIterator<LiveChange<Row>>
  /** The change that is waited for. */
  next?: ReturnType<AsyncIterator<LiveChange<Row>>['next']> | undefined
}

function createResult(...rows: readonly (readonly [string, string])[]): Result {
  return openResult('select symbol, bid from prices', rows)
}

function openResult(text: string, rows: readonly (readonly [string, string])[]): Result {
  let channel: Channel | undefined
  const channels = {
    attach(opened: Channel) {
      channel = opened
    },
    detach() {},
  }
  const live = createLive(channels, new Values())(statement(text))
  assert.ok(channel)
  channel.onData({ Kind: 'Snapshot', Columns: COLUMNS, Put: rows.map(([symbol, bid]) => entry(symbol, bid)) })
  return { live, rows: new LiveRows(live, text), channel, changes: live[Symbol.asyncIterator]() }
}

async function apply(result: Result, message: object): Promise<RowChange[]> {
  await takeChange(result)
  result.channel.onData(message)
  return takeChange(result)
}

/** What the next change did, if there is one. */
async function takeChange(result: Result): Promise<RowChange[]> {
  result.next ??= result.changes.next()
  const none = new Promise<undefined>((resolve) => setImmediate(resolve, undefined))
  const step = await Promise.race([result.next, none])
  if (step === undefined || step.done) return []
  result.next = undefined
  return result.rows.apply(step.value, 1)
}

async function signs(result: Result, message: object): Promise<string[]> {
  return (await apply(result, message)).map(({ sign, row }) => sign + row.cells.join(''))
}

function shown({ rows }: Result): string {
  return rows.rows.map(({ cells }) => cells.join('')).join(' ')
}

function drawScreen(
  { rows: { columns, rows } }: Result,
  size: Size,
  { fromEnd = false, highlightedSince = Number.POSITIVE_INFINITY } = {},
) {
  return screenLines({ columns, rows, fromEnd, status: 'status', highlightedSince, widths: [] }, size)
}

function readText(lines: readonly string[]): string[] {
  return lines.map((line) => stripVTControlCharacters(line).trimEnd())
}
