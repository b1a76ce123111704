/** Rows about sign-in, tabs, sign-out and malicious requests (C-110 to C-120). */
import assert from 'node:assert/strict'
import { otherPerson } from '../support/providers/gatehouse.ts'
import { clientFixtures, POST_LOGOUT, person } from '../support/providers/provider.ts'
import type { Page } from '../support/user-agent.ts'
import { readName, signIn, visit } from '../support/visitor.ts'
import { answer, decodeClaims, getTokens, listPairs, post, type RowTest } from './steps.ts'
import type { Trial, TrialParameters } from './trial.ts'

const { client2 } = clientFixtures('https://127.0.0.1:1/')

export const abuseRows: readonly RowTest[] = [
  {
    id: 'C-110',
    name: 'a wrong password and an unknown user get the same status and the same text',
    ours: true,
    async run(trial) {
      const texts = []
      for (const username of [otherPerson.username, 'nobody-of-that-name']) {
        const browser = trial.fresh()
        const page = await signIn(browser.agent, await start(browser), { username, password: 'not the password' })
        assert.ok(page.kind === 'page')
        assert.equal(readName(page), 'sign-in')
        texts.push([page.status, splitWords(page).replaceAll(username, 'USER')])
      }
      assert.deepEqual(texts[0], texts[1])
    },
  },
  {
    id: 'C-113',
    name: 'a GET without a hint signs nobody out',
    async run(trial) {
      await trial.succeed()
      await trial.agent.get(trial.provider.metadata.end_session_endpoint)
      await trial.succeed({ prompt: 'none' })
    },
  },
  {
    id: 'C-114',
    name: "another user's hint does not sign this one out without confirmation",
    ours: true,
    async run(trial) {
      const { id_token: hint = '' } = await getTokens(trial)
      const other = trial.fresh()
      const page = await signIn(other.agent, await start(other), otherPerson)
      await visit(other.agent, page, otherPerson)
      const url = new URL(trial.provider.metadata.end_session_endpoint)
      url.searchParams.set('id_token_hint', hint)
      url.searchParams.set('post_logout_redirect_uri', POST_LOGOUT)
      const asked = await other.agent.get(url)
      assert.ok(asked.kind === 'page' && readName(asked) === 'question')
      assert.equal((await answer(other, { prompt: 'none' })).parameters.get('error'), undefined)
    },
  },
  {
    id: 'C-117',
    name: 'two sign-ins in two tabs each end at their own client with their own state',
    async run(trial) {
      const second = trial.withClient(client2)
      const [one, two] = [await start(trial, { state: 'tab-1' }), await start(second, { state: 'tab-2' })]
      const first = (await visit(trial.agent, one, person)).end
      const other = (await visit(trial.agent, two, person)).end
      assert.ok(first.kind === 'left' && other.kind === 'left')
      assert.equal(first.url.searchParams.get('state'), 'tab-1')
      assert.equal(other.url.searchParams.get('state'), 'tab-2')
      const code = other.url.searchParams.get('code') ?? ''
      const { error } = (await (await trial.redeem(code)).json()) as { error?: string }
      assert.equal(error, 'invalid_grant', "the tab's code belongs to the other client")
    },
  },
  {
    id: 'C-117',
    name: 'a form of a finished or expired sign-in gets an error page, never tokens',
    ours: true,
    async run(trial) {
      const page = await start(trial)
      await visit(trial.agent, page, person)
      const stale = await signIn(trial.agent, page, person)
      assert.ok(stale.kind === 'page' || stale.url.searchParams.has('code'))
      const other = trial.fresh()
      const waiting = await start(other)
      await trial.provider.elapse(24 * 3600_000)
      const expired = await signIn(other.agent, waiting, person)
      assert.ok(expired.kind === 'page', 'an expired sign-in continued')
      assert.ok(expired.status >= 400 && expired.status < 500, `${expired.status}`)
    },
  },
  {
    id: 'C-118',
    name: 'long URLs, many parameters, Unicode and very long scopes are refused or ignored, never a server error',
    ours: true,
    async run(trial) {
      const address = trial.provider.metadata.authorization_endpoint
      const long = await fetch(`${address}?x=${'y'.repeat(9000)}`, { redirect: 'manual' })
      assert.ok([400, 414].includes(long.status), `${long.status}`)
      const many = Array.from({ length: 500 }, (_, index) => `p${index}=1`).join('&')
      assert.equal((await fetch(`${address}?${many}`, { redirect: 'manual' })).status, 400)
      const scope = `openid ${'scope '.repeat(900)}`
      const got = await answer(trial, { scope, state: '😀' })
      assert.equal(got.parameters.get('state'), '😀')
      const posted = await post(trial.provider.metadata.token_endpoint, { grant_type: 'x'.repeat(60_000) })
      assert.ok([400, 401].includes(posted.status), `${posted.status}`)
    },
  },
  {
    id: 'C-120',
    name: 'the issuer is the same string in discovery, in the response and in the ID token',
    async run(trial) {
      const { issuer, metadata } = trial.provider
      const { parameters } = await answer(trial)
      const { id_token: idToken } = await getTokens(trial)
      assert.deepEqual([metadata.issuer, parameters.get('iss'), decodeClaims(idToken).iss], [issuer, issuer, issuer])
    },
  },
]

async function start(trial: Trial, changes: TrialParameters = {}): Promise<Page> {
  const url = new URL(trial.provider.metadata.authorization_endpoint)
  for (const [name, value] of listPairs(trial.request(changes))) url.searchParams.set(name, value)
  const page = await trial.agent.get(url)
  assert.ok(page.kind === 'page')
  return page
}

function splitWords({ body }: Page): string {
  return body
    .replace(/<head>[\s\S]*<\/head>|value="[^"]*"|<input type="hidden"[^>]*>|data-\w+="[^"]*"/g, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
}
