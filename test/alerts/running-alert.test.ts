/** One alert beside a live statement of the test: what a change of rights takes away, whatever else changes with it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TEXT } from 'gatehouse-iql'
import type { Principal, SubscriberSink } from 'gatehouse-protocol'
import { Lanes } from '../../packages/server/src/alerts/deliver/lanes.ts'
import { RunningAlert } from '../../packages/server/src/alerts/keep/running-alert.ts'
import { NO_SILENCES } from '../../packages/server/src/alerts/states/due-notice.ts'
import type { AlertWrite, LiveDescription, LiveMessage } from '../../packages/server/src/query/index.ts'
import { toAlertDefinition } from '../../packages/server/src/resources/alert-shape.ts'
import type { Alert } from '../../packages/server/src/store/alerts/alert.ts'
import { until } from '../support/until.ts'

const ALERT: Alert = {
  ...{ id: 'a', owner: 'user-1', name: 'A', version: 1, created: 0, updated: 0 },
  rights: { clientId: '', scopes: [], consented: false },
  definition: toAlertDefinition({
    name: 'A',
    statement: 'SELECT id FROM t',
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
const described = (visibility: string): LiveDescription => ({
  columns: [{ name: 'id', type: TEXT, nullable: false }],
  keyNames: ['id'],
  needsSignIn: false,
  fingerprint: visibility,
  visibility,
})

for (const [what, after, dropped, types] of [
  ['columns that are added take nothing away', 'all rows', 0, ['alert.firing', 'alert.resolved']],
  ['columns that are added with a row filter: the rows end without a word', 'some rows', 1, ['alert.firing']],
] as const)
  test(what, async () => {
    let description = described('all rows')
    let sink: SubscriberSink<LiveMessage> | undefined
    const writes: AlertWrite[] = []
    let drops = 0
    const lanes = new Lanes({
      hostOf: () => 'host',
      attempt: async () => ({ outcome: 'held' }),
      commit: async () => {},
      commitDrop: async () => void drops++,
      clock: () => 0,
      onError: (error) => assert.fail(String(error)),
    })
    const alert = new RunningAlert(ALERT, { run: undefined, states: [] }, NO_SILENCES, {
      live: {
        describe: async () => description,
        subscribe: async (_request, given) => {
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
    const send = (kind: LiveMessage['kind'], data: object) =>
      sink?.send({
        ...{ kind, text: JSON.stringify(data), put: 0, removed: 0 },
        position: kind === 'Reset' ? undefined : 'p',
        bytes: 0,
      })
    const notified = () =>
      writes.flatMap(({ deliveries = [] }) => deliveries.map(({ notice }) => JSON.parse(notice).type as string))
    alert.setOwner({ kind: 'present', principal: OWNER })
    await until('it is subscribed', 2_000, () => sink !== undefined)
    send('Snapshot', { Put: [{ Key: ['x'], Row: { id: 'x' } }] })
    description = described(after)
    send('Reset', { Reason: 'Definition' })
    send('Snapshot', { Put: [] })
    await until('the state is over', 2_000, () => writes.some(({ removedStates = [] }) => removedStates.length > 0))
    assert.deepEqual([drops, notified()], [dropped, types])
    alert.close()
    lanes.close()
  })
