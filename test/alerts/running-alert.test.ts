/** One alert beside a live statement of the test: what a change of rights takes away, whatever else changes with it, and over restarts. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { INTEGER, TEXT } from 'gatehouse-iql'
import type { Principal, SubscriberSink } from 'gatehouse-protocol'
import { Lanes } from '../../packages/server/src/alerts/deliver/lanes.ts'
import { RunningAlert, type StoredAlert } from '../../packages/server/src/alerts/keep/running-alert.ts'
import { NO_SILENCES } from '../../packages/server/src/alerts/states/due-notice.ts'
import type { AlertRun, AlertWrite, LiveDescription, LiveMessage } from '../../packages/server/src/query/index.ts'
import { toAlertDefinition } from '../../packages/server/src/resources/alert-shape.ts'
import type { Alert } from '../../packages/server/src/store/alerts/alert.ts'
import { until } from '../support/until.ts'

const ALERT: Alert = {
  ...{ id: 'a', owner: 'user-1', name: 'A', version: 1, created: 0, updated: 0 },
  rights: { clientId: '', scopes: [], consented: false },
  definition: toAlertDefinition({
    name: 'A',
    statement: 'SELECT id, n FROM t',
    when: 'n > 10',
    group: '0 seconds',
    resolved: true,
    channels: ['hook'],
  }),
}
const OWNER: Principal = {
  ...{ subject: 'user-1', kind: 'user', clientId: '', scopes: new Set(), roles: [], audiences: [], tokenId: '' },
  ...{ sessionId: undefined, grantId: undefined, username: 'u', displayName: undefined, issuedAt: 0, expiresAt: 0 },
  authTime: undefined,
}
const describeAs = (visibility: string): LiveDescription => ({
  columns: [
    { name: 'id', type: TEXT, nullable: false },
    { name: 'n', type: INTEGER, nullable: false },
  ],
  keyNames: ['id'],
  needsSignIn: false,
  visibility,
})

const put = (...rows: readonly (readonly [id: string, n: number])[]) => ({
  Put: rows.map(([id, n]) => ({ Key: [id], Row: { id, n } })),
})

interface Started {
  readonly alert: RunningAlert
  /** All that was written, in its order. */
  readonly writes: readonly AlertWrite[]
  /** The positions from which it was subscribed to. */
  readonly resumed: readonly (string | undefined)[]
  /** What the owner may see from now on. */
  see(visibility: string): void
  send(kind: LiveMessage['kind'], data: object): void
  /** How often what waits was dropped. */
  readonly drops: number
  /** The types of the notices. */
  readonly notified: readonly string[]
  readonly run: AlertRun | undefined
}

interface StartOptions {
  /** What the owner may see when the statement is subscribed to; as when it was described, unless it is given. */
  readonly later?: string
  readonly mode?: 'event'
}

/** A term of the keeper begins. Resolves when the statement is subscribed to. */
async function start(
  t: TestContext,
  visibility: string,
  stored: Partial<StoredAlert> = {},
  { later, mode }: StartOptions = {},
): Promise<Started> {
  let description = describeAs(visibility)
  let sink: SubscriberSink<LiveMessage> | undefined
  let drops = 0
  const writes: AlertWrite[] = []
  const resumed: (string | undefined)[] = []
  const lanes = new Lanes({
    hostOf: () => 'host',
    attempt: async () => ({ outcome: 'held' }),
    commit: async () => {},
    commitDrop: async () => void drops++,
    clock: () => 0,
    onError: (error) => assert.fail(String(error)),
  })
  const definition = mode === undefined ? ALERT.definition : { ...ALERT.definition, mode }
  const alert = new RunningAlert({ ...ALERT, definition }, { run: undefined, states: [], ...stored }, NO_SILENCES, {
    live: {
      describe: async () => description,
      subscribe: async ({ resume }, given) => {
        if (later !== undefined) description = describeAs(later)
        resumed.push(resume)
        sink = given
        return { setPrincipal() {}, close() {}, start() {} } as never
      },
    },
    commit: async (write) => {
      writes.push(write)
      return true
    },
    lanes,
    now: () => ({ wall: 0, monotonic: 0 }),
    mostInstances: 10,
    url: () => '',
    onError: (error) => assert.fail(String(error)),
  })
  t.after(() => {
    alert.close()
    lanes.close()
  })
  alert.setOwner({ kind: 'present', principal: OWNER })
  await until('it is subscribed', 2_000, () => sink !== undefined)
  return {
    alert,
    writes,
    resumed,
    see(other) {
      description = describeAs(other)
    },
    send(kind, data) {
      sink?.send({
        ...{ kind, text: JSON.stringify(data), put: 0, removed: 0 },
        position: kind === 'Reset' ? undefined : 'p',
        bytes: 0,
      })
    },
    get drops() {
      return drops
    },
    get notified() {
      return writes.flatMap(({ deliveries = [] }) => deliveries.map(({ notice }) => JSON.parse(notice).type))
    },
    get run() {
      return writes.flatMap(({ runs = [] }) => runs).at(-1)
    },
  }
}

