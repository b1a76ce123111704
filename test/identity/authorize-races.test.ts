/** Revocation while an authorization request is being answered: no code or token is issued. */
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { sql } from 'kysely'
import { onEveryEngine } from '../support/engines.ts'
import { ALICE, authorizeUrl, openSignInPlace, readAnswer, type SignInPlace } from '../support/sign-in-place.ts'
import { requirePage, type UserAgent } from '../support/user-agent.ts'
import { reply, visit } from '../support/visitor.ts'

/** A change in the database, the page it leads to, and the error with prompt=none. */
const REVOCATIONS = {
  'a user who is disabled': {
    change: 'update users set disabled = 1',
    undo: 'update users set disabled = 0',
    page: '/sign-in',
    error: 'login_required',
  },
  'a session that ends': {
    change: 'update sessions set ended_at = 1',
    undo: 'update sessions set ended_at = null',
    page: '/sign-in',
    error: 'login_required',
  },
  'consent that is withdrawn': {
    change: 'delete from consents',
    undo: 'delete from consents',
    page: '/consent',
    error: 'consent_required',
  },
} as const

onEveryEngine('revocation during an authorization request', (at, engine) => {
  let place: SignInPlace
  let agent: UserAgent
  let triggers = 0
  before(async () => {
    place = await openSignInPlace(at())
  })
  after(() => place.close())
  beforeEach(async () => {
    agent = place.newAgent()
    readAnswer((await visit(agent, await ask({}), ALICE)).end)
    await run('delete from grants')
  })
  afterEach(async () => {
    await run(engine === 'sqlite' ? `drop trigger change_${triggers}` : `drop function change_${triggers} cascade`)
    for (const { undo } of Object.values(REVOCATIONS)) await run(undo)
  })

  const run = (text: string) => sql.raw(text).execute(place.database.db)
  const ask = (changes: Record<string, string>) => agent.get(authorizeUrl(place.server.issuer, changes))

  /** Applies the change after the user was checked, and before there is a grant to revoke. */
  async function changeWhileGranting(change: string): Promise<void> {
    const name = `change_${++triggers}`
    if (engine === 'sqlite')
      return void (await run(`create trigger ${name} before insert on grants begin ${change}; end`))
    await run(`create function ${name}() returns trigger language plpgsql as $$ begin ${change}; return new; end $$`)
    await run(`create trigger ${name} before insert on grants for each row execute function ${name}()`)
  }

  async function assertNothingGranted(): Promise<void> {
    const grants = await place.database.db.selectFrom('grants').select('revoked_at').execute()
    assert.ok(grants.length > 0 && grants.every(({ revoked_at }) => revoked_at !== null))
  }

  for (const [name, { change, undo, page, error }] of Object.entries(REVOCATIONS)) {
    test(`C-67: ${name}: no code or token is issued, and the browser is sent to the page that is now required`, async () => {
      await changeWhileGranting(change)
      for (const response_type of ['token', 'id_token', 'code', 'code id_token token']) {
        assert.equal(requirePage(await ask({ response_type })).url.pathname, page)
        await run(undo)
        if (page === '/consent') await place.stores.consents.allow(place.aliceId, 'web', ['openid'])
      }
      await assertNothingGranted()
      const silent = readAnswer(await ask({ response_type: 'id_token token', prompt: 'none' }))
      assert.deepEqual([silent.get('error'), silent.has('access_token')], [error, false])
    })

    test(`C-67: ${name}: submitting the consent page issues nothing either`, async () => {
      const asked = requirePage(await ask({ response_type: 'token', prompt: 'consent' }))
      await changeWhileGranting(change)
      assert.equal(requirePage(await reply(agent, asked, 'agree')).url.pathname, page)
      await assertNothingGranted()
    })
  }
})
