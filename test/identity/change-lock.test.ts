/** On PostgreSQL, a profile that its owner saves and a sign-in at a provider wait for a change of the same user, and undo none of it. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { CHANGE_LOCK } from '../../packages/server/src/store/database/transaction.ts'
import { openPlace } from '../support/engines.ts'
import { stopOwnPostgres } from '../support/postgres.ts'
import { openProviderPlace, type ProviderPlace } from '../support/providers/provider-place.ts'
import { type StubProvider, startStubProvider } from '../support/providers/stub-provider.ts'
import { ALICE } from '../support/sign-in-place.ts'
import { until } from '../support/until.ts'
import { requirePage } from '../support/user-agent.ts'
import { signIn } from '../support/visitor.ts'

let place: ProviderPlace
let stub: StubProvider
let other: pg.Client
let leave: () => Promise<void>
before(async () => {
  const opened = await openPlace('postgres', { isMigrated: true })
  leave = opened.leave
  place = await openProviderPlace(opened.place)
  stub = await startStubProvider()
  stub.clock = place.clock
  other = new pg.Client({ connectionString: opened.place.databaseUrl })
  await other.connect()
})
after(async () => {
  await other.end()
  await place.close()
  await stub.stop()
  await leave()
  await stopOwnPostgres()
})

/** Starts `late` while another node changes users, and ends that change once it waits. */
async function during<Result>(change: () => Promise<unknown>, late: () => Promise<Result>): Promise<Result> {
  await other.query(`select pg_advisory_lock(${CHANGE_LOCK})`)
  try {
    const result = late()
    await until('it waits', 20_000, async () => {
      const { rows } = await other.query(`select 1 from pg_locks where locktype = 'advisory' and not granted`)
      return rows.length > 0
    })
    await change()
    await other.query(`select pg_advisory_unlock(${CHANGE_LOCK})`)
    return await result
  } finally {
    await other.query('select pg_advisory_unlock_all()')
  }
}

test('an address that a directory has replaced is not verified when its owner saves the profile with it', async () => {
  const { users } = place.stores
  await users.update(place.aliceId, { profile: { email: 'old@example.com', email_verified: true } })
  const agent = place.newAgent()
  const account = requirePage(await signIn(agent, requirePage(await agent.get('/account')), ALICE))
  const form = account.forms.find(({ action }) => action.pathname === '/account/profile') ?? assert.fail(account.body)
  await during(
    () => users.update(place.aliceId, { profile: { email: 'new@example.com', email_verified: true } }),
    () => agent.submit(form, { nickname: 'Al' }),
  )
  const saved = await users.findById(place.aliceId)
  assert.deepEqual(saved?.profile, { nickname: 'Al', email: 'old@example.com', email_verified: false })
})

test('a role that a directory gives during a sign-in at a provider stays', async () => {
  const { roles, users } = place.stores
  await roles.put({ name: 'trader', scopes: [] })
  await place.declare(stub, {
    provision: 'create',
    require: { groups: ['gatehouse'] },
    rules: [{ claim: 'groups', value: 'gatehouse', role: 'trader' }],
  })
  stub.person = { sub: 'carol', preferred_username: 'carol', groups: ['gatehouse'] }
  await place.signIn(place.newAgent(), stub)
  const { id } = (await users.findByUsername('carol')) ?? assert.fail('there is no carol')
  await during(
    () => users.setRoles(id, ['trader'], 'scim:directory'),
    () => place.signIn(place.newAgent(), stub),
  )
  const carol = await users.findById(id)
  assert.deepEqual(carol?.roleSources.get('trader')?.toSorted(), ['provider:corp', 'scim:directory'])
})
