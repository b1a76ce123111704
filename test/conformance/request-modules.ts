/** Core modules about the parameters of the request: scopes, claims, prompts, hints, locales. */
import assert from 'node:assert/strict'
import { PROFILE_CLAIMS } from '../support/providers/provider.ts'
import { ALL, type Module } from './module.ts'
import type { Outcome, Trial, TrialParameters } from './trial.ts'
import { randomText } from './trial.ts'

const UI_ERRORS = ['login_required', 'interaction_required', 'account_selection_required', 'consent_required']

export const requestModules: readonly Module[] = [
  { id: 'oidcc-scope-profile', types: ALL, run: (trial) => askClaims(trial, 'openid profile', PROFILE_CLAIMS) },
  { id: 'oidcc-scope-email', types: ALL, run: (trial) => askEmail(trial, 'openid email') },
  {
    id: 'oidcc-alternate-happy-flow',
    types: ['C', 'I', 'IT', 'CI'],
    run: (trial) => askEmail(trial, 'email openid', reordered(trial)),
  },
  { id: 'oidcc-display-page', types: ALL, run: accepts(() => ({ display: 'page' })) },
  { id: 'oidcc-display-popup', types: ALL, run: accepts(() => ({ display: 'popup' })) },
  {
    id: 'oidcc-prompt-login',
    types: ALL,
    async run(trial) {
      const first = await trial.succeed()
      await trial.provider.elapse(1000)
      const second = await trial.succeed({ prompt: 'login' })
      assert.ok(second.seen.includes('sign-in'), 'no second sign-in was requested')
      const [before, after] = [authTime(first), authTime(second)]
      if (before !== undefined && after !== undefined) assert.ok(after > before, 'auth_time is not later')
    },
  },
  {
    id: 'oidcc-prompt-none-not-logged-in',
    types: ALL,
    async run(trial) {
      const { seen } = await trial.fail(UI_ERRORS, { prompt: 'none', state: `${randomText(124)}-._~` })
      assert.deepEqual(seen, [], 'a page was shown')
    },
  },
  {
    id: 'oidcc-prompt-none-logged-in',
    types: ALL,
    run: (trial) => again(trial, {}, { prompt: 'none' }),
  },
  {
    id: 'oidcc-max-age-1',
    types: ALL,
    async run(trial) {
      const first = await trial.succeed({ max_age: '15000' })
      await trial.provider.elapse(2000)
      const second = await trial.succeed({ max_age: '1' })
      assert.ok(second.seen.includes('sign-in'), 'no second sign-in was requested')
      const [before, after] = [authTime(first), authTime(second)]
      assert.ok(before !== undefined && after !== undefined && after > before, `auth_time ${before}, then ${after}`)
      assert.ok(Math.abs(after - trial.provider.now() / 1000) < 60, 'auth_time is not recent')
    },
  },
  {
    id: 'oidcc-max-age-10000',
    types: ALL,
    async run(trial) {
      const { before, after } = await again(trial, { max_age: '15000' }, { max_age: '10000' })
      assert.ok(before !== undefined && after !== undefined, 'auth_time is missing')
    },
  },
  {
    id: 'oidcc-id-token-hint',
    types: ALL,
    run: (trial) => again(trial, {}, (first) => ({ prompt: 'none', id_token_hint: first.idTokens.at(-1)?.raw })),
  },
  {
    id: 'oidcc-login-hint',
    types: ALL,
    run: accepts(({ provider }) => ({ login_hint: `buffy@${new URL(provider.issuer).hostname}` })),
  },
  { id: 'oidcc-ui-locales', types: ALL, run: accepts(() => ({ ui_locales: 'se' })) },
  { id: 'oidcc-claims-locales', types: ALL, run: accepts(() => ({ claims_locales: 'se' })) },
  {
    id: 'oidcc-ensure-request-with-acr-values-succeeds',
    types: ALL,
    async run(trial) {
      const offered = trial.provider.metadata.acr_values_supported
      const asked = Array.isArray(offered) ? offered.map(String) : ['1', '2']
      const { idTokens } = await trial.succeed({ acr_values: asked.join(' ') })
      for (const { claims } of idTokens)
        if (Array.isArray(offered) && claims.acr !== undefined) assert.ok(asked.includes(String(claims.acr)))
    },
  },
  {
    id: 'oidcc-claims-essential',
    types: ALL,
    async run(trial) {
      const place = trial.type === 'I' ? 'id_token' : 'userinfo'
      const { idTokens, userinfo } = await trial.succeed({
        claims: JSON.stringify({ [place]: { name: { essential: true } } }),
      })
      const found = trial.type === 'I' ? idTokens[0]?.claims.name : userinfo?.name
      assert.equal(typeof found, 'string', 'name is missing')
      if (trial.type !== 'I') for (const { claims } of idTokens) assert.equal(claims.name, undefined)
    },
  },
]

/** A parameter that must not make the request fail. */
function accepts(changes: (trial: Trial) => TrialParameters): Module['run'] {
  return (trial) => trial.succeed(changes(trial))
}

async function askClaims(
  trial: Trial,
  scope: string,
  names: readonly string[],
  changes: TrialParameters = {},
): Promise<Outcome> {
  const outcome = await trial.succeed({ ...changes, scope })
  const claims = trial.type === 'I' ? outcome.idTokens[0]?.claims : outcome.userinfo
  for (const name of names) assert.ok(claims?.[name] !== undefined, `${name} is missing`)
  if (trial.type !== 'I')
    for (const idToken of outcome.idTokens)
      for (const name of names) assert.equal(idToken.claims[name], undefined, `${name} in the ID token`)
  return outcome
}

async function askEmail(trial: Trial, scope: string, changes: TrialParameters = {}): Promise<void> {
  const { idTokens, userinfo } = await askClaims(trial, scope, ['email', 'email_verified'], changes)
  for (const claims of [userinfo, ...idTokens.map((token) => token.claims)]) assert.equal(claims?.name, undefined)
}

/** The same parameters in reverse order. */
function reordered(trial: Trial): TrialParameters {
  return Object.fromEntries(Object.entries(trial.request()).reverse())
}

/** Two requests in one session: the second shows no page, and has the same user and sign-in. */
async function again(
  trial: Trial,
  first: TrialParameters,
  second: TrialParameters | ((first: Outcome) => TrialParameters),
): Promise<{ before: number | undefined; after: number | undefined }> {
  const one = await trial.succeed(first)
  await trial.provider.elapse(1000)
  const two = await trial.succeed(typeof second === 'function' ? second(one) : second)
  assert.deepEqual(two.seen, [], 'a page was shown')
  assert.equal(two.idTokens[0]?.claims.sub, one.idTokens[0]?.claims.sub)
  const [before, after] = [authTime(one), authTime(two)]
  if (before !== undefined && after !== undefined) assert.equal(after, before, 'auth_time changed')
  return { before, after }
}

function authTime({ idTokens }: Outcome): number | undefined {
  const value = idTokens.at(-1)?.claims.auth_time
  return value === undefined ? undefined : Number(value)
}
