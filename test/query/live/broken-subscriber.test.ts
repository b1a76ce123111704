/** A fault in one subscriber, wherever it happens: its statement ends with an error, the log says why, and other subscribers are not affected. */

import assert from 'node:assert/strict'
import { after, afterEach, before, describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { Refusal, RunningSubscription, SubscriberSink } from 'gatehouse-protocol'
import { TurnQueue } from '../../../packages/server/src/lib/turns.ts'
import type { LiveMessage } from '../../../packages/server/src/query/live/contract.ts'
import { LiveCounts } from '../../../packages/server/src/query/live/counts.ts'
import { Evaluator, type EvaluatorEnv } from '../../../packages/server/src/query/live/evaluate/evaluator.ts'
import { toState } from '../../../packages/server/src/query/live/results/difference.ts'
import { LiveResult } from '../../../packages/server/src/query/live/results/live-result.ts'
import { Subscriber } from '../../../packages/server/src/query/live/subscriber/subscriber.ts'
import { onEveryEngineInLongRuns } from '../../support/engines.ts'
import { atOnce } from '../../support/steps.ts'
import { until } from '../../support/until.ts'
import { CALLERS, type QueryServer, startQueryServer } from '../query-server.ts'
import { LiveClient } from './live-client.ts'
import { SEAL, targetWith } from './result-target.ts'

const ADMIN = CALLERS.admin ?? assert.fail()
const PATIENCE_MS = 10_000
let requests = 0

/** A transport that fails on request. */
class BrokenSink implements SubscriberSink<LiveMessage> {
  readonly kinds: LiveMessage['kind'][] = []
  ended: Refusal | undefined
  maySend = true
  /** Messages of this kind, and the end. */
  breaks: { send?: LiveMessage['kind']; end?: boolean } = {}
  subscription: RunningSubscription | undefined

  send({ kind }: LiveMessage): void {
    if (this.breaks.send === kind) throw new Error(`${kind} could not be encoded`)
    this.kinds.push(kind)
  }

  end(reason: Refusal): void {
    this.ended = reason
    if (this.breaks.end) throw new Error('the end could not be encoded')
  }
}

onEveryEngineInLongRuns('a subscriber with a fault', (place) => {
  let server: QueryServer
  let good: LiveClient
  before(async () => {
    server = await startQueryServer(place(), { liveLimits: { progressMs: 200 } })
    await run('CREATE TABLE f (id Integer PRIMARY KEY, v Integer NOT NULL)')
    await run('INSERT INTO f VALUES (1, 0)')
    good = await LiveClient.follow(server, STATEMENT)
  })
  afterEach(async () => {
    // The result is evaluated and published as before.
    await run('UPDATE f SET v = v + 1 WHERE id = 1')
    const { json } = await server.query('SELECT v FROM f')
    await good.holds([{ v: json.Rows[0]?.v }])
    assert.equal(good.ended, undefined)
    assert.deepEqual([...server.service.live.list()].length, 1, 'the one with the fault is gone')
  })
  after(async () => {
    good.close()
    await server.stop()
  })

  const STATEMENT = 'SELECT v FROM f'
  const run = async (statement: string): Promise<void> => {
    const reply = await server.query(statement)
    assert.equal(reply.status, 200, reply.text)
  }
  const open = async (sink: BrokenSink, maxRate = 50): Promise<BrokenSink> => {
    sink.subscription = await server.service.live.subscribe(
      {
        principal: ADMIN,
        statement: STATEMENT,
        parameters: new Map(),
        maxRate,
        resume: undefined,
        encoding: { rows: 'objects', integers: 'numbers' },
        connectionId: `broken-${++requests}`,
        requestId: `broken-${requests}`,
        address: '127.0.0.1',
      },
      sink,
    )
    return sink
  }
  const follow = async (maxRate?: number): Promise<BrokenSink> => {
    const sink = await open(new BrokenSink(), maxRate)
    await until('the first state', PATIENCE_MS, () => sink.kinds.length > 0)
    return sink
  }
  const endsWith = async (sink: BrokenSink, kind: LiveMessage['kind']): Promise<void> => {
    await until('it ends', PATIENCE_MS, () => sink.ended !== undefined)
    assert.equal(sink.ended?.code, 'Limit.Overload')
    assert.ok(server.log.some((line) => line.includes(`${kind} could not be encoded`)))
  }

  test('in the first message', async () => {
    const sink = new BrokenSink()
    sink.breaks.send = 'Snapshot'
    await endsWith(await open(sink), 'Snapshot')
  })

  test('in a change', async () => {
    const sink = await follow()
    sink.breaks.send = 'Change'
    await run('UPDATE f SET v = v + 1 WHERE id = 1')
    await endsWith(sink, 'Change')
  })

  test('in a change that a timer sends', async () => {
    const sink = await follow(5)
    await run('UPDATE f SET v = v + 1 WHERE id = 1')
    await until('the first change', PATIENCE_MS, () => sink.kinds.includes('Change'))
    sink.breaks.send = 'Change'
    await run('UPDATE f SET v = v + 1 WHERE id = 1')
    await endsWith(sink, 'Change')
  })

  test('in a change that waited for the client to read', async () => {
    const sink = await follow()
    sink.maySend = false
    await run('UPDATE f SET v = v + 1 WHERE id = 1')
    await good.until('others have the change', () => good.applier.isWhole)
    sink.maySend = true
    sink.breaks.send = 'Change'
    sink.subscription?.drained()
    await endsWith(sink, 'Change')
  })

  test('in a Progress', async () => {
    const sink = await follow()
    sink.breaks.send = 'Progress'
    await endsWith(sink, 'Progress')
  })

  test('in the end itself', async () => {
    const sink = await follow()
    sink.breaks = { send: 'Change', end: true }
    await run('UPDATE f SET v = v + 1 WHERE id = 1')
    await endsWith(sink, 'Change')
    await until('the log says so', PATIENCE_MS, () => server.log.some((line) => line.includes('the end could not be')))
  })
})

describe('a fault in what subscribers share', () => {
  const read = [{ key: '[1]', route: '[]', row: '{"v":1}' }]
  const state = atOnce(toState(read, { hasKeys: true, isOrdered: false }))

  test('a snapshot that cannot be encoded ends the subscribers that wait for it, and is encoded again for the next', async () => {
    const target = targetWith(false, ['id'])
    let isBroken = true
    const plan = {
      ...target.plan,
      get keyNames() {
        if (isBroken) throw new Error('no keys')
        return ['id']
      },
    }
    const result = new LiveResult({ ...target, plan }, state, new Map([['t', '1.1']]), SEAL)
    const errors: unknown[] = []
    const follow = async (): Promise<BrokenSink> => {
      const sink = new BrokenSink()
      const request = {
        principal: ADMIN,
        statement: '',
        parameters: new Map(),
        maxRate: 50,
        resume: undefined,
        encoding: target.encoding,
        connectionId: '',
        requestId: '',
        address: '',
      }
      const env = {
        counts: new LiveCounts(),
        turns: new TurnQueue(),
        budget: { hold: () => {}, letGo: () => {} },
        release: () => {},
        replan: () => {},
        hasEnded: () => {},
        catchUp: () => undefined,
        onError: (error: unknown) => errors.push(error),
      }
      const subscriber = new Subscriber(request, sink, env, 0)
      subscriber.follow(result, undefined)
      subscriber.start()
      await turn()
      return sink
    }
    const waiting = await follow()
    assert.equal(waiting.ended?.code, 'Limit.Overload')
    assert.equal(errors.length, 1)
    isBroken = false
    const next = await follow()
    assert.deepEqual([next.ended, next.kinds], [undefined, ['Snapshot']])
  })

  test('an evaluation whose result cannot be published is tried three times, and then ends', async () => {
    const result = new LiveResult(targetWith(false, ['id']), state, new Map([['t', '1.1']]), SEAL)
    const errors: unknown[] = []
    const { promise: ended, resolve } = Promise.withResolvers<Refusal>()
    class Unpublished extends Evaluator {
      readonly tables = []
      readonly method = 'rerun'
      readonly isRepeated = false
      protected override async evaluate() {
        return [result]
      }
      protected override end(reason: Refusal): void {
        resolve(reason)
      }
    }
    const env: Pick<EvaluatorEnv, 'counts' | 'starts' | 'onError' | 'hasChanged'> = {
      counts: new LiveCounts(),
      starts: new TurnQueue(),
      onError: (error) => errors.push(error),
      hasChanged() {
        throw new Error('it cannot be counted')
      },
    }
    const evaluator = new Unpublished(env as EvaluatorEnv)
    evaluator.markDirty(performance.now())
    assert.equal((await ended).code, 'Limit.Overload')
    assert.equal(errors.length, 3)
  })
})
