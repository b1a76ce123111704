/** The parts of the client library that need no server: exact JSON, statements, bounded iteration, backoff. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { CLOSE_CODES } from 'gatehouse-protocol'
import { problemError } from '../../packages/client/src/errors.ts'
import { FeedSource } from '../../packages/client/src/feed/source.ts'
import { Gatehouse, name, sql, statement } from '../../packages/client/src/index.ts'
import { Queue } from '../../packages/client/src/iterate.ts'
import { afterClose, errorOfMessage, readTimeSpan } from '../../packages/client/src/stream/protocol.ts'
import { parseExact } from '../../packages/client/src/values.ts'
import { backoff } from '../../packages/client/src/wait.ts'

test('JSON is read as JSON.parse does, except that no integer loses a digit', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const isLong = (number: unknown): boolean => Number.isInteger(number) && !Number.isSafeInteger(number)
      const text = JSON.stringify(value, (_key, member) => (isLong(member) ? 0.5 : member))
      assert.deepEqual(parseExact(text), JSON.parse(text))
    }),
  )
  fc.assert(
    fc.property(fc.bigInt(), fc.string(), (integer, text) => {
      const json = `{"a":[${integer},{"${integer}":${JSON.stringify(text + integer)}}],"b":1.5e300,"c":"\\\\\\"${integer}"}`
      const exact = integer >= -(2n ** 53n - 1n) && integer <= 2n ** 53n - 1n ? Number(integer) : integer
      assert.deepEqual(parseExact(json), {
        a: [exact, { [String(integer)]: text + integer }],
        b: 1.5e300,
        c: `\\"${integer}`,
      })
    }),
  )
  assert.equal(parseExact('12345678901234567890.5'), Number('12345678901234567890.5'))
  assert.throws(() => parseExact('[12345678901234567890'), SyntaxError)
})

test('a statement has a parameter for each value, in order, also in fragments', () => {
  const inner = sql`b in (${[2, 3n]}) and ${name('odd"name')} = ${new Date(0)}`
  assert.deepEqual(sql`a = ${1} or (${inner}) or c = ${undefined}`.compile(), {
    text: 'a = $1 or (b in ($2, $3) and "odd""name" = $4) or c = $5',
    parameters: [1, 2, '3', '1970-01-01T00:00:00.000Z', null],
  })
  // Objects without a prototype are Json too.
  const plain = Object.assign(Object.create(null), { b: 1 })
  assert.deepEqual(sql`select ${plain}`.compile().parameters, [plain])
  assert.deepEqual(statement('select :a', { a: 5n }).compile(), { text: 'select :a', parameters: { a: '5' } })
  fc.assert(
    fc.property(fc.string(), (value) => {
      const { text, parameters } = sql`select ${value}`.compile()
      assert.deepEqual([text, parameters], ['select $1', [value]])
    }),
  )
})

test('a queue is bounded: it merges, or says that its reader is too slow', async () => {
  let left = 0
  const bounded = new Queue<number>({ limit: 2, onLeave: () => left++ })
  for (const value of [1, 2, 3, 4]) bounded.push(value)
  assert.equal(left, 1)
  const read: number[] = []
  await assert.rejects(
    async () => {
      for await (const value of bounded) read.push(value)
    },
    { code: 'client.slow' },
  )
  assert.deepEqual(read, [1, 2])
  assert.deepEqual(await bounded.next(), { done: true, value: undefined })
  const merged = new Queue<number>({ merge: (a, b) => a + b })
  for (const value of [1, 2, 3]) merged.push(value)
  merged.end()
  assert.deepEqual(await Array.fromAsync(merged), [6])
  const waiting = new Queue<number>()
  const both = [waiting.next(), waiting.next()]
  waiting.push(1)
  waiting.end(new Error('over'))
  assert.deepEqual(await both[0], { done: false, value: 1 })
  await assert.rejects(Promise.resolve(both[1]), /over/)
})

test('a feed that was paused takes nothing that was sent before it is confirmed again, and resumes after what it took', () => {
  const attached: string[] = []
  const channels = { attach: () => void attached.push('attach'), detach: () => void attached.push('detach') }
  const source = new FeedSource(channels, 'Orders', 'a', {}, () => {})
  const taken: unknown[] = []
  const events: boolean[] = []
  source.members.add({
    onOpen() {},
    onMessage: ({ data }) => taken.push(data),
    onResumed: (recovered) => events.push(recovered),
    onLicences() {},
    onEnd() {},
  })
  const message = (number: number, more: object = {}) => ({ Topic: 'a', Data: number, Position: `p${number}`, ...more })
  const send = (number: number, more?: object): void => source.onData(number, message(number, more))
  source.open()
  source.data()
  source.onConfirmed({ Keep: 'all', Position: 'p0' })
  send(1)
  const [one, two] = [{}, {}]
  source.pause(one)
  source.pause(two)
  send(2)
  source.proceed(one)
  assert.deepEqual(attached, ['attach', 'detach'], 'the other reader is not ready yet')
  source.proceed(two)
  assert.deepEqual(source.data(), { MaxRate: undefined, Resume: 'p1', Last: undefined })
  send(2)
  source.onConfirmed({ Keep: 'all' })
  send(2, { Recovered: true })
  assert.deepEqual([taken, events, attached], [[1, 2], [], ['attach', 'detach', 'attach']])
  // A loss is told after a pause too.
  source.data()
  source.onConfirmed({ Keep: 'all' })
  send(7, { Recovered: false })
  assert.deepEqual(events, [false])
})

test('full jitter: anything up to a bound that doubles to 30 seconds', () => {
  for (const [count, most] of [
    [0, 500],
    [3, 4000],
    [20, 30_000],
  ] as const) {
    const waits = Array.from({ length: 500 }, () => backoff(count))
    assert.ok(Math.max(...waits) <= most && Math.max(...waits) > most * 0.9 && Math.min(...waits) < most * 0.1)
  }
})

test('every close code of the server is obeyed as its table says', () => {
  for (const { code, client: advice } of Object.values(CLOSE_CODES)) {
    const expected = /Do not (?:send|reconnect)/.test(advice)
      ? 'end'
      : /fresh access token/.test(advice)
        ? 'renew'
        : 'retry'
    assert.equal(afterClose(code), expected, `${code}: ${advice}`)
  }
  assert.equal(readTimeSpan('1.02:03:04.5'), 93_784_500)
  assert.equal(readTimeSpan('soon'), undefined)
})

test('errors keep what the server said', () => {
  const refused = errorOfMessage({ Controller: 'Query', Topic: 'Live/1', Data: 'Limited rows' })
  assert.deepEqual([refused.code, refused.retryable], ['Limited', false])
  const stopped = problemError({ status: 503, Code: 'Data.WritesStopped', detail: 'x' })
  assert.equal(stopped.retryable, false)
  assert.equal(problemError('nonsense', { status: 502 }).code, 'http.502')
  assert.throws(() => new Gatehouse('ftp://x'), TypeError)
})
