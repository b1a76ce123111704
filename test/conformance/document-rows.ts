/** Rows about userinfo, discovery, keys and logout in detail (B-70 to B-73). */
import assert from 'node:assert/strict'
import { clientFixtures, POST_LOGOUT, person } from '../support/providers/provider.ts'
import { readName, visit } from '../support/visitor.ts'
import { getTokens, type RowTest } from './steps.ts'
import { askUserinfo, readUserinfo, type Trial, type TrialParameters } from './trial.ts'

const { client2 } = clientFixtures('https://127.0.0.1:1/')

export const documentRows: readonly RowTest[] = [
  {
    id: 'B-70',
    name: 'userinfo returns sub always, and exactly the granted claims',
    async run(trial) {
      const only = async (changes: TrialParameters) => Object.keys((await trial.succeed(changes)).userinfo ?? {}).sort()
      assert.deepEqual(await only({ scope: 'openid' }), ['sub'])
      assert.deepEqual(await only({ scope: 'openid email' }), ['email', 'email_verified', 'sub'])
      const claims = JSON.stringify({ userinfo: { nickname: null } })
      assert.deepEqual(await only({ scope: 'openid', claims }), ['nickname', 'sub'])
    },
  },
  {
    id: 'B-70',
    name: 'userinfo returns a changed profile at once, and omits empty claims',
    ours: true,
    async run(trial) {
      const { access_token: token } = await getTokens(trial, { scope: 'openid profile' })
      const account = await trial.agent.get('/account')
      assert.ok(account.kind === 'page')
      const form = account.forms.find(({ id }) => id === 'profile')
      assert.ok(form)
      const original = Object.fromEntries(form.fields.map(({ name, value }) => [name, value]))
      await trial.agent.submit(form, { given_name: 'Slayer', zoneinfo: '' })
      const changed = await readUserinfo(await askUserinfo(trial.provider, token))
      assert.equal(changed.given_name, 'Slayer')
      assert.ok(!('zoneinfo' in changed))
      await trial.agent.submit(form, original)
    },
  },
  {
    id: 'B-71',
    name: 'keys: public RSA keys of at least 2048 bits, unique kid, use sig, alg RS256, cacheable',
    ours: true,
    async run({ provider }) {
      const response = await fetch(provider.metadata.jwks_uri)
      assert.match(response.headers.get('cache-control') ?? '', /max-age=\d+/)
      const { keys } = (await response.json()) as { keys: Record<string, string>[] }
      assert.equal(new Set(keys.map(({ kid }) => kid)).size, keys.length)
      for (const { n = '', ...key } of keys) {
        assert.deepEqual(Object.keys(key).sort(), ['alg', 'e', 'kid', 'kty', 'use'])
        assert.deepEqual([key.kty, key.use, key.alg], ['RSA', 'sig', 'RS256'])
        assert.ok(Buffer.from(n, 'base64url').length >= 256)
      }
    },
  },
  {
    id: 'B-72',
    name: 'discovery returns exactly the contract, in order, and the RFC 8414 path the same with the method of public clients',
    ours: true,
    async run({ provider: { metadata, issuer } }) {
      for (const [name, expected] of Object.entries(CONTRACT)) assert.deepEqual(metadata[name], expected, name)
      for (const [name, path] of Object.entries(ADDRESSES)) assert.equal(metadata[name], issuer + path, name)
      const other = await fetch(`${issuer}/.well-known/oauth-authorization-server`)
      assert.equal(other.status, 200)
      assertSaysAll((await other.json()) as Record<string, unknown>, metadata)
    },
  },
  {
    id: 'B-73',
    name: 'end_session: with a hint of this session there is no confirmation, with GET and POST, expired or not',
    ours: true,
    async run(trial) {
      for (const how of ['GET', 'POST'] as const) {
        const { id_token: hint } = await getTokens(trial)
        await trial.provider.elapse(2 * 3600_000)
        const end = await leave(trial, { id_token_hint: hint, post_logout_redirect_uri: POST_LOGOUT }, how)
        assert.ok(end.kind === 'left', how)
        assert.equal(end.url.href, POST_LOGOUT)
      }
    },
  },
  {
    id: 'B-73',
    name: 'end_session: without a hint the user must confirm; with client_id the redirect is then followed',
    ours: true,
    async run(trial) {
      await trial.succeed()
      const asked = await leave(trial, { client_id: 'client', post_logout_redirect_uri: POST_LOGOUT, state: 'x' })
      assert.ok(asked.kind === 'page' && readName(asked) === 'question')
      const { end } = await visit(trial.agent, asked, person)
      assert.ok(end.kind === 'left')
      assert.equal(end.url.href, `${POST_LOGOUT}?state=x`)
    },
  },
  {
    id: 'B-73',
    name: 'end_session: client_id must be the audience of the hint',
    async run(trial) {
      const { id_token: hint } = await getTokens(trial)
      const parameters = { id_token_hint: hint, client_id: client2.client_id, post_logout_redirect_uri: POST_LOGOUT }
      const end = await leave(trial, parameters)
      assert.ok(end.kind === 'page' && end.status >= 400, 'the wrong client was accepted')
    },
  },
]

