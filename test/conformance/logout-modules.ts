/** The modules of RP-initiated, front-channel and back-channel logout. */
import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import { readAttributes } from '../support/html-form.ts'
import { checkJwt } from '../support/id-token.ts'
import { clientFixtures, FRONTCHANNEL_LOGOUT, POST_LOGOUT, person } from '../support/providers/provider.ts'
import type { RelyingParty } from '../support/relying-party.ts'
import type { Departure, Page } from '../support/user-agent.ts'
import { visit } from '../support/visitor.ts'
import type { Outcome, Trial, TrialParameters } from './trial.ts'

export interface LogoutModule {
  readonly id: string
  readonly run: (trial: Trial, relyingParty: RelyingParty) => Promise<unknown>
}

const UI_ERRORS = ['login_required', 'interaction_required', 'account_selection_required', 'consent_required']
const BACKCHANNEL_EVENT = 'http://schemas.openid.net/event/backchannel-logout'

/** Letters and punctuation, which must be preserved by percent-encoding. */
const AWKWARD_STATE = `${randomBytes(20).toString('hex')}!"#$%&'()*+,-./:;<=>?@[]^_{|}~ ${randomBytes(8).toString('hex')}`

export const logoutModules: readonly LogoutModule[] = [
  {
    id: 'oidcc-rp-initiated-logout',
    async run(trial) {
      const { hint } = await signedIn(trial)
      const parameters = { id_token_hint: hint, post_logout_redirect_uri: POST_LOGOUT, state: AWKWARD_STATE }
      assertReturned(await logOut(trial, parameters), AWKWARD_STATE)
      await assertSignedOut(trial)
    },
  },
  {
    id: 'oidcc-rp-initiated-logout-no-state',
    async run(trial) {
      const { hint } = await signedIn(trial)
      assertReturned(await logOut(trial, { id_token_hint: hint, post_logout_redirect_uri: POST_LOGOUT }), undefined)
      await assertSignedOut(trial)
    },
  },
  {
    id: 'oidcc-rp-initiated-logout-no-post-logout-redirect-uri',
    async run(trial) {
      const { hint } = await signedIn(trial)
      assertPage(await logOut(trial, { id_token_hint: hint, state: AWKWARD_STATE }), 200)
      await assertSignedOut(trial)
    },
  },
  {
    id: 'oidcc-rp-initiated-logout-no-params',
    async run(trial) {
      await signedIn(trial)
      assertPage(await logOut(trial, {}), 200)
      await assertSignedOut(trial)
    },
  },
  {
    id: 'oidcc-rp-initiated-logout-only-state',
    async run(trial) {
      await signedIn(trial)
      assertPage(await logOut(trial, { state: AWKWARD_STATE }), 200)
      await assertSignedOut(trial)
    },
  },
  {
    id: 'oidcc-rp-initiated-logout-no-id-token-hint',
    run: (trial) => neverReturns(trial, () => ({ post_logout_redirect_uri: POST_LOGOUT, state: AWKWARD_STATE })),
  },
  {
    id: 'oidcc-rp-initiated-logout-bad-post-logout-redirect-uri',
    run: (trial) =>
      neverReturns(trial, ({ hint }) => ({
        id_token_hint: hint,
        post_logout_redirect_uri: `${POST_LOGOUT}/${randomBytes(5).toString('hex')}`,
        state: AWKWARD_STATE,
      })),
  },
  {
    id: 'oidcc-rp-initiated-logout-query-added-to-post-logout-redirect-uri',
    run: (trial) =>
      neverReturns(trial, ({ hint }) => ({
        id_token_hint: hint,
        post_logout_redirect_uri: `${POST_LOGOUT}?foo=bar`,
        state: AWKWARD_STATE,
      })),
  },
  {
    id: 'oidcc-rp-initiated-logout-modified-id-token-hint',
    run: (trial) =>
      neverReturns(trial, ({ hint }) => ({
        id_token_hint: `${encode({ alg: 'none' })}.${hint.split('.')[1]}.`,
        post_logout_redirect_uri: POST_LOGOUT,
        state: AWKWARD_STATE,
      })),
  },
  {
    id: 'oidcc-rp-initiated-logout-bad-id-token-hint',
    run: (trial) =>
      neverReturns(trial, () => ({
        id_token_hint: selfMadeHint(trial),
        post_logout_redirect_uri: POST_LOGOUT,
        state: AWKWARD_STATE,
      })),
  },
  {
    id: 'oidcc-frontchannel-rp-initiated-logout',
    async run(start) {
      const trial = start.withClient(clientFixtures('').frontchannel)
      const { hint, outcome } = await signedIn(trial)
      const end = await logOut(trial, {
        id_token_hint: hint,
        post_logout_redirect_uri: POST_LOGOUT,
        state: AWKWARD_STATE,
      })
      assert.ok(end.kind === 'page', 'no page with the iframe')
      const frames = findFrames(end).filter((frame) => frame.href.startsWith(FRONTCHANNEL_LOGOUT))
      assert.equal(frames.length, 1, end.body)
      assert.deepEqual(Object.fromEntries(frames[0]?.searchParams ?? []), {
        iss: trial.provider.issuer,
        sid: outcome.idTokens[0]?.claims.sid,
      })
      assertOnward(end, AWKWARD_STATE)
      await assertSignedOut(trial)
    },
  },
  {
    id: 'oidcc-backchannel-rp-initiated-logout',
    async run(start, relyingParty) {
      const trial = start.withClient(clientFixtures(`${relyingParty.origin}/backchannel_logout`).backchannel)
      relyingParty.forget()
      const { hint, outcome } = await signedIn(trial)
      const end = await logOut(trial, {
        id_token_hint: hint,
        post_logout_redirect_uri: POST_LOGOUT,
        state: AWKWARD_STATE,
      })
      assertReturned(end, AWKWARD_STATE)
      const { method, headers, form } = await relyingParty.arrival('/backchannel_logout')
      assert.equal(method, 'POST')
      assert.match(headers['content-type'] ?? '', /^application\/x-www-form-urlencoded/)
      assert.deepEqual([...form.keys()], ['logout_token'])
      const { claims } = await checkJwt(form.get('logout_token') ?? '', trial.provider.metadata.jwks_uri)
      const idToken = outcome.idTokens[0]?.claims
      assert.equal(claims.iss, trial.provider.issuer)
      assert.deepEqual([claims.aud].flat(), [trial.client.client_id])
      assert.ok(Math.abs(Number(claims.iat) - trial.provider.now() / 1000) < 300, `iat ${claims.iat}`)
      assert.equal(typeof claims.jti, 'string')
      assert.deepEqual(claims.events, { [BACKCHANNEL_EVENT]: {} })
      assert.equal(claims.nonce, undefined)
      assert.equal(claims.sid, idToken?.sid)
      assert.ok(claims.sub === undefined || claims.sub === idToken?.sub)
      await assertSignedOut(trial)
    },
  },
]

