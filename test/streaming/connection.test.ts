/** The connection as a state machine without a socket: messages, events and time in, messages and a close out. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Message, noAudit, type Principal } from 'gatehouse-protocol'
import { loadConfig } from '../../packages/server/src/config/load.ts'
import type { GateEvent } from '../../packages/server/src/events/bus.ts'
import { createStepUp } from '../../packages/server/src/step-up/step-up.ts'
import { CODECS } from '../../packages/server/src/streaming/codec/codec.ts'
import { profileFor } from '../../packages/server/src/streaming/codec/profile.ts'
import { Connection } from '../../packages/server/src/streaming/connection/connection.ts'
import { UserSessions } from '../../packages/server/src/streaming/connection/user-sessions.ts'
import { authController } from '../../packages/server/src/streaming/controllers/auth.ts'
import { Controllers } from '../../packages/server/src/streaming/controllers/registry.ts'
import { StreamCounters } from '../../packages/server/src/streaming/metrics.ts'
import { Hub } from '../../packages/server/src/streaming/topics/hub.ts'
import { createTestController } from '../support/controllers.ts'
import { createTestClock } from '../support/server.ts'

const START = Date.UTC(2026, 10, 15)
const MINUTE = 60_000

const ALICE: Principal = {
  subject: 'alice',
  kind: 'user',
  clientId: 'demo-cli',
  scopes: new Set(['Platform/Market']),
  roles: [],
  audiences: ['platform'],
  tokenId: 't1',
  sessionId: 's1',
  grantId: 'g1',
  username: 'alice',
  displayName: undefined,
  issuedAt: START / 1000,
  expiresAt: START / 1000 + 600,
  authTime: undefined,
}

type Step =
  | { readonly client: string }
  | { readonly event: GateEvent }
  /** Milliseconds. */
  | { readonly wait: number }
  | { readonly publish: readonly [string, unknown] }

/** Returns the output of each step in short notation. */
async function run(steps: readonly Step[], principal: Principal | 'anonymous' = ALICE): Promise<string[][]> {
  const clock = createTestClock(START)
  const hub = new Hub()
  const controller = createTestController()
  const { config: settings } = loadConfig({})
  let output: string[] = []
  const env = {
    clock,
    monotonic: clock,
    settings,
    hub,
    controllers: new Controllers([authController, controller]),
    counters: new StreamCounters(),
    sessions: new UserSessions(settings, () => {}),
    authenticate: async (token: string) =>
      token === 'good.token' ? { ...ALICE, expiresAt: START / 1000 + 7200 } : undefined,
    restoreToken: () => undefined,
    findUsername: async () => undefined,
    stepUp: createStepUp({ clock, audit: noAudit }),
    onFault: (error: unknown) => assert.fail(String(error)),
    onSignInRejected: () => {},
  }
  const profile = profileFor('1.1')
  assert.ok(profile)
  const connection = new Connection(
    { connectionId: 'c1', address: '', profile },
    {
      send: (message) => void output.push(note(message)),
      sendBroadcast: ({ message }) => void output.push(note(message)),
      topicsMustWait: false,
      setReading: () => {},
      close: (name) => void output.push(`close ${name}`),
    },
    env,
  )
  if (principal !== 'anonymous') connection.auth.signInAs(principal, 'token')
  const outputs: string[][] = []
  for (const step of steps) {
    output = []
    if ('client' in step)
      connection.receive(CODECS.PlatformJson.decode(Buffer.from(step.client)), step.client.length, clock())
    else if ('event' in step) connection.onEvent(step.event)
    else if ('publish' in step) hub.publish('Test', step.publish[0], step.publish[1], clock())
    else {
      clock.advance(step.wait)
      const now = { time: clock(), monotonic: clock() }
      if (connection.isDue(now)) connection.tick(now)
    }
    // What takes long is continued in a further turn of the event loop.
    for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate)
    outputs.push(output)
  }
  return outputs
}

function note({ Topic, Action, TransactionID: id, Data, Confirm }: Message): string {
  const result = typeof Data === 'object' && Data !== null && 'Result' in Data ? Data.Result : Data
  return [Action, Topic, id === undefined ? '' : `#${id}`, result ?? '', Confirm ?? '']
    .join(' ')
    .replaceAll(/ +/g, ' ')
    .trim()
}

const send = (text: string): Step => ({ client: text })
const to = (topic: string, more = '', controller = 'Test'): Step =>
  send(`{"Controller":"${controller}","Topic":"${topic}"${more}}`)
const rights = (scopes: string[]): GateEvent => ({
  kind: 'rights-changed',
  roles: [],
  subject: 'alice',
  scopes,
  at: START + 1,
  expiresAt: 0,
})
const SUB = ',"Action":"Sub","Confirm":true'
const authToken = (token: string): Step =>
  to('AuthToken', `,"TransactionID":9,"Data":{"Provider":"Bearer","AccessToken":"${token}"}`, 'Auth')