async function leave({ agent, provider }: Trial, parameters: TrialParameters, how: 'GET' | 'POST' = 'GET') {
  const pairs = Object.entries(parameters).filter((pair): pair is [string, string] => pair[1] !== undefined)
  if (how === 'POST') return agent.post(provider.metadata.end_session_endpoint, pairs)
  const url = new URL(provider.metadata.end_session_endpoint)
  for (const [name, value] of pairs) url.searchParams.set(name, value)
  return agent.get(url)
}

const CONTRACT = {
  frontchannel_logout_supported: true,
  frontchannel_logout_session_supported: true,
  backchannel_logout_supported: true,
  backchannel_logout_session_supported: true,
  scopes_supported: [
    'openid',
    'profile',
    'email',
    'roles',
    'Identity/Admin',
    'Platform/Market',
    'Platform/News',
    'Platform/Trading',
    'Platform/OrderPad',
    'Platform/Admin',
    'offline_access',
  ],
  claims_supported: [
    'sub updated_at locale zoneinfo birthdate gender website picture profile preferred_username nickname',
    'middle_name given_name family_name name email email_verified role',
  ]
    .join(' ')
    .split(' '),
  grant_types_supported: [
    'authorization_code',
    'client_credentials',
    'refresh_token',
    'implicit',
    'password',
    'urn:ietf:params:oauth:grant-type:device_code',
  ],
  response_types_supported: [
    'code',
    'token',
    'id_token',
    'id_token token',
    'code id_token',
    'code token',
    'code id_token token',
  ],
  response_modes_supported: ['form_post', 'query', 'fragment'],
  token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
  id_token_signing_alg_values_supported: ['RS256'],
  subject_types_supported: ['public'],
  code_challenge_methods_supported: ['plain', 'S256'],
  request_parameter_supported: true,
  request_uri_parameter_supported: false,
  request_object_signing_alg_values_supported: ['RS256'],
  claims_parameter_supported: true,
  authorization_response_iss_parameter_supported: true,
}

/** RFC 8414 §2: the document at its own path says the same as the OpenID one, and more: public clients and what else is configured. */
export function assertSaysAll(document: Record<string, unknown>, openId: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(openId)) {
    const more = [document[name]].flat()
    if (name.endsWith('_supported') && Array.isArray(value))
      for (const member of value) assert.ok(more.includes(member), `${name}: ${String(member)}`)
    else assert.deepEqual(document[name], value, name)
  }
  assert.ok([document.token_endpoint_auth_methods_supported].flat().includes('none'))
}

const ADDRESSES = {
  jwks_uri: '/.well-known/openid-configuration/jwks',
  authorization_endpoint: '/connect/authorize',
  token_endpoint: '/connect/token',
  userinfo_endpoint: '/connect/userinfo',
  end_session_endpoint: '/connect/endsession',
  check_session_iframe: '/connect/checksession',
  revocation_endpoint: '/connect/revocation',
  introspection_endpoint: '/connect/introspect',
  device_authorization_endpoint: '/connect/deviceauthorization',
}
