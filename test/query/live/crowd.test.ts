/** Many live subscribers over real sockets: they all come back after a crash or a stop, do not read, or follow a row that never rests. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { onEveryEngineInLongRuns } from '../../support/engines.ts'
import { until } from '../../support/until.ts'
import { CHANGES, Crowd } from './crowd.ts'

/** `fuzz/live-crowd.ts` has more of everything. */
const SUBSCRIBERS = 100
const STALLED = 25
const UPDATES = 400
const ABOVE = 'SELECT id, price FROM ticks WHERE price > 100'

onEveryEngineInLongRuns('a crowd of live subscribers', (place) => {
  let crowd: Crowd
  before(async () => {
    crowd = await Crowd.open(place())
  })
  after(() => crowd.close())

  test('after a crash all subscribers reconnect at once and get what they missed, none of them a snapshot', async (t) => {
    const left = await crowd.subscribe(SUBSCRIBERS)
    await crowd.restart('SIGKILL')
    for (const change of CHANGES) await crowd.query(change)
    const { result: back, p50, p99 } = await crowd.timesBeside(crowd.subscribe(SUBSCRIBERS, left))
    t.diagnostic(`lookups beside them: p50 ${p50} ms, p99 ${p99} ms`)
    await crowd.agree(back)
    assert.deepEqual(
      back.filter(({ answers }) => answers.recovered !== 1).map(({ statement }) => statement.text),
      [],
    )
    await crowd.query('UPDATE ticks SET price = price + 1 WHERE id < 50')
    await crowd.agree(back)
    crowd.hangUp()
  })

  test('SIGTERM during writes: streams are closed with 1012, event streams end, and all subscribers continue without a gap', async () => {
    const left = await crowd.subscribe(16)
    const events = await crowd.followEvents(ABOVE)
    let isStopped = false
    const writing = async (): Promise<void> => {
      while (!isStopped) {
        const write = crowd.query('UPDATE ticks SET price = price + 1 WHERE id < 120')
        await write.catch(() => {
          isStopped = true
        })
      }
    }
    const writes = [writing(), writing()]
    await until('changes are sent', 60_000, () => events.applier.seen.Change > 2)
    const codes = await crowd.restart('SIGTERM')
    await Promise.all(writes)
    assert.deepEqual(codes, new Set([1012]))
    assert.match(events.ended ?? '', /Limit\.Overload.*shutting down/)
    for (const change of ['UPDATE ticks SET price = 7 WHERE id < 60', 'DELETE FROM ticks WHERE id = 20'])
      await crowd.query(change)
    const back = [...(await crowd.subscribe(16, left)), await crowd.followEvents(ABOVE, events)]
    await crowd.agree(back)
    for (const { answers, statement } of back) assert.deepEqual(answers, { recovered: 1, reset: 0 }, statement.text)
    crowd.hangUp()
  })

  test('subscribers that do not read use bounded memory, delay no one, and continue when they read again', async (t) => {
    await crowd.query("UPDATE ticks SET note = repeat('x', 1000) ALL")
    const statement = 'SELECT id, price, note FROM ticks'
    const { client: reader } = await crowd.follow(statement)
    const stalled = []
    for (let count = 0; count < STALLED; count++) stalled.push(await crowd.follow(statement))
    const before = crowd.residentMiB
    for (const { transport } of stalled) transport.pause()
    for (let count = 0; count < 60; count++) await crowd.query('UPDATE ticks SET price = price + 1 ALL')
    await crowd.agree([reader])
    t.diagnostic(`${before} MiB before, ${crowd.residentMiB} MiB with ${STALLED} who do not read`)
    // Of 60 changes of 200 KB each, nothing is kept for them beyond the result, its history and what fits into their sockets.
    assert.ok(crowd.residentMiB < before + 200)
    for (const { transport } of stalled) transport.resume()
    await crowd.agree(stalled.map(({ client }) => client))
    crowd.hangUp()
  })

  test('a row that is updated all the time is sent as often as each subscriber wants, and the last state to all', async () => {
    const statement = 'SELECT price FROM ticks WHERE id = 3'
    const rates = [1, 5, 50] as const
    const clients = await Promise.all(rates.map(async (rate) => (await crowd.follow(statement, rate)).client))
    const began = performance.now()
    const update = async (): Promise<void> => {
      for (let count = 0; count < UPDATES / 8; count++)
        await crowd.query('UPDATE ticks SET price = price + 1 WHERE id = 3')
    }
    await Promise.all(Array.from({ length: 8 }, update))
    await crowd.agree(clients)
    const seconds = (performance.now() - began) / 1000
    for (const [index, rate] of rates.entries()) {
      const changes = clients[index]?.applier.seen.Change ?? 0
      assert.ok(changes >= 1 && changes <= rate * seconds + 2, `${changes} changes in ${seconds} s at ${rate} a second`)
    }
  })
})