/** What is stored of an alert whose key `x` fires, as a term leaves it. */
async function fire(t: TestContext, visibility: string): Promise<StoredAlert> {
  const { send, writes } = await start(t, visibility)
  send('Snapshot', put(['x', 20]))
  await until('it is written', 2_000, () => writes.some(({ states = [] }) => states.length > 0))
  return {
    run: writes.flatMap(({ runs = [] }) => runs).at(-1),
    states: writes.flatMap(({ states = [] }) => states),
  }
}

for (const [what, after, dropped, types] of [
  ['columns that are added take nothing away', 'all rows', 0, ['alert.firing', 'alert.resolved']],
  ['columns that are added with a row filter: the rows end without a word', 'some rows', 1, ['alert.firing']],
] as const)
  test(what, async (t) => {
    const started = await start(t, 'all rows')
    started.send('Snapshot', put(['x', 20]))
    started.see(after)
    started.send('Reset', { Reason: 'Definition' })
    started.send('Snapshot', put())
    await until('the state is over', 2_000, () =>
      started.writes.some(({ removedStates = [] }) => removedStates.length > 0),
    )
    assert.deepEqual([started.drops, started.notified], [dropped, types])
  })

for (const [what, after, dropped, types] of [
  ['a row that ends between two terms is resolved', 'all rows', 0, ['alert.resolved']],
  ['a row that rights take away between two terms ends without a word', 'some rows', 1, []],
] as const)
  test(what, async (t) => {
    const started = await start(t, after, await fire(t, 'all rows'))
    started.send('Snapshot', put())
    await until('the state is over', 2_000, () =>
      started.writes.some(({ removedStates = [] }) => removedStates.length > 0),
    )
    assert.deepEqual([started.drops > 0, started.notified], [dropped > 0, types])
  })

test('other rights that change no state are stored: the next term does not take them for a loss', async (t) => {
  const started = await start(t, 'all rows', await fire(t, 'all rows'))
  started.send('Snapshot', put(['x', 20]))
  started.see('some rows')
  started.send('Reset', { Reason: 'Rights' })
  started.send('Snapshot', put(['x', 20]))
  await until('they are stored', 2_000, () => started.run?.rights === 'some rows')
  assert.deepEqual(started.notified, [])
})

test('what ends while the owner has no rights ends without a word, also if a term ends meanwhile', async (t) => {
  const { run, states } = await fire(t, 'all rows')
  assert.ok(run)
  const started = await start(t, 'all rows', { run: { ...run, state: 'suspended' }, states })
  started.send('Snapshot', put())
  await until('the state is over', 2_000, () =>
    started.writes.some(({ removedStates = [] }) => removedStates.length > 0),
  )
  assert.deepEqual(started.notified, [])
})

test('rights that change between the description and the first result are a loss, although nothing says so', async (t) => {
  const started = await start(t, 'all rows', await fire(t, 'all rows'), { later: 'some rows' })
  started.send('Snapshot', put())
  await until('the state is over', 2_000, () =>
    started.writes.some(({ removedStates = [] }) => removedStates.length > 0),
  )
  assert.deepEqual([started.drops, started.notified, started.run?.rights], [1, [], 'some rows'])
})

test('events that go on from a position with other rights begin anew, and the new position is stored', async (t) => {
  const first = await start(t, 'all rows', {}, { mode: 'event' })
  first.send('Snapshot', put(['x', 20]))
  await until('the position is stored', 2_000, () => first.run?.position === 'p')
  const stored = { run: first.run, states: first.writes.flatMap(({ states = [] }) => states) }
  const next = await start(t, 'all rows', stored, { mode: 'event', later: 'some rows' })
  next.send('Change', { Recovered: true, ...put(['y', 20]) })
  await until('it begins anew', 2_000, () => next.resumed.length === 2)
  assert.deepEqual(next.resumed, ['p', undefined])
  next.send('Snapshot', put(['z', 20]))
  await until('it is stored', 2_000, () => next.run?.rights === 'some rows' && next.run.position === 'p')
  assert.deepEqual(next.notified, [])
})

test('from a reset to the next result, notices about former rows are not sent', async (t) => {
  const started = await start(t, 'all rows')
  started.send('Snapshot', put(['x', 20]))
  assert.equal(await started.alert.hasRights(), true)
  started.see('some rows')
  started.send('Reset', { Reason: 'Rights' })
  assert.deepEqual([await started.alert.hasRights(), started.drops], [false, 1])
  started.send('Reset', { Reason: 'Overflow' })
  started.send('Snapshot', put())
  await until('they are stored', 2_000, () => started.run?.rights === 'some rows')
  assert.deepEqual([await started.alert.hasRights(), started.notified], [true, ['alert.firing']])
})

test('a group whose values are others because rows of it are taken away ends without a word', async (t) => {
  const started = await start(t, 'all rows')
  started.send('Snapshot', put(['x', 20], ['y', 20]))
  started.see('some rows')
  started.send('Reset', { Reason: 'Rights' })
  started.send('Snapshot', put(['x', 5], ['y', 15]))
  await until('the state is over', 2_000, () =>
    started.writes.some(({ removedStates = [] }) => removedStates.length > 0),
  )
  assert.deepEqual(started.notified, ['alert.firing'])
  started.send('Change', put(['y', 5]))
  assert.deepEqual(started.notified, ['alert.firing', 'alert.resolved'])
})
