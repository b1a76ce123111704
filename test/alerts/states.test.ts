/** The states of keys, and which notice of them is due when: pure functions with a clock of the test. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nextDelay } from '../../packages/server/src/alerts/deliver/schedule.ts'
import { readSilence } from '../../packages/server/src/alerts/http/body.ts'
import { untilActive } from '../../packages/server/src/alerts/states/active-times.ts'
import { decide, markNotified, NO_SILENCES } from '../../packages/server/src/alerts/states/due-notice.ts'
import {
  elapse,
  GONE,
  type Instance,
  judge,
  newInstance,
  resume,
} from '../../packages/server/src/alerts/states/instance.ts'
import { fillTemplate, unknownPlaces } from '../../packages/server/src/alerts/template.ts'
import { rawNumber } from '../../packages/server/src/lib/exact-json.ts'
import type { DeclaredAlert } from '../../packages/server/src/resources/alert-shape.ts'
import { toAlertDefinition } from '../../packages/server/src/resources/alert-shape.ts'

const START = Date.UTC(2026, 0, 5, 12)
const at = (milliseconds: number) => ({ wall: START + milliseconds, monotonic: milliseconds })
const NO_TIMES = { forMs: 0, keepFiringMs: 0 }
const YES = { when: true, until: 'when' } as const
const NO = { when: false, until: 'when' } as const

function instance(): Instance {
  return newInstance('["BHP"]', '{}', at(0))
}

test('a state machine: ok, pending, firing, ending, ok', () => {
  const times = { forMs: 1000, keepFiringMs: 500 }
  const key = instance()
  const states: string[] = []
  const step = (ms: number, truths?: typeof YES | typeof NO) => {
    if (truths === undefined) elapse(key, at(ms))
    else judge(key, truths, at(ms), times)
    states.push(key.state)
  }
  step(0, YES)
  step(999)
  step(1000)
  step(1100, NO)
  step(1500, YES)
  step(1600, NO)
  step(2099)
  step(2100)
  assert.deepEqual(states, ['pending', 'pending', 'firing', 'firing', 'firing', 'firing', 'firing', 'ok'])
})

test('what is not known is not true: it does not fire, and ends what has no `until`', () => {
  const key = instance()
  judge(key, { when: undefined, until: 'when' }, at(0), NO_TIMES)
  assert.equal(key.state, 'ok')
  judge(key, YES, at(1), NO_TIMES)
  judge(key, { when: undefined, until: 'when' }, at(2), NO_TIMES)
  assert.equal(key.state, 'ok')
  judge(key, { when: true, until: false }, at(3), NO_TIMES)
  judge(key, { when: false, until: undefined }, at(4), NO_TIMES)
  assert.equal(key.state, 'firing')
  judge(key, GONE, at(5), NO_TIMES)
  assert.equal(key.state, 'ok')
})

test('a restart continues `for`; a clock that was set back does not extend it', () => {
  const times = { forMs: 10_000, keepFiringMs: 0 }
  const before = instance()
  judge(before, YES, at(0), times)
  const after = { ...before, dueAt: undefined }
  resume(after, { wall: START + 4_000, monotonic: 50 }, times)
  assert.equal(after.dueAt, 6_050)
  resume(after, { wall: START - 3_600_000, monotonic: 50 }, times)
  assert.equal(after.dueAt, 10_050)
  resume(after, { wall: START + 3_600_000, monotonic: 50 }, times)
  assert.equal(after.dueAt, 50)
})

function define(members: Partial<DeclaredAlert>) {
  return { definition: toAlertDefinition({ name: 'x', statement: 'SELECT 1', group: '0 seconds', ...members }) }
}

function firing(): Instance {
  return { ...instance(), state: 'firing' }
}

test('elapsed: the least time between deliveries about one key', () => {
  const alert = define({ elapsed: '1 minute' })
  const key = firing()
  markNotified([key], at(0).wall)
  key.state = 'ok'
  const early = decide(alert, [key], NO_SILENCES, undefined, at(1_000))
  assert.equal(early.notice, undefined)
  assert.equal(early.waitMs, 59_000)
  const due = decide(alert, [key], NO_SILENCES, undefined, at(60_000))
  assert.equal(due.notice?.type, 'alert.resolved')
  // A clock that was set back makes nobody wait for longer.
  const back = decide(alert, [key], NO_SILENCES, undefined, { wall: START - 3_600_000, monotonic: 1_000 })
  assert.equal(back.waitMs, 60_000)
})

test('repeat: it is said again while it fires', () => {
  const alert = define({ repeat: '5 minutes' })
  const key = firing()
  markNotified([key], at(0).wall)
  assert.equal(decide(alert, [key], NO_SILENCES, undefined, at(299_000)).notice, undefined)
  assert.equal(decide(alert, [key], NO_SILENCES, undefined, at(300_000)).notice?.type, 'alert.repeat')
})

test('the end sends no notice without `resolved`, and nothing waits for it', () => {
  const alert = define({ resolved: false })
  const key = firing()
  markNotified([key], at(0).wall)
  key.state = 'ok'
  const { notice, forgotten, waitMs } = decide(alert, [key], NO_SILENCES, undefined, at(1))
  assert.deepEqual([notice, forgotten, waitMs], [undefined, [key], undefined])
})

test('a silence of one key does not withhold others', () => {
  const [one, other] = [firing(), { ...firing(), key: '["RIO"]' }]
  const silences = { all: 0, byKey: new Map([[one.key, START + 1000]]) }
  const { notice, waitMs } = decide(define({}), [one, other], silences, undefined, at(0))
  assert.deepEqual(notice?.instances, [other])
  assert.equal(waitMs, 1000)
})

const HOURS: readonly [what: string, zone: string, instant: string, waits: boolean][] = [
  ['within', 'America/New_York', '2026-01-05T15:00:00Z', false],
  ['at its first minute', 'America/New_York', '2026-01-05T14:30:00Z', false],
  ['a minute before', 'America/New_York', '2026-01-05T14:29:00Z', true],
  ['at its end', 'America/New_York', '2026-01-05T21:00:00Z', true],
  ['on a Saturday', 'America/New_York', '2026-01-10T15:00:00Z', true],
  ['in summer, an hour earlier', 'America/New_York', '2026-07-06T13:30:00Z', false],
  ['in another zone', 'Asia/Tokyo', '2026-01-05T15:00:00Z', true],
]
for (const [what, zone, instant, waits] of HOURS)
  test(`active hours: ${what} ${waits ? 'it waits' : 'it leaves'}`, () => {
    const { definition } = define({
      zone,
      active: [{ days: ['mon', 'tue', 'wed', 'thu', 'fri'], from: '09:30', to: '16:00' }],
    })
    const wait = untilActive(definition, Date.parse(instant))
    assert.equal(wait > 0, waits, String(wait))
    assert.ok(wait <= 5 * 60_000)
  })

test('active hours over midnight are of the day on which they begin', () => {
  const { definition } = define({ active: [{ days: ['fri'], from: '22:00', to: '02:00' }] })
  const isActive = (instant: string) => untilActive(definition, Date.parse(instant)) === 0
  assert.deepEqual(
    [
      '2026-01-09T21:59:00Z',
      '2026-01-09T22:00:00Z',
      '2026-01-10T01:59:00Z',
      '2026-01-10T02:00:00Z',
      '2026-01-10T22:00:00Z',
    ].map(isActive),
    [false, true, true, false, false],
  )
})

test('a delivery is tried for a day, and then no more', () => {
  const middle = () => 0.5
  const first = [1, 2, 3, 4, 5, 6].map((attempts) => nextDelay(attempts, 0, middle))
  assert.deepEqual(first, [5_000, 30_000, 120_000, 600_000, 1_800_000, 3_600_000])
  const all = Array.from({ length: 40 }, (_each, index) => nextDelay(index + 1, 0, middle) ?? 0)
  const sum = all.reduce((total, each) => total + each, 0)
  assert.ok(sum >= 24 * 3_600_000 && sum < 25.5 * 3_600_000, String(sum))
  assert.equal(nextDelay(1, 60_000, middle), 60_000)
  assert.equal(
    nextDelay(1, 0, () => 0),
    4_500,
  )
})

test('a template puts each value in once, on one line, cut, and says what it does not know', () => {
  const row = { symbol: '{{name}}', text: `a\r\nb\u2028c ${'x'.repeat(500)}` }
  const values = {
    alert: 'id',
    name: 'Spread',
    state: 'firing',
    count: 3,
    first: { key: [], state: '', since: '', row },
  }
  assert.equal(fillTemplate('{{symbol}} {{count}}', values), '{{name}} 3')
  const filled = fillTemplate('{{ text }}', values)
  assert.equal(filled.length, 200)
  assert.ok(filled.startsWith('a b c '))
  assert.deepEqual(unknownPlaces('{{symbol}} {{nothing}} {{state}}', ['symbol']), ['nothing'])
})

test('a silence names a key with all its digits', () => {
  const { key, forMs } = readSilence({ for: '2 hours', key: ['BHP', rawNumber('9007199254740993')] })
  assert.deepEqual([key, forMs], ['["BHP",9007199254740993]', 7_200_000])
})
