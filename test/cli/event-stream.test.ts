/** The reader of server-sent events (WHATWG HTML §9.2.6). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { array, asyncProperty, assert as check, constantFrom, integer, tuple } from 'fast-check'
import { EventParser, readEvents } from '../../src/cli/event-stream.ts'

test('events as the standard reads them', () => {
  const cases: readonly (readonly [text: string, events: readonly (readonly string[])[]])[] = [
    ['data: a\n\n', [['message', 'a', '']]],
    ['event: change\nid: 7\ndata: {"a":1}\n\n', [['change', '{"a":1}', '7']]],
    ['data: a\ndata: b\ndata\n\n', [['message', 'a\nb\n', '']]],
    [
      'data:a\r\n\r\ndata:  b\r\r',
      [
        ['message', 'a', ''],
        ['message', ' b', ''],
      ],
    ],
    [': comment\n\nid: 1\n\ndata: x\n\n', [['message', 'x', '1']]],
    [
      'id: 1\ndata: x\n\nid\ndata: y\n\n',
      [
        ['message', 'x', '1'],
        ['message', 'y', ''],
      ],
    ],
    ['id: a\0b\ndata: x\n\n', [['message', 'x', '']]],
    ['event: gone\n\ndata: x\n\n', [['message', 'x', '']]],
    ['retry: 10\nDATA: no\ndata: x\n\ndata: cut off', [['message', 'x', '']]],
  ]
  for (const [text, events] of cases)
    assert.deepEqual(
      new EventParser().push(text).map(({ type, data, lastId }) => [type, data, lastId]),
      events,
      text,
    )
  assert.equal(new EventParser('9').push('data: x\n\n')[0]?.lastId, '9')
})

test('where the chunks begin and end makes no difference', async () => {
  const line = tuple(
    constantFrom('data: é', 'data: 日本', 'event: change', 'id: 7', ': x', '', '', 'data'),
    constantFrom('\n', '\r\n', '\r'),
  )
  const text = array(line, { maxLength: 30 }).map((lines) => lines.flat().join(''))
  await check(
    asyncProperty(text, array(integer({ min: 1, max: 9 })), async (all, sizes) => {
      assert.deepEqual(await Array.fromAsync(readEvents(cut(Buffer.from(all), sizes))), new EventParser().push(all))
    }),
    { numRuns: 200 },
  )
})

test('an event without an end does not fill the memory', () => {
  const parser = new EventParser()
  const megabyte = `data: ${'x'.repeat(1024 * 1024)}\n`
  assert.throws(() => {
    for (let count = 0; count < 100; count++) parser.push(megabyte)
  }, RangeError)
})

async function* cut(bytes: Buffer, sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  let start = 0
  for (const size of sizes) {
    yield bytes.subarray(start, start + size)
    start += size
  }
  yield bytes.subarray(start)
}
