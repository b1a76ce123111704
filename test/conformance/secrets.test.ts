/** No secrets in the log, the audit log and the database after every flow has run once. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { openDatabase } from '../../packages/server/src/store/database/database.ts'
import { openPlace, type TestPlace } from '../support/engines.ts'
import { type Gatehouse, ownClients, planDeclaration, startGatehouse } from '../support/providers/gatehouse.ts'
import { person } from '../support/providers/provider.ts'
import { signIn } from '../support/visitor.ts'
import { getCode, getTokens, listPairs, offline, post, refresh, revoke } from './steps.ts'
import { createTrial, readTokens, requestToken, type Trial } from './trial.ts'

describe('stored and logged data', () => {
  let place: TestPlace
  let leave: () => Promise<void>
  let gatehouse: Gatehouse
  /** Everything that must not be found. */
  const secrets = new Map<string, string>()
  let database = ''
  before(async () => {
    ;({ place, leave } = await openPlace('sqlite'))
    gatehouse = await startGatehouse(place, { declaration: planDeclaration('https://127.0.0.1:1/') })
    await everythingOnce(createTrial(gatehouse, 'C', false))
    await gatehouse.stop()
    database = await dump()
  })
  after(() => leave())

  test('C-30, C-119: the log contains no code, token, password, secret or cookie', () => {
    const written = gatehouse.server.log.join('')
    assert.ok(written.includes('/connect/token'), 'nothing was logged')
    for (const [name, secret] of secrets) assert.ok(!written.includes(secret), `${name} is in the log`)
  })

  test('C-33: the database contains only digests: nothing in a dump can be redeemed', () => {
    assert.ok(database.includes(person.username))
    for (const [name, secret] of secrets) assert.ok(!database.includes(secret), `${name} is in the database`)
  })

  test('C-112: passwords are stored as Argon2id hashes', () => {
    assert.match(database, /\$argon2id\$v=19\$m=\d{5,},t=\d+,p=\d+\$/)
  })

  test('C-119: sign-in, consent, issue, reuse, revocation and refusals are audited', () => {
    for (const event of [
      'signin.succeeded',
      'signin.refused',
      'signin.delayed',
      'consent.granted',
      'authorization.granted',
      'token.issued',
      'token.refused',
      'token.reused',
      'token.revoked',
      'client.refused',
      'signout.succeeded',
    ])
      assert.ok(database.includes(`"${event}"`), event)
  })

  async function everythingOnce(trial: Trial): Promise<void> {
    const note = (name: string, secret: string | undefined) => {
      assert.ok(secret, name)
      secrets.set(name, secret)
    }
    note('the password', person.password)
    note('the client secret', trial.client.client_secret)
    const url = new URL(trial.provider.metadata.authorization_endpoint)
    for (const [name, value] of listPairs(trial.request())) url.searchParams.set(name, value)
    const page = await trial.agent.get(url)
    assert.ok(page.kind === 'page')
    note('a wrong password', 'a wrong password of somebody')
    const wrongly = { grant_type: 'password', username: 'willow', password: 'a wrong password of somebody' }
    for (let count = 0; count < 8; count++) await requestToken(trial.provider, ownClients.service, wrongly)
    await signIn(trial.agent, page, { username: person.username, password: 'a wrong password of somebody' })

    const code = await getCode(trial, offline())
    note('the code', code)
    const tokens = await readTokens(await trial.redeem(code))
    note('the access token', tokens.access_token)
    note('the ID token', tokens.id_token)
    note('the refresh token', tokens.refresh_token)
    const next = await readTokens(await refresh(trial, tokens.refresh_token))
    note('the next refresh token', next.refresh_token)
    await trial.redeem(code)
    const other = await getTokens(trial, offline())
    await revoke(trial, other.access_token)
    await revoke(trial, other.refresh_token ?? '')
    const family = await getTokens(trial, offline())
    await readTokens(await refresh(trial, family.refresh_token))
    await trial.provider.elapse(60_000)
    await refresh(trial, family.refresh_token)
    const wrong = 'a-wrong-secret-that-somebody-tried'
    note('a wrong secret', wrong)
    await post(
      trial.provider.metadata.token_endpoint,
      { grant_type: 'client_credentials' },
      {
        ...ownClients.service,
        client_secret: wrong,
      },
    )
    await requestToken(trial.provider, ownClients.service, {
      grant_type: 'password',
      username: person.username,
      password: person.password,
    })
    for (const { name, value, httpOnly } of trial.agent.jar.all()) if (httpOnly) note(`the cookie ${name}`, value)
    const asked = await trial.agent.get(trial.provider.metadata.end_session_endpoint)
    assert.ok(asked.kind === 'page' && asked.forms[0])
    await trial.agent.submit(asked.forms[0])
  }

  /** Every row of every table as JSON. */
  async function dump(): Promise<string> {
    const { db, close } = await openDatabase({ dataFolder: place.dataFolder, url: '' })
    try {
      const tables = await db.introspection.getTables()
      const rows = []
      for (const { name } of tables)
        rows.push(
          name,
          await db
            .selectFrom(name as 'users')
            .selectAll()
            .execute(),
        )
      return JSON.stringify(rows)
    } finally {
      await close()
    }
  }
})
