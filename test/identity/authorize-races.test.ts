/** Who is cut off, or takes consent back, while an authorization request is being answered: nothing leaves; on every engine. */
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { sql } from 'kysely'
import { onEveryEngine } from '../support/engines.ts'
import { ALICE, answerOf, authorizeUrl, openSignInPlace, type SignInPlace } from '../support/sign-in-place.ts'
import { pageOf, type UserAgent } from '../support/user-agent.ts'
import { reply, visit } from '../support/visitor.ts'

/** What happens in the database, where the person is then led, and what a silent request is told. */
const CUTS = {
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

onEveryEngine('cut off while being answered', (at, engine) => {
  let place: SignInPlace
  let agent: UserAgent
  let cuts = 0
  before(async () => {
    place = await openSignInPlace(at())
  })
  after(() => place.close())
  beforeEach(async () => {
    agent = place.newAgent()
    answerOf((await visit(agent, await ask({}), ALICE)).end)
    await run('delete from grants')
  })
  afterEach(async () => {
    await run(engine === 'sqlite' ? `drop trigger cut_${cuts}` : `drop function cut_${cuts} cascade`)
    for (const { undo } of Object.values(CUTS)) await run(undo)
  })

  const run = (text: string) => sql.raw(text).execute(place.database.db)
  const ask = (changes: Record<string, string>) => agent.get(authorizeUrl(place.server.issuer, changes))

  /** After the last look at the person, and before there is a grant that a cut could revoke. */
  async function onceGranting(change: string): Promise<void> {
    const name = `cut_${++cuts}`
    if (engine === 'sqlite')
      return void (await run(`create trigger ${name} before insert on grants begin ${change}; end`))
    await run(`create function ${name}() returns trigger language plpgsql as $$ begin ${change}; return new; end $$`)
    await run(`create trigger ${name} before insert on grants for each row execute function ${name}()`)
  }

  async function assertNothingGranted(): Promise<void> {
    const grants = await place.database.db.selectFrom('grants').select('revoked_at').execute()
    assert.ok(grants.length > 0 && grants.every(({ revoked_at }) => revoked_at !== null))
  }

  for (const [name, { change, undo, page, error }] of Object.entries(CUTS)) {
    test(`C-67: ${name} gets neither token nor code, and is led to where the request stands`, async () => {
      await onceGranting(change)
      for (const response_type of ['token', 'id_token', 'code', 'code id_token token']) {
        assert.equal(pageOf(await ask({ response_type })).url.pathname, page)
        await run(undo)
        if (page === '/consent') await place.stores.consents.allow(place.aliceId, 'web', ['openid'])
      }
      await assertNothingGranted()
      const silent = answerOf(await ask({ response_type: 'id_token token', prompt: 'none' }))
      assert.deepEqual([silent.get('error'), silent.has('access_token')], [error, false])
    })

    test(`C-67: ${name} gets nothing for the answer to the consent page either`, async () => {
      const asked = pageOf(await ask({ response_type: 'token', prompt: 'consent' }))
      await onceGranting(change)
      assert.equal(pageOf(await reply(agent, asked, 'agree')).url.pathname, page)
      await assertNothingGranted()
    })
  }
})
