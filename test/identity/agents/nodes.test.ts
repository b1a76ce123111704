/** Agents on two nodes with one PostgreSQL: what one allows, asks or ends, the other knows. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ask, connect, decide, redeem, refresh } from '../../support/agents.ts'
import { openPlace } from '../../support/engines.ts'
import { type DocumentServer, serveDocuments } from '../../support/foreign-issuer.ts'
import { stopOwnPostgres } from '../../support/postgres.ts'
import { startTestServer, type TestServer } from '../../support/server.ts'
import { ALICE, openSignInPlace, readAnswer, type SignInPlace } from '../../support/sign-in-place.ts'
import { until } from '../../support/until.ts'
import { createUserAgent, requirePage, type UserAgent } from '../../support/user-agent.ts'

const FLAGS = { '--mcp': 'true', '--client-jwks-private': 'true' }
let opened: Awaited<ReturnType<typeof openPlace>>
let place: SignInPlace
let other: TestServer
let agents: DocumentServer
let client: string
let host: string

before(async () => {
  agents = await serveDocuments()
  host = new URL(agents.origin).host
  client = `${agents.origin}/agent.json`
  const redirects = ['http://localhost/callback']
  agents.documents.set('/agent.json', { client_id: client, client_name: 'Agent', redirect_uris: redirects })
  opened = await openPlace('postgres')
  place = await openSignInPlace(opened.place, { flags: FLAGS })
  const flags = { ...FLAGS, '--issuer': place.server.issuer, '--services': 'identity' }
  other = await startTestServer(opened.place, { flags, clock: place.clock })
})
after(async () => {
  await other?.stop()
  await place?.close()
  await agents?.close()
  await opened?.leave()
  await stopOwnPostgres()
})

const allow = async (isAllowed: boolean) => {
  const definitions = place.stores.definitions<{ allow: string }>({ table: 'agents', key: 'allow' })
  if (isAllowed) await definitions.put({ allow: host })
  else await definitions.remove(host)
  await place.stores.events.append({ kind: 'agents-changed' })
}
const at = (port: number) => `http://localhost:${port}`
const browser = (port: number, same?: UserAgent): UserAgent =>
  createUserAgent({ home: at(port), now: place.clock, ...(same && { jar: same.jar }) })
const connecting = (port: number) => ({ issuer: at(port), client, redirectUri: 'http://localhost:50123/callback' })
const resource = () => ({ changes: { resource: `${place.server.issuer}/mcp` } })

test('an entry counts on both within a second, and a sign-in begun on one is answered on the other', async () => {
  const [here, there] = [place.server.port, other.port]
  const status = async () =>
    requirePage((await ask(browser(there), { ...connecting(there), ...resource() }, ALICE)).page).status
  assert.equal(await status(), 403)
  await allow(true)
  await until('the other node knows', 1000, async () => (await status()) === 200)
  const tokens = await connect(place.newAgent(), { ...connecting(here), ...resource() }, ALICE)
  const again = await refresh(at(there), tokens.refresh_token, client)
  assert.equal(again.status, 200)
  await allow(false)
  await until('the other node refuses', 1000, async () => {
    const { body } = await refresh(at(there), String(again.body.refresh_token), client)
    return body.error === 'invalid_client'
  })
  await allow(true)
})

test('the document that a request was made with goes along to the other node, which does not fetch it', async () => {
  await until(
    'both allow it',
    1000,
    async () =>
      requirePage((await ask(browser(other.port), { ...connecting(other.port), ...resource() }, ALICE)).page).status ===
      200,
  )
  const agent = place.newAgent()
  const { page, verifier } = await ask(agent, { ...connecting(place.server.port), ...resource() }, ALICE)
  const form = requirePage(page).forms.find(({ id }) => id === 'consent')
  assert.ok(form)
  agents.fetched.length = 0
  agents.documents.clear()
  const action = new URL(form.action)
  action.port = String(other.port)
  const moved = { ...requirePage(page), forms: [{ ...form, action }] }
  const answer = readAnswer(await decide(browser(other.port, agent), moved))
  const tokens = await redeem({ ...connecting(other.port), issuer: at(other.port) }, answer.get('code') ?? '', verifier)
  assert.equal(tokens.scope, 'Platform/Market')
  assert.deepEqual(agents.fetched, [])
})
