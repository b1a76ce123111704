/** A guesser cannot tell why a password was refused: every cause costs one hash, counts in the same way, and has the same reply. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { hashPassword } from '../../packages/server/src/store/accounts/password-hash.ts'
import type { NewUser } from '../../packages/server/src/store/accounts/users.ts'
import { onEveryEngineInLongRuns } from '../support/engines.ts'
import { PASSWORD, startGate, type TestGate } from '../support/identity.ts'
import { signInTo } from '../support/wire-client.ts'

/** The right password, but for those that have none. */
const REFUSED: Readonly<Record<string, Omit<NewUser, 'username'>>> = {
  disabled: { disabled: true, roles: ['trader'] },
  factor: { roles: ['trader'] },
  guarded: { roles: ['guarded'] },
  passwordless: { passwordHash: undefined, roles: ['trader'] },
}
/** The token endpoint tells the holder of the right password, or signs in. */
const REFUSED_BY_WIRE: typeof REFUSED = {
  expired: { mustChangePassword: true, roles: ['trader'] },
  'without-rights': { roles: [] },
}

onEveryEngineInLongRuns('refused passwords', (place) => {
  let gate: TestGate
  let boss = ''
  before(async () => {
    gate = await startGate(place(), { flags: { '--wire-port': '0', '--wire-passwords': 'true' } })
    const { users, roles, factors } = gate.stores
    await roles.put({ name: 'guarded', scopes: ['Platform/Market'], requireSecondFactor: true })
    const passwordHash = await hashPassword(PASSWORD)
    for (const [username, user] of Object.entries({ ...REFUSED, ...REFUSED_BY_WIRE }))
      await users.create({ username, passwordHash, ...user })
    const userId = (await users.findByUsername('factor'))?.id ?? ''
    await factors.add({ userId, kind: 'totp', label: 'phone', secret: 'sealed', counter: 0 })
    boss = (await gate.signIn({ username: 'boss' })).access_token
  })
  after(() => gate.stop())

  async function byToken(username: string, password: string): Promise<string> {
    const { status, text } = await gate.post('/connect/token', {
      ...{ grant_type: 'password', client_id: 'cli', username, password },
    })
    return `${status} ${text}`
  }

  async function byWire(username: string, password: string): Promise<string> {
    const { client, replies } = await signInTo(gate.server.wirePort ?? 0, username, password)
    client.close()
    return replies.map(({ type, body }) => `${type} ${body.toString('latin1')}`).join('\n')
  }

  async function hashes(): Promise<number> {
    const { text } = await gate.get('/metrics', { authorization: `Bearer ${boss}` })
    return Number(/^gatehouse_hash_seconds_count (\d+)$/m.exec(text)?.[1])
  }

  /** What an attempt does: the reply, the hashes, and the failures that are counted. */
  async function traces(ask: typeof byToken, username: string, password: string) {
    const { db } = gate.database
    await db.deleteFrom('throttles').execute()
    const before = await hashes()
    const reply = await ask(username, password)
    const counted = await db.selectFrom('throttles').select(['failures', 'until']).execute()
    return { reply, hashes: (await hashes()) - before, counted }
  }

  for (const [way, ask, names] of [
    ['the token endpoint', byToken, Object.keys(REFUSED)],
    ['the wire', byWire, [...Object.keys(REFUSED), ...Object.keys(REFUSED_BY_WIRE)]],
  ] as const)
    test(`at ${way} every refusal leaves the traces of a wrong password`, async () => {
      const wrong = await traces(ask, 'alice', 'wrong password')
      assert.equal(wrong.hashes, 1)
      assert.deepEqual(wrong.counted, new Array(3).fill({ failures: 1, until: 0 }))
      assert.deepEqual(await traces(ask, 'nobody', PASSWORD), wrong)
      for (const name of names) assert.deepEqual(await traces(ask, name, PASSWORD), wrong, name)
    })

  test('the right password of a user with a second factor is delayed after as many attempts as a wrong one', async () => {
    await gate.database.db.deleteFrom('throttles').execute()
    const replies: string[] = []
    for (let count = 0; count < 7; count += 1) replies.push((await byToken('factor', PASSWORD)).slice(0, 3))
    assert.deepEqual(replies, ['400', '400', '400', '400', '400', '400', '429'])
  })
})
