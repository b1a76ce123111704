/** Core modules about the flow itself: responses, codes, PKCE, refresh, userinfo. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { clientFixtures } from '../support/providers/provider.ts'
import { ALL, type Module, WITH_ACCESS_TOKEN, WITH_CODE } from './module.ts'
import {
  askUserinfo,
  assertErrorPage,
  assertTokenError,
  checkError,
  randomText,
  readTokens,
  readUserinfo,
  rememberVerifier,
  requestToken,
  type Trial,
} from './trial.ts'

const { client2, post } = clientFixtures('https://127.0.0.1:1/')

export const flowModules: readonly Module[] = [
  { id: 'oidcc-server', types: ALL, run: happyFlow },
  {
    id: 'oidcc-server-client-secret-post',
    types: WITH_CODE,
    run: (trial) => trial.withClient(post).succeed(),
  },
  {
    id: 'oidcc-response-type-missing',
    types: ['C', 'IT', 'CI'],
    async run(trial) {
      const answer = await trial.authorize({ response_type: undefined })
      if ('kind' in answer) return assertErrorPage(answer)
      if (!trial.formPost) assert.notEqual(answer.left.url.search, '')
      checkError(answer, ['invalid_request', 'unsupported_response_type'], trial.provider.issuer)
    },
  },
  {
    id: 'oidcc-idtoken-signature',
    types: ALL,
    async run(trial) {
      const { idTokens } = await trial.succeed()
      assert.ok(idTokens.length > 0)
      for (const { header } of idTokens) assert.equal(header.alg, 'RS256')
    },
  },
  {
    id: 'oidcc-userinfo-get',
    types: WITH_ACCESS_TOKEN,
    async run(trial) {
      const { accessTokens, idTokens } = await trial.succeed({ scope: 'openid profile' })
      const claims = await readUserinfo(await askUserinfo(trial.provider, accessTokens.at(-1) ?? ''))
      assert.equal(claims.sub, idTokens[0]?.claims.sub)
      checkUpdatedAt(claims, trial)
    },
  },
  {
    id: 'oidcc-userinfo-post-header',
    types: WITH_ACCESS_TOKEN,
    async run(trial) {
      const { accessTokens, idTokens } = await trial.succeed({ scope: 'openid profile' })
      const claims = await readUserinfo(
        await fetch(trial.provider.metadata.userinfo_endpoint, {
          method: 'POST',
          headers: { authorization: `Bearer ${accessTokens.at(-1)}` },
        }),
      )
      assert.equal(claims.sub, idTokens[0]?.claims.sub)
      checkUpdatedAt(claims, trial)
    },
  },
  {
    id: 'oidcc-userinfo-post-body',
    types: WITH_ACCESS_TOKEN,
    async run(trial) {
      const { accessTokens, idTokens } = await trial.succeed({ scope: 'openid profile' })
      const claims = await readUserinfo(
        await fetch(trial.provider.metadata.userinfo_endpoint, {
          method: 'POST',
          body: new URLSearchParams({ access_token: accessTokens.at(-1) ?? '' }),
        }),
      )
      assert.equal(claims.sub, idTokens[0]?.claims.sub)
    },
  },
  {
    id: 'oidcc-ensure-request-without-nonce-succeeds-for-code-flow',
    types: ['C', 'CT'],
    run: (trial) => trial.succeed({ nonce: undefined }),
  },
  {
    id: 'oidcc-ensure-request-without-nonce-fails',
    types: ['I', 'IT', 'CI', 'CIT'],
    run: (trial) => trial.fail(['invalid_request'], { nonce: undefined }),
  },
  {
    id: 'oidcc-ensure-request-with-unknown-parameter-succeeds',
    types: ALL,
    run: (trial) => trial.succeed({ extra: 'foobar' }),
  },
  {
    id: 'oidcc-codereuse',
    types: WITH_CODE,
    run: (trial) => spendTwice(trial, 0),
  },
  {
    id: 'oidcc-codereuse-30seconds',
    types: WITH_CODE,
    run: (trial) => spendTwice(trial, 30_000),
  },
  {
    id: 'oidcc-ensure-registered-redirect-uri',
    types: ALL,
    async run(trial) {
      const redirectUri = `${trial.client.redirect_uris[0]}/${randomText(10)}`
      assertErrorPage(await trial.authorize({ redirect_uri: redirectUri }))
    },
  },
  {
    id: 'oidcc-ensure-post-request-succeeds',
    types: ['C'],
    formPost: false,
    run: (trial) => trial.succeed({}, 'POST'),
  },
  {
    id: 'oidcc-refresh-token',
    types: WITH_CODE,
    run: refresh,
  },
  {
    id: 'oidcc-ensure-request-with-valid-pkce-succeeds',
    types: ['C', 'CI'],
    async run(trial) {
      const verifier = randomText(64)
      const challenge = createHash('sha256').update(verifier).digest('base64url')
      rememberVerifier(challenge, verifier)
      await trial.succeed({ code_challenge: challenge, code_challenge_method: 'S256' })
    },
  },
]

async function happyFlow(trial: Trial): Promise<void> {
  const { parameters, idTokens, tokens } = await trial.succeed()
  const code = parameters.get('code')
  if (code !== undefined) assert.ok(code.length >= 16 && entropy(code) > 96, `the code has ${entropy(code)} bits`)
  if (tokens !== undefined) assert.equal(typeof tokens.expires_in, 'number')
  for (const { claims } of idTokens) assert.equal(claims.name, undefined)
}

async function spendTwice(trial: Trial, pause: number): Promise<void> {
  const { parameters, accessTokens } = await trial.succeed()
  await trial.provider.elapse(pause)
  await assertTokenError(await trial.redeem(parameters.get('code') ?? ''), 'invalid_grant')
  const { status } = await askUserinfo(trial.provider, accessTokens.at(-1) ?? '')
  assert.ok(status >= 400 && status < 500, `userinfo still answers ${status}`)
}

async function refresh(trial: Trial): Promise<void> {
  const scope = 'openid offline_access'
  const first = await trial.succeed({ scope, prompt: 'consent' })
  const other = trial.withClient(client2)
  const second = await other.succeed({ scope, prompt: 'consent', nonce: `${randomText(39)}-._~` })
  await trial.provider.elapse(1000)
  await refreshOnce(trial, first.tokens?.refresh_token, scope)
  const latest = await refreshOnce(other, second.tokens?.refresh_token, undefined)
  await assertTokenError(
    await requestToken(trial.provider, trial.client, { grant_type: 'refresh_token', refresh_token: latest }),
    'invalid_grant',
  )

  async function refreshOnce(of: Trial, token: string | undefined, asked: string | undefined): Promise<string> {
    assert.ok(token, 'no refresh token was issued')
    const before = (of === trial ? first : second).idTokens.at(-1)?.claims
    const tokens = await readTokens(
      await requestToken(trial.provider, of.client, {
        grant_type: 'refresh_token',
        refresh_token: token,
        scope: asked,
      }),
    )
    assert.ok(entropy(tokens.access_token) > 96 && /^[\x20-\x7e]+$/.test(tokens.access_token))
    await readUserinfo(await askUserinfo(trial.provider, tokens.access_token))
    if (tokens.id_token !== undefined) {
      const [, body = ''] = tokens.id_token.split('.')
      const claims = JSON.parse(Buffer.from(body, 'base64url').toString()) as Record<string, unknown>
      for (const name of ['iss', 'sub', 'aud', 'azp', 'auth_time'])
        assert.deepEqual(claims[name], before?.[name], `${name} after the refresh`)
      assert.ok(Number(claims.iat) > Number(before?.iat), 'iat is not new')
    }
    const next = tokens.refresh_token ?? token
    assert.ok(entropy(next) > 96 && /^[\x20-\x7e]+$/.test(next))
    return next
  }
}

function checkUpdatedAt(claims: Readonly<Record<string, unknown>>, { provider }: Trial): void {
  const updated = Number(claims.updated_at)
  assert.ok(updated > Date.UTC(1990) / 1000 && updated <= provider.now() / 1000 + 1, `updated_at ${updated}`)
}

/** The Shannon entropy of the characters of the value, computed as in the suite. */
function entropy(value: string): number {
  const counts = new Map<string, number>()
  for (const character of value) counts.set(character, (counts.get(character) ?? 0) + 1)
  let bits = 0
  for (const count of counts.values()) bits -= (count / value.length) * Math.log2(count / value.length)
  return bits * value.length
}
