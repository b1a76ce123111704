/** The next step of an authorization request: the whole decision as one table. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AttributeClaims } from '../../packages/server/src/identity/attributes/attribute-claims.ts'
import { nextStep, type Situation } from '../../packages/server/src/identity/authorize/next-step.ts'
import type { AuthorizationRequest } from '../../packages/server/src/identity/authorize/request.ts'
import type { User } from '../../packages/server/src/store/accounts/user.ts'
import type { Session } from '../../packages/server/src/store/authorizations/sessions.ts'
import { type ClientMetadata, toClient } from '../../packages/server/src/store/clients/client-metadata.ts'

const NOW = 1_700_000_000_000
const SCOPES = ['openid', 'email']

const REQUEST: AuthorizationRequest = {
  clientId: 'c',
  target: { redirectUri: 'https://c.example/cb', mode: 'query', state: undefined },
  responseType: 'code',
  askedScopes: SCOPES,
  scopes: SCOPES,
  nonce: undefined,
  challenge: undefined,
  prompt: [],
  maxAge: undefined,
  claims: undefined,
  subjects: undefined,
  loginHint: undefined,
  uiLocales: undefined,
}
const SESSION: Session = {
  id: 's1',
  userId: 'usr_a',
  authTime: NOW - 60_000,
  amr: ['pwd'],
  browserState: 'b',
  userAgent: '',
  address: '',
  createdAt: 0,
  seenAt: 0,
  expiresAt: 0,
  boundedUntil: undefined,
}
const USER: User = {
  id: 'usr_a',
  username: 'a',
  passwordHash: undefined,
  passwordChangedAt: 0,
  declaredDigest: undefined,
  profile: {},
  roles: [],
  roleSources: new Map(),
  attributes: {},
  breakGlass: false,
  rights: new Set(['Platform/Market']),
  requiresSecondFactor: false,
  hasSecondFactor: false,
  disabled: false,
  mustChangePassword: false,
  createdAt: 0,
  updatedAt: 0,
}
const ALLOWED = { clientId: 'c', scopes: SCOPES, createdAt: 0, updatedAt: 0 }

interface Case {
  readonly name: string
  readonly request?: Partial<AuthorizationRequest>
  readonly client?: Partial<ClientMetadata>
  readonly user?: Partial<User>
  readonly session?: Partial<Session>
  readonly change?: Partial<Situation>
  /** The step, and the error with prompt=none. */
  readonly step: string
  readonly silent: string
}

const acr = (...values: string[]) => ({ id_token: { acr: { essential: true, values } } })