const TABLE: Readonly<Record<string, readonly (readonly [Step, readonly string[]])[]>> = {
  'a request and its reply': [
    [to('Echo', ',"TransactionID":1,"Data":"x"'), ['Publish Echo #1 x']],
    [to('Echo', ',"Data":"x"'), ['Error Echo Operation.NoResult']],
    [to('Missing', ',"TransactionID":2'), ['Error Missing #2 Operation.Unknown Missing']],
    [send('nonsense'), ['Error Data.Deserialise']],
  ],
  'an answer waits for those before it, and not for what a cancelled request was to write': [
    [to('Overlap', ',"TransactionID":1,"Data":"never"'), []],
    [to('Overlap', ',"TransactionID":2,"Data":"never"'), []],
    [to('Overlap', ',"TransactionID":3,"Data":"c"'), []],
    [to('Overlap', ',"Action":"Cancel","TransactionID":2'), ['Error Overlap #2 Operation.Abort']],
    [
      to('Overlap', ',"Action":"Cancel","TransactionID":1'),
      ['Error Overlap #1 Operation.Abort', 'Publish Overlap #3 c'],
    ],
  ],
  'subscribed, expired, renewed within the grace period': [
    [to('Market', SUB), ['Sub Market true']],
    [{ publish: ['Market', 'a'] }, ['Publish Market a']],
    [{ wait: 10 * MINUTE }, []],
    [{ publish: ['Market', 'b'] }, []],
    [to('Market', ',"TransactionID":1'), ['Error Market #1 Authority']],
    [authToken('bad.token'), ['Publish Identify #9 Reject']],
    [authToken('good.token'), ['Publish Identify #9 Success']],
    [{ publish: ['Market', 'c'] }, ['Publish Market c']],
  ],
  'expired, and not renewed within the grace period': [
    [{ wait: 10 * MINUTE }, []],
    [{ wait: MINUTE - 1 }, []],
    [{ wait: 1 }, ['close policy']],
    [to('Echo', ',"TransactionID":1'), []],
  ],
  'Identify pushes every change of the authority': [
    [to('Identify', SUB, 'Auth'), ['Sub Identify true', 'Publish Identify Success']],
    [{ wait: 8 * MINUTE }, ['Publish Identify Success']],
    [{ wait: MINUTE }, []],
    [{ wait: MINUTE }, ['Publish Identify Reject']],
    [authToken('good.token'), ['Publish Identify #9 Success', 'Publish Identify Success']],
    [{ event: rights([]) }, ['Publish Identify Success']],
    [{ event: rights([]) }, []],
    [{ event: { kind: 'token-revoked', tokenId: 't1', expiresAt: 0 } }, ['Publish Identify Reject']],
    [{ event: { kind: 'token-revoked', tokenId: 't1', expiresAt: 0 } }, []],
  ],
  'rights lost while subscribed': [
    [to('Market', SUB), ['Sub Market true']],
    [to('Open', SUB), ['Sub Open true']],
    [{ event: rights(['Platform/News']) }, ['Error Market Authority', 'Unsub Market true']],
    [{ publish: ['Open', 'x'] }, ['Publish Open x']],
    [to('Market', SUB), ['Error Market Authority', 'Sub Market false']],
  ],
  'the session ends before requests are answered': [
    [to('Wait', ',"TransactionID":1'), []],
    [to('Echo', ',"TransactionID":2'), []],
    [
      { event: { kind: 'session-ended', sessionId: 's1', expiresAt: 0 } },
      ['Error Wait #1 Session', 'Error Echo #2 Session', 'close sessionEnded'],
    ],
    [{ publish: ['Open', 'x'] }, []],
    [{ wait: 100 * MINUTE }, []],
  ],
  'requests cancelled while running and waiting': [
    [to('Wait', ',"TransactionID":1'), []],
    [to('Echo', ',"TransactionID":2,"Data":"x"'), []],
    [to('Echo', ',"TransactionID":3,"Data":"y"'), []],
    [send('{"Action":"Cancel","TransactionID":2}'), []],
    [
      send('{"Action":"Cancel","TransactionID":1}'),
      ['Error Wait #1 Operation.Abort', 'Error Echo #2 Operation.Abort', 'Publish Echo #3 y'],
    ],
  ],
}

for (const [name, rows] of Object.entries(TABLE)) {
  test(name, async () => {
    const outputs = await run(rows.map(([step]) => step))
    for (const [index, [step, expected]] of rows.entries())
      assert.deepEqual(outputs[index], expected, `step ${index + 1}: ${JSON.stringify(step)}`)
  })
}

test('not authenticated: closed at the deadline, not before', async () => {
  const outputs = await run([{ wait: MINUTE - 1 }, { wait: 1 }], 'anonymous')
  assert.deepEqual(outputs, [[], ['close policy']])
})

test('authenticated before the deadline: not closed at the deadline', async () => {
  const outputs = await run([authToken('good.token'), { wait: MINUTE }], 'anonymous')
  assert.deepEqual(outputs, [['Publish Identify #9 Success'], []])
})