async function signedIn(trial: Trial): Promise<{ outcome: Outcome; hint: string }> {
  const outcome = await trial.succeed()
  return { outcome, hint: outcome.idTokens.at(-1)?.raw ?? '' }
}

/** Opens the end-session endpoint and confirms if asked. */
async function logOut({ agent, provider }: Trial, parameters: TrialParameters): Promise<Page | Departure> {
  const url = new URL(provider.metadata.end_session_endpoint)
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) url.searchParams.set(name, value)
  return (await visit(agent, await agent.get(url), person)).end
}

async function neverReturns(trial: Trial, parameters: (session: { hint: string }) => TrialParameters): Promise<void> {
  const end = await logOut(trial, parameters(await signedIn(trial)))
  assert.equal(end.kind, 'page', 'the browser was redirected to the relying party')
  assert.ok(end.kind === 'page' && end.status < 500)
  assert.doesNotMatch(end.body, /http-equiv="refresh"/i)
}

function assertReturned(end: Page | Departure, state: string | undefined): void {
  if (end.kind === 'page') assertOnward(end, state)
  else assertPostLogout(end.url, state)
}

/** A page that continues automatically after it has waited for the iframes. */
function assertOnward(page: Page, state: string | undefined): void {
  const [, attributes = ''] = /<meta\b([^>]*http-equiv="refresh"[^>]*)>/i.exec(page.body) ?? []
  const target = /url=(.*)$/i.exec(readAttributes(attributes).content ?? '')?.[1]
  assert.ok(target, `the page does not continue: ${page.status} ${page.body}`)
  assertPostLogout(new URL(target.replace(/^'|'$/g, '')), state)
}

function assertPostLogout(url: URL, state: string | undefined): void {
  assert.equal(url.origin + url.pathname, POST_LOGOUT)
  assert.deepEqual([...url.searchParams], state === undefined ? [] : [['state', state]])
  assert.equal(url.hash, '')
}

function assertPage(end: Page | Departure, status: number): void {
  assert.ok(end.kind === 'page', 'the browser was redirected')
  assert.equal(end.status, status, end.body)
  assert.doesNotMatch(end.body, /http-equiv="refresh"/i)
}

async function assertSignedOut(trial: Trial): Promise<void> {
  await trial.fail(UI_ERRORS, { prompt: 'none' })
}

function findFrames(page: Page): URL[] {
  return [...page.body.matchAll(/<iframe\b([^>]*)>/gi)].map(
    ([, attributes = '']) => new URL(readAttributes(attributes).src ?? '', page.url),
  )
}

/** A hint forged by the relying party: issuer and audience swapped, signed with the client's secret. */
function selfMadeHint({ provider, client }: Trial): string {
  const now = Math.floor(provider.now() / 1000)
  const claims = { iss: client.client_id, aud: provider.issuer, sub: 'SubjectID', iat: now, exp: now + 300 }
  const content = `${encode({ alg: 'HS256' })}.${encode(claims)}`
  return `${content}.${createHmac('sha256', client.client_secret ?? '')
    .update(content)
    .digest('base64url')}`
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
