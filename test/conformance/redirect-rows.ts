/** Rows about redirect URIs, PKCE, stolen codes and mix-up attacks (C-20 to C-33). */
import assert from 'node:assert/strict'
import { CALLBACK, clientFixtures, RP } from '../support/providers/provider.ts'
import {
  answer,
  createChallenge,
  decodeClaims,
  errorPage,
  getCode,
  getTokens,
  offline,
  type RowTest,
  readError,
} from './steps.ts'
import { assertTokenError, randomText, readTokens, requestToken, type Trial } from './trial.ts'

const { client2, native } = clientFixtures('https://127.0.0.1:1/')
const RFC_VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
const RFC_CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'

export const redirectRows: readonly RowTest[] = [
  {
    id: 'C-20',
    name: 'every variation of a redirect URI gets an error page',
    async run(trial) {
      for (const address of [
        `${CALLBACK}/`,
        `${RP}/CALLBACK`,
        `${RP}/x/../callback`,
        `${RP}/%2e%2e/callback`,
        'https://rp.example.com:443/callback',
        'https://user@rp.example.com/callback',
        'https://rp.example.com@evil.example/callback',
        'https://www.rp.example.com/callback',
        'http://rp.example.com/callback',
        'https://rp.example.com./callback',
        `${CALLBACK}?a=b`,
        `${CALLBACK}#x`,
        'https:\\\\rp.example.com\\callback',
        `${CALLBACK}\r\nlocation: https://evil.example`,
        `${CALLBACK} ${CALLBACK}`,
      ])
        await errorPage(trial, { redirect_uri: address })
    },
  },
  {
    id: 'C-22',
    name: 'a native client may vary only the port of a loopback URI; a web client may not',
    async run(trial) {
      const app = trial.withClient(native)
      const { verifier: _, ...challenge } = createChallenge()
      for (const address of ['http://127.0.0.1:54321/callback', 'http://[::1]:4000/six']) {
        const got = await answer(app, { ...challenge, redirect_uri: address })
        assert.equal(got.left.url.origin + got.left.url.pathname, address)
      }
      for (const address of [
        'http://127.0.0.1:54321/other',
        'http://127.0.0.1:54321/six',
        'http://[::1]:54321/callback',
        'http://localhost:54321/callback',
        'http://127.0.0.1.evil.example:54321/callback',
        'http://127.0.0.1@evil.example/callback',
        'http://127.0.0.2:54321/callback',
        'https://127.0.0.1:54321/callback',
        'http://127.0.0.1:54321/callback?x=y',
      ])
        await errorPage(app, { ...challenge, redirect_uri: address })
      await errorPage(trial, { redirect_uri: 'https://rp.example.com:8443/callback' })
    },
  },
  {
    id: 'C-22',
    name: 'the port of a localhost URI may vary too',
    ours: true,
    async run(trial) {
      const { verifier: _, ...challenge } = createChallenge()
      const address = 'http://localhost:4321/by-name'
      const got = await answer(trial.withClient(native), { ...challenge, redirect_uri: address })
      assert.equal(got.left.url.origin + got.left.url.pathname, address)
    },
  },
  {
    id: 'C-23',
    name: 'a public client without a challenge is refused, with code and hybrid types',
    ours: true,
    async run(trial) {
      const app = trial.withClient(native)
      for (const type of ['code', 'code id_token'])
        assert.equal(await readError(app, { response_type: type }), 'invalid_request', type)
    },
  },
  {
    id: 'C-24',
    name: 'malformed challenges and methods are invalid_request',
    async run(trial) {
      const { code_challenge: good } = createChallenge()
      for (const changes of [
        { code_challenge: good, code_challenge_method: 'S512' },
        { code_challenge_method: 'S256' },
        { code_challenge: 'x'.repeat(42), code_challenge_method: 'S256' },
        { code_challenge: 'x'.repeat(129), code_challenge_method: 'S256' },
        { code_challenge: `${'x'.repeat(42)}!`, code_challenge_method: 'S256' },
      ])
        assert.equal(await readError(trial, changes), 'invalid_request', JSON.stringify(changes))
    },
  },
  {
    id: 'C-24',
    name: 'a client that requires S256 may not use plain or omit the method; malformed verifiers are invalid_grant',
    ours: true,
    async run(trial) {
      const app = trial.withClient(native)
      for (const method of ['plain', undefined]) {
        const changes = { code_challenge: 'x'.repeat(43), code_challenge_method: method }
        assert.equal(await readError(app, changes), 'invalid_request', method)
      }
      for (const verifier of ['short', 'x'.repeat(129), `${'x'.repeat(43)}!`]) {
        const { verifier: _, ...challenge } = createChallenge(verifier)
        await assertTokenError(await redeem(trial, challenge, verifier), 'invalid_grant')
      }
    },
  },
  {
    id: 'C-25',
    name: 'a missing or wrong verifier gives no tokens',
    async run(trial) {
      const { verifier: _, ...challenge } = createChallenge()
      for (const verifier of [undefined, randomText(64)])
        await assertTokenError(await redeem(trial, challenge, verifier), 'invalid_grant')
    },
  },
  {
    id: 'C-26',
    name: 'a verifier for a code without a challenge is refused',
    async run(trial) {
      const response = await redeem(trial, {}, randomText(64))
      assert.equal(response.status, 400)
      const { error } = (await response.json()) as { error: string }
      assert.ok(['invalid_grant', 'invalid_request'].includes(error))
    },
  },
  {
    id: 'C-27',
    name: 'S256 accepts the example of the RFC',
    async run(trial) {
      assert.equal(createChallenge(RFC_VERIFIER).code_challenge, RFC_CHALLENGE)
      const challenge = { code_challenge: RFC_CHALLENGE, code_challenge_method: 'S256' }
      await readTokens(await redeem(trial, challenge, RFC_VERIFIER))
      await assertTokenError(await redeem(trial, challenge, RFC_CHALLENGE), 'invalid_grant')
    },
  },
  {
    id: 'C-27',
    name: 'plain accepts the challenge itself, for clients that may use it',
    ours: true,
    async run(trial) {
      const plain = randomText(50)
      await readTokens(await redeem(trial, { code_challenge: plain, code_challenge_method: 'plain' }, plain))
      await readTokens(await redeem(trial, { code_challenge: plain }, plain))
    },
  },
  {
    id: 'C-28',
    name: 'a stolen code is useless to another client, with another redirect URI and without the verifier',
    async run(trial) {
      const { verifier: _, ...challenge } = createChallenge()
      const code = await getCode(trial, challenge)
      const form = { grant_type: 'authorization_code', code, redirect_uri: CALLBACK }
      await assertTokenError(await requestToken(trial.provider, client2, form), 'invalid_grant')
      await assertTokenError(await redeem(trial, challenge, undefined), 'invalid_grant')
      const { id_token: idToken } = await getTokens(trial, { nonce: 'of-the-victim' })
      assert.equal(decodeClaims(idToken).nonce, 'of-the-victim')
    },
  },
  {
    id: 'C-29',
    name: 'the response and the ID token name the same issuer',
    async run(trial) {
      const got = await answer(trial)
      assert.equal(got.parameters.get('iss'), trial.provider.issuer)
      const tokens = await readTokens(await trial.redeem(got.parameters.get('code') ?? ''))
      assert.equal(decodeClaims(tokens.id_token).iss, trial.provider.issuer)
    },
  },
  {
    id: 'C-31',
    name: 'a public client on loopback gets nothing silently, although consent is stored',
    ours: true,
    async run(trial) {
      const app = trial.withClient(native)
      const { verifier: _, ...challenge } = createChallenge()
      await answer(app, challenge)
      const error = await readError(app, { ...challenge, prompt: 'none' })
      assert.ok(['interaction_required', 'consent_required'].includes(error), error)
    },
  },
  {
    id: 'C-33',
    name: 'codes, tokens, jti and sid are long, unique, and use the whole alphabet',
    ours: true,
    async run(trial) {
      const samples: Record<string, Set<string>> = { code: new Set(), refresh: new Set(), jti: new Set() }
      // test/store/randomness.test.ts examines 1,000 of each.
      const rounds = 15
      for (let round = 0; round < rounds; round++) {
        const code = await getCode(trial, offline())
        const tokens = await readTokens(await trial.redeem(code))
        samples.code?.add(code)
        samples.refresh?.add(tokens.refresh_token ?? '')
        samples.jti?.add(String(decodeClaims(tokens.access_token).jti))
      }
      for (const [name, values] of Object.entries(samples)) {
        assert.equal(values.size, rounds, name)
        for (const value of values) assert.ok(value.length >= 22, `${name} ${value}`)
        const prefixes = new Set([...values].map((value) => value.slice(-6)))
        assert.equal(prefixes.size, rounds, name)
      }
    },
  },
]

async function redeem(trial: Trial, challenge: Record<string, string>, verifier: string | undefined) {
  return trial.redeem(await getCode(trial, challenge), { code_verifier: verifier })
}