const CASES: readonly Case[] = [
  { name: 'everything is there', step: 'respond', silent: 'respond' },
  { name: 'no session', change: { session: undefined, user: undefined }, step: 'sign-in', silent: 'login_required' },
  {
    name: 'a session whose user is disabled or deleted',
    change: { user: undefined },
    step: 'sign-in',
    silent: 'login_required',
  },
  {
    name: 'a password that must be changed',
    user: { mustChangePassword: true },
    step: 'change-password',
    silent: 'interaction_required',
  },
  { name: 'max_age passed', request: { maxAge: 59 }, step: 'sign-in', silent: 'login_required' },
  { name: 'max_age reached to the second', request: { maxAge: 60 }, step: 'respond', silent: 'respond' },
  { name: 'max_age=0', request: { maxAge: 0 }, session: { authTime: NOW }, step: 'sign-in', silent: 'login_required' },
  {
    name: 'max_age=0, signed in for this request',
    request: { maxAge: 0 },
    change: { progress: { signedIn: 's1' } },
    step: 'respond',
    silent: 'respond',
  },
  { name: 'another subject', request: { subjects: ['usr_b', 'usr_c'] }, step: 'sign-in', silent: 'login_required' },
  {
    name: 'another subject, even after signing in',
    request: { subjects: ['usr_b', 'usr_c'] },
    change: { progress: { signedIn: 's1' } },
    step: 'login_required',
    silent: 'login_required',
  },
  { name: 'this subject', request: { subjects: ['usr_b', 'usr_a'] }, step: 'respond', silent: 'respond' },
  { name: 'no consent', change: { consent: undefined }, step: 'consent', silent: 'consent_required' },
  {
    name: 'consent for fewer scopes',
    change: { consent: { ...ALLOWED, scopes: ['openid'] } },
    step: 'consent',
    silent: 'consent_required',
  },
  {
    name: 'a requested claim without consent to its scope',
    request: { claims: { userinfo: { phone_number: null } } },
    step: 'consent',
    silent: 'consent_required',
  },
  {
    name: 'a requested claim with consent to its scope',
    request: { claims: { id_token: { email: { essential: true } } } },
    step: 'respond',
    silent: 'respond',
  },
  {
    name: 'consent given just now by this user, and withdrawn at once',
    change: { consent: undefined, progress: { consented: 'usr_a' } },
    step: 'consent',
    silent: 'consent_required',
  },
  {
    name: 'consent given just now by another user',
    change: { consent: undefined, progress: { consented: 'usr_b' } },
    step: 'consent',
    silent: 'consent_required',
  },
  {
    name: 'a first-party client',
    client: { skip_consent: true },
    change: { consent: undefined },
    step: 'respond',
    silent: 'respond',
  },
  {
    name: 'a right that the user lacks is not issued, so it needs no consent',
    request: { scopes: [...SCOPES, 'Platform/Admin'] },
    step: 'respond',
    silent: 'respond',
  },
  {
    name: 'C-31: a native application, consent stored',
    request: { target: { redirectUri: 'http://127.0.0.1:5/cb', mode: 'query', state: undefined } },
    client: { token_endpoint_auth_method: 'none', application_type: 'native' },
    step: 'consent',
    silent: 'consent_required',
  },
  {
    name: 'C-31: a native application, consent given just now',
    request: { target: { redirectUri: 'http://127.0.0.1:5/cb', mode: 'query', state: undefined } },
    client: { token_endpoint_auth_method: 'none', application_type: 'native' },
    change: { progress: { consented: 'usr_a' } },
    step: 'respond',
    silent: 'respond',
  },
  {
    name: 'C-31: a native application that the administrator spares the consent',
    request: { target: { redirectUri: 'http://127.0.0.1:5/cb', mode: 'query', state: undefined } },
    client: { token_endpoint_auth_method: 'none', application_type: 'native', skip_consent: true },
    change: { consent: undefined },
    step: 'respond',
    silent: 'respond',
  },
  {
    name: 'C-31: a public client with an https redirect URI',
    client: { token_endpoint_auth_method: 'none' },
    step: 'respond',
    silent: 'respond',
  },
  {
    name: 'the client requires a second factor, which the user has',
    client: { require_second_factor: true },
    user: { hasSecondFactor: true },
    step: 'second-factor',
    silent: 'interaction_required',
  },
  {
    name: 'the client requires a second factor, which the user lacks',
    client: { require_second_factor: true },
    step: 'set-up-factor',
    silent: 'interaction_required',
  },
  {
    name: 'a role requires a second factor',
    user: { requiresSecondFactor: true, hasSecondFactor: true },
    step: 'second-factor',
    silent: 'interaction_required',
  },
  {
    name: 'the second factor was used',
    client: { require_second_factor: true },
    session: { amr: ['pwd', 'otp', 'mfa'] },
    step: 'respond',
    silent: 'respond',
  },
  {
    name: 'essential acr 2, user with a second factor',
    request: { claims: acr('2') },
    user: { hasSecondFactor: true },
    step: 'second-factor',
    silent: 'interaction_required',
  },
  {
    name: 'essential acr 2, user without a second factor',
    request: { claims: acr('2') },
    step: 'unmet_authentication_requirements',
    silent: 'unmet_authentication_requirements',
  },
  { name: 'essential acr 1 or 2', request: { claims: acr('1', '2') }, step: 'respond', silent: 'respond' },
  {
    name: 'essential acr 1, session with acr 2',
    request: { claims: acr('1') },
    session: { amr: ['pop', 'user', 'mfa'] },
    step: 'unmet_authentication_requirements',
    silent: 'unmet_authentication_requirements',
  },
]

for (const { name, request, client, user, session, change, step, silent } of CASES) {
  test(`${name}: ${step}`, () => {
    const situation = (prompt: AuthorizationRequest['prompt']): Situation => ({
      request: { ...REQUEST, prompt, ...request },
      client: toClient({ client_id: 'c', redirect_uris: [], ...client }, []),
      session: { ...SESSION, ...session },
      user: { ...USER, ...user },
      progress: {},
      consent: ALLOWED,
      attributes: new AttributeClaims(),
      isOfAgents: false,
      now: NOW,
      ...change,
    })
    assert.equal(describeStep(situation([])), step)
    assert.equal(describeStep(situation(['none'])), silent)
  })
}

test('prompts: login, consent and select_account each ask once', () => {
  const at = (prompt: AuthorizationRequest['prompt'], progress: Situation['progress']) =>
    describeStep({
      request: { ...REQUEST, prompt },
      client: toClient({ client_id: 'c', skip_consent: true }, []),
      session: SESSION,
      user: USER,
      progress,
      consent: ALLOWED,
      attributes: new AttributeClaims(),
      isOfAgents: false,
      now: NOW,
    })
  assert.equal(at(['login'], {}), 'sign-in')
  assert.equal(at(['login'], { signedIn: 'another session' }), 'sign-in')
  assert.equal(at(['login'], { signedIn: 's1' }), 'respond')
  assert.equal(at(['consent'], {}), 'consent')
  assert.equal(at(['consent'], { consented: 'usr_a' }), 'respond')
  assert.equal(at(['select_account'], {}), 'choose-account')
  assert.equal(at(['select_account'], { chosen: 's1' }), 'respond')
  assert.equal(at(['select_account'], { signedIn: 's1' }), 'respond')
  assert.equal(at(['login', 'consent'], { signedIn: 's1' }), 'consent')
})

function describeStep(situation: Situation): string {
  const step = nextStep(situation)
  return step.kind === 'refuse' ? step.error : step.kind
}
