/** Pushed authorization requests (RFC 9126). */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { prune } from '../../packages/server/src/store/prune.ts'
import { createProofMaker } from '../support/dpop.ts'
import { onEveryEngineInLongRuns, onSqlite } from '../support/engines.ts'
import { ecPair, rsaPair, signJwt, toJwk } from '../support/foreign-issuer.ts'
import { startTestServer, type TestServer } from '../support/server.ts'
import {
  ALICE,
  authorizeUrl,
  CALLBACK,
  type Changes,
  newVerifier,
  openSignInPlace,
  readAnswer,
  SECRET,
  type SignInPlace,
} from '../support/sign-in-place.ts'
import { until } from '../support/until.ts'
import { requirePage, type UserAgent } from '../support/user-agent.ts'
import { visit } from '../support/visitor.ts'

const TRUSTED = 'https://trusted.example.com/cb'
const KEYED = 'https://keyed.example.com/cb'
const ec = ecPair()
const rsa = rsaPair()
const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

onEveryEngineInLongRuns('pushed authorization requests', (at, engine) => {
  let place: SignInPlace
  let other: TestServer | undefined
  before(async () => {
    place = await openSignInPlace(at(), {
      flags: { '--limit-token': '', '--limit-pages': '', '--metrics-port': '0' },
      clients: [
        {
          client_id: 'pushing',
          redirect_uris: ['https://pushing.example.com/cb'],
          scope: 'openid',
          skip_consent: true,
          require_pushed_authorization_requests: true,
        },
        {
          client_id: 'keyed',
          token_endpoint_auth_method: 'private_key_jwt',
          redirect_uris: [KEYED],
          scope: 'openid',
          skip_consent: true,
          jwks: { keys: [toJwk(ec.publicKey, { kid: 'ec' }), toJwk(rsa.publicKey, { kid: 'rsa' })] },
        },
      ],
    })
    if (engine === 'postgres')
      other = await startTestServer(at(), {
        clock: place.clock,
        flags: { '--issuer': place.server.issuer, '--limit-pages': '' },
      })
  })
  after(async () => {
    await other?.stop()
    await place.close()
  })

  const basic = (client: string) => ({ authorization: `Basic ${btoa(`${client}:${encodeURIComponent(SECRET)}`)}` })
  const post = async (path: string, form: Changes, headers: Record<string, string>) => {
    const given = Object.entries(form).filter((entry): entry is [string, string] => entry[1] !== undefined)
    const body = new URLSearchParams(given)
    const response = await fetch(place.server.issuer + path, { method: 'POST', headers, body })
    return {
      status: response.status,
      headers: response.headers,
      body: (await response.json()) as Record<string, string>,
    }
  }
  const ORDINARY = { redirect_uri: TRUSTED, response_type: 'code', scope: 'openid', state: 'st', nonce: 'no' }
  const push = (form: Changes = {}, headers: Record<string, string> = basic('trusted')) =>
    post('/connect/par', { ...ORDINARY, ...form }, headers)
  const pushed = async (form: Changes = {}, headers: Record<string, string> = basic('trusted')): Promise<string> => {
    const { status, body } = await push(form, headers)
    assert.equal(status, 201, JSON.stringify(body))
    return body.request_uri ?? ''
  }
  const openUrl = (uri: string, more: Record<string, string> = {}) => {
    const url = new URL(`${place.server.issuer}/connect/authorize`)
    url.search = new URLSearchParams({ client_id: 'trusted', request_uri: uri, ...more }).toString()
    return url
  }
  const signedIn = async (): Promise<UserAgent> => {
    const agent = place.newAgent()
    await visit(agent, await agent.get(openUrl(await pushed())), ALICE)
    return agent
  }
  const buildOrigin = ({ port }: TestServer) => `http://127.0.0.1:${port}`
  const assertGone = async (agent: UserAgent, url: URL) => {
    const page = requirePage(await agent.get(url))
    assert.equal(page.status, 400)
    assert.match(page.body, /invalid_request_uri/)
  }

  test('§2.2: a request is pushed and opened, and its code redeemed; the reply is 201 and not stored', async () => {
    const { verifier, challenge } = newVerifier()
    const answer = await push({ code_challenge: challenge, code_challenge_method: 'S256', client_id: 'trusted' })
    assert.equal(answer.status, 201)
    assert.match(answer.headers.get('cache-control') ?? '', /no-store/)
    assert.deepEqual(Object.keys(answer.body), ['request_uri', 'expires_in'])
    assert.match(String(answer.body.request_uri), /^urn:ietf:params:oauth:request_uri:[\w-]{43}$/)
    assert.equal(answer.body.expires_in, 60)
    const agent = place.newAgent()
    // §4: whatever else comes through the browser does not count.
    const url = openUrl(String(answer.body.request_uri), {
      redirect_uri: 'https://evil.example/cb',
      scope: 'openid Platform/Admin',
      state: 'other',
      response_type: 'token',
      request: 'no.such.object',
      prompt: 'none',
    })
    const { end, seen } = await visit(agent, await agent.get(url), ALICE)
    assert.deepEqual(seen, ['sign-in'])
    const parameters = readAnswer(end)
    assert.equal(end.kind === 'left' && end.url.origin + end.url.pathname, TRUSTED)
    assert.equal(parameters.get('state'), 'st')
    assert.equal(parameters.get('iss'), place.server.issuer)
    assert.deepEqual([...new Set(agent.hops.filter(({ status }) => status !== 200).map(({ status }) => status))], [303])
    const tokens = await post(
      '/connect/token',
      {
        grant_type: 'authorization_code',
        code: parameters.get('code'),
        redirect_uri: TRUSTED,
        code_verifier: verifier,
      },
      basic('trusted'),
    )
    assert.equal(tokens.body.scope, 'openid')
  })

  test('§2.1, §2.3: what the authorization endpoint would refuse is refused at once, as JSON', async () => {
    const cases: readonly [Changes, string, RegExp?][] = [
      [{ redirect_uri: 'https://trusted.example.com/cb2' }, 'invalid_request', /redirect_uri is not registered/],
      [{ redirect_uri: undefined }, 'invalid_request'],
      [{ response_type: 'banana' }, 'unsupported_response_type'],
      [{ response_type: undefined }, 'invalid_request'],
      [{ scope: 'openid Platform/Admin' }, 'invalid_scope'],
      [{ response_mode: 'pigeon' }, 'invalid_request'],
      [{ code_challenge: 'short', code_challenge_method: 'S256' }, 'invalid_request'],
      [{ dpop_jkt: 'short' }, 'invalid_request'],
      [{ prompt: 'none login' }, 'invalid_request'],
      [{ registration: '{}' }, 'registration_not_supported'],
      [{ request: 'a.b.c' }, 'invalid_request_object'],
      [{ request_uri: 'urn:ietf:params:oauth:request_uri:x' }, 'invalid_request', /request_uri cannot be pushed/],
      [{ resource: 'https://no-such.example' }, 'invalid_target'],
      [{ state: 's'.repeat(5000) }, 'invalid_request'],
    ]
    for (const [form, error, text = /./] of cases) {
      const { status, body } = await push(form)
      assert.deepEqual([status, body.error], [400, error], JSON.stringify(body))
      assert.match(String(body.error_description), text)
    }
    const repeated = await fetch(`${place.server.issuer}/connect/par`, {
      method: 'POST',
      headers: { ...basic('trusted'), 'content-type': 'application/x-www-form-urlencoded' },
      body: 'state=a&state=b',
    })
    assert.equal(repeated.status, 400)
    assert.equal((await fetch(`${place.server.issuer}/connect/par`)).status, 405)
  })

  test('§2: the client authenticates as at the token endpoint, and a public one by its id', async () => {
    const wrong = await push({}, { authorization: `Basic ${btoa('trusted:wrong')}` })
    assert.deepEqual([wrong.status, wrong.body.error], [401, 'invalid_client'])
    assert.equal((await push({ client_id: 'trusted' }, {})).status, 401)
    assert.equal((await push({ client_id: 'web' })).status, 400, 'another client_id than that of the header')
    const { challenge } = newVerifier()
    const spa = { client_id: 'spa', redirect_uri: 'https://spa.example.com/cb', code_challenge: challenge }
    assert.equal((await push({ ...spa, code_challenge_method: 'S256' }, {})).status, 201)
    assert.equal((await push({ ...spa, code_challenge: undefined }, {})).status, 400, 'PKCE is needed')
  })

  test('RFC 7523: an assertion is for the issuer or the PAR endpoint, and counts once; the audit log has its fault', async () => {
    const { issuer } = place.server
    const seconds = Math.floor(place.clock() / 1000)
    const sign = (aud: unknown, jti: string = randomUUID()) =>
      signJwt({ alg: 'ES256', kid: 'ec' }, ec.privateKey, {
        ...{ iss: 'keyed', sub: 'keyed', aud, jti, iat: seconds, exp: seconds + 60 },
      })
    const pushBy = (assertion: string) =>
      push({ redirect_uri: KEYED, client_assertion_type: JWT_BEARER, client_assertion: assertion }, {})
    for (const aud of [issuer, `${issuer}/connect/par`, `${issuer}/connect/token`, [`${issuer}/connect/par`]])
      assert.equal((await pushBy(sign(aud))).status, 201, String(aud))
    assert.equal((await pushBy(sign(`${issuer}/connect/authorize`))).status, 401)
    const once = sign(issuer)
    assert.equal((await pushBy(once)).status, 201)
    const again = await pushBy(once)
    assert.deepEqual([again.status, again.body.error], [401, 'invalid_client'])
    const recorded = place.database.db.selectFrom('audit_log').select('details').where('event', '=', 'client.refused')
    const isRecorded = ({ details }: { details: string }) => details.includes('jti was used before')
    await until('the fault is recorded', 1000, async () =>
      (await recorded.where('client', '=', 'keyed').execute()).some(isRecorded),
    )
  })

  test('RFC 9101 §10.8: a request object, which browsers see, does not authenticate its client', async () => {
    const seconds = Math.floor(place.clock() / 1000)
    const claims = { iss: 'keyed', sub: 'keyed', aud: place.server.issuer, jti: randomUUID(), exp: seconds + 60 }
    const object = { ...claims, ...ORDINARY, client_id: 'keyed', redirect_uri: KEYED }
    const request = signJwt({ alg: 'ES256', kid: 'ec' }, ec.privateKey, object)
    const seen = await (await signedIn()).get(authorizeUrl(place.server.issuer, { client_id: 'keyed', request }))
    assert.ok(readAnswer(seen).get('code'))
    const form = { redirect_uri: KEYED, client_assertion_type: JWT_BEARER, client_assertion: request }
    const { status, body } = await push(form, {})
    assert.deepEqual([status, body.error], [401, 'invalid_client'])
  })

  test('RFC 9101: a request object is welcome inside', async () => {
    const seconds = Math.floor(place.clock() / 1000)
    const claims = { iss: 'keyed', aud: place.server.issuer, client_id: 'keyed', exp: seconds + 60, nbf: seconds }
    const object = { ...claims, ...ORDINARY, redirect_uri: KEYED, state: 'signed' }
    const assertion = { iss: 'keyed', sub: 'keyed', aud: place.server.issuer, jti: randomUUID(), exp: seconds + 60 }
    const { status, body } = await post(
      '/connect/par',
      {
        client_id: 'keyed',
        request: signJwt({ alg: 'RS256', kid: 'rsa' }, rsa.privateKey, object),
        client_assertion_type: JWT_BEARER,
        client_assertion: signJwt({ alg: 'ES256', kid: 'ec' }, ec.privateKey, assertion),
      },
      {},
    )
    assert.equal(status, 201, JSON.stringify(body))
    const agent = await signedIn()
    const end = await agent.get(openUrl(String(body.request_uri), { client_id: 'keyed' }))
    assert.equal(readAnswer(end).get('state'), 'signed')
  })

  test('§4: it can be opened again until an answer went to the client, then never', async () => {
    const uri = await pushed()
    const agent = place.newAgent()
    const first = requirePage(await agent.get(openUrl(uri)))
    const second = requirePage(await agent.get(openUrl(uri)))
    assert.equal(second.status, 200)
    assert.ok(readAnswer((await visit(agent, second, ALICE)).end).get('code'))
    await assertGone(agent, openUrl(uri))
    const late = requirePage((await visit(agent, first, ALICE)).end)
    assert.match(late.body, /invalid_request_uri/, 'the interaction that was opened first gets no second answer')

    const denied = await pushed({ prompt: 'none' })
    assert.equal(readAnswer(await place.newAgent().get(openUrl(denied))).get('error'), 'login_required')
    await assertGone(agent, openUrl(denied))
  })

  test('a person who declines answers it too', async () => {
    const uri = await pushed({ redirect_uri: CALLBACK, scope: 'openid profile' }, basic('web'))
    const agent = place.newAgent()
    const url = openUrl(uri, { client_id: 'web' })
    const asked = await agent.get(url)
    const { end } = await visit(agent, asked, ALICE, 'refuse')
    assert.equal(readAnswer(end).get('error'), 'access_denied')
    await assertGone(agent, url)
  })

  test('one request_uri 20 times at once, on every node, gets one code', async () => {
    const agent = await signedIn()
    const url = openUrl(await pushed())
    const cookie = agent.jar.header(url) ?? ''
    const targets = Array.from({ length: 20 }, (_, index) =>
      other !== undefined && index % 2 === 0 ? url.href.replace(place.server.issuer, buildOrigin(other)) : url.href,
    )
    const answers = await Promise.all(
      targets.map(async (target) => {
        const response = await fetch(target, { redirect: 'manual', headers: { cookie } })
        await response.text()
        return [response.status, response.headers.get('location')?.includes('code=') === true] as const
      }),
    )
    assert.equal(answers.filter(([, hasCode]) => hasCode).length, 1, JSON.stringify(answers))
    assert.deepEqual([...new Set(answers.filter(([, hasCode]) => !hasCode).map(([status]) => status))], [400])
  })

  test('unknown, of another client or expired: an error page, and nothing is sent to a client', async () => {
    const agent = await signedIn()
    await assertGone(agent, openUrl(`urn:ietf:params:oauth:request_uri:${'a'.repeat(43)}`))
    await assertGone(agent, openUrl(`urn:ietf:params:oauth:request_uri:`, { redirect_uri: TRUSTED }))
    const uri = await pushed()
    await assertGone(agent, openUrl(uri, { client_id: 'web' }))
    place.clock.advance(61_000)
    await assertGone(agent, openUrl(uri))
  })

  test('opened in time, the interaction has its usual hour; then the row is swept', async () => {
    const uri = await pushed()
    const agent = place.newAgent()
    const page = await agent.get(openUrl(uri))
    place.clock.advance(3_500_000)
    await prune(place.database, { clock: place.clock, node: 'test', auditKept: undefined })
    assert.ok(readAnswer((await visit(agent, page, ALICE)).end).get('code'))
    place.clock.advance(2 * 3_600_000 + 60_000)
    await prune(place.database, { clock: place.clock, node: 'test', auditKept: undefined })
    const rows = await place.database.db.selectFrom('pushed_requests').select('digest').execute()
    assert.deepEqual(rows, [])
  })

  test('a redirect URI that was unregistered since is not used', async () => {
    const target = { redirectUri: 'https://trusted.example.com/former', mode: 'query' }
    const details = JSON.stringify({ clientId: 'trusted', target })
    const secret = await place.stores.pushedRequests.push('trusted', details, 60_000)
    const page = requirePage(await place.newAgent().get(openUrl(`urn:ietf:params:oauth:request_uri:${secret}`)))
    assert.equal(page.status, 400)
    assert.match(page.body, /redirect_uri is not registered/)
  })

  test('§6: a client that must push is refused otherwise, with an error that goes to it', async () => {
    const redirect_uri = 'https://pushing.example.com/cb'
    const agent = await signedIn()
    const plain = await agent.get(authorizeUrl(place.server.issuer, { client_id: 'pushing', redirect_uri }))
    assert.equal(readAnswer(plain).get('error'), 'invalid_request')
    assert.equal(readAnswer(plain).get('state'), 'st')
    const unregistered = authorizeUrl(place.server.issuer, { client_id: 'pushing', redirect_uri: CALLBACK })
    assert.equal(requirePage(await agent.get(unregistered)).status, 400)
    const uri = await pushed({ redirect_uri }, basic('pushing'))
    assert.ok(readAnswer(await agent.get(openUrl(uri, { client_id: 'pushing' }))).get('code'))
  })

  test('RFC 9449 §10.1: a proof binds the code to its key, agrees with dpop_jkt, and counts once on all nodes', async () => {
    const maker = createProofMaker()
    const prove = (nonce?: string, path = '/connect/par') =>
      maker.prove({ method: 'POST', url: place.server.issuer + path, now: place.clock(), nonce })
    const redeem = (code: string, dpop?: string) =>
      post(
        '/connect/token',
        { grant_type: 'authorization_code', code, redirect_uri: TRUSTED },
        { ...basic('trusted'), ...(dpop === undefined ? {} : { dpop }) },
      )
    const agent = await signedIn()
    const readCode = async (uri: string) => readAnswer(await agent.get(openUrl(uri))).get('code') ?? ''
    const dpop = prove()
    const uri = await pushed({ dpop_jkt: maker.thumbprint }, { ...basic('trusted'), dpop })
    const tokenProof = () => prove(undefined, '/connect/token')
    assert.equal((await redeem(await readCode(uri), tokenProof())).body.token_type, 'DPoP')
    const replayed = await push({}, { ...basic('trusted'), dpop })
    assert.deepEqual([replayed.status, replayed.body.error], [400, 'invalid_dpop_proof'])
    const mismatch = await push({ dpop_jkt: 'a'.repeat(43) }, { ...basic('trusted'), dpop: prove() })
    assert.deepEqual([mismatch.status, mismatch.body.error], [400, 'invalid_dpop_proof'])
    const stolen = await readCode(await pushed({}, { ...basic('trusted'), dpop: prove() }))
    const byAnother = createProofMaker().prove({
      ...{ method: 'POST', url: `${place.server.issuer}/connect/token`, now: place.clock() },
    })
    assert.equal((await redeem(stolen, byAnother)).body.error, 'invalid_grant')
    const unbound = await readCode(await pushed({}, { ...basic('trusted'), dpop: prove() }))
    assert.equal((await redeem(unbound)).body.error, 'invalid_grant')

    const { challenge } = newVerifier()
    const spa = { client_id: 'spa', redirect_uri: 'https://spa.example.com/cb', code_challenge: challenge }
    const form = { ...spa, code_challenge_method: 'S256' }
    const asked = await push(form, { dpop: prove() })
    assert.deepEqual([asked.status, asked.body.error], [400, 'use_dpop_nonce'])
    const nonce = asked.headers.get('dpop-nonce') ?? ''
    assert.equal((await push(form, { dpop: prove(nonce) })).status, 201)
  })

  test('§2.3: a client has at most 1,000 open ones; answered and expired ones do not count', async () => {
    const agent = await signedIn()
    place.clock.advance(61_000)
    const uri = await pushed()
    const row = { client_id: 'trusted', details: '{}', created_at: place.clock(), expires_at: place.clock() + 60_000 }
    const rows = Array.from({ length: 999 }, (_, index) => ({ ...row, digest: `open ${index}` }))
    await place.database.db.insertInto('pushed_requests').values(rows).execute()
    const refused = await push()
    assert.deepEqual([refused.status, refused.body.error], [429, 'temporarily_unavailable'])
    assert.equal(refused.headers.get('retry-after'), '60')
    assert.match(String(refused.body.error_description), /too many pushed requests/)
    const metrics = await (await fetch(`http://127.0.0.1:${place.server.metricsPort}/metrics`)).text()
    assert.match(metrics, /gatehouse_pushed_requests_total\{outcome="accepted"\} [1-9]/)
    assert.match(metrics, /gatehouse_pushed_requests_total\{outcome="temporarily_unavailable"\} 1/)
    await pushed({ redirect_uri: CALLBACK }, basic('web'))
    assert.ok(readAnswer(await agent.get(openUrl(uri))).get('code'))
    await pushed()
    assert.equal((await push()).status, 429)
    place.clock.advance(61_000)
    await pushed()
  })
})

onSqlite('pushed requests of a public client', (at) => {
  test('one network, which need not be that of the client, takes only a part of the places', async (t) => {
    const redirect = 'https://page.example.com/cb'
    const flags = { '--trusted-proxies': '127.0.0.1,::1', '--limit-token': '' }
    const place = await openSignInPlace(at(), {
      flags,
      clients: [{ client_id: 'page', token_endpoint_auth_method: 'none', redirect_uris: [redirect], scope: 'openid' }],
    })
    t.after(() => place.close())
    const challenge = { code_challenge: 'c'.repeat(43), code_challenge_method: 'S256' }
    const form = { client_id: 'page', redirect_uri: redirect, response_type: 'code', scope: 'openid', ...challenge }
    const push = async (address: string) => {
      const headers = { 'x-forwarded-for': address }
      const body = new URLSearchParams(form)
      return (await fetch(`${place.server.issuer}/connect/par`, { method: 'POST', headers, body })).status
    }
    const flood = async () => {
      const statuses: number[] = []
      for (let count = 0; count < 55; count++) statuses.push(await push(`2001:db8:5:6::${count.toString(16)}`))
      return statuses
    }
    const statuses = (await Promise.all([flood(), flood(), flood(), flood()])).flat()
    assert.deepEqual([statuses.indexOf(429) >= 0, statuses.filter((status) => status === 201).length], [true, 200])
    assert.equal(await push('198.51.100.2'), 201)
    place.clock.advance(121_000)
    assert.equal(await push('2001:db8:5:6::1'), 201)
  })
})

onSqlite('an installation that takes pushed requests only', (at) => {
  test('§5: says so in its metadata, and excepts the console alone', async (t) => {
    const flags = { '--require-pushed-authorization-requests': 'true', '--par-lifetime': '5' }
    const place = await openSignInPlace(at(), { flags })
    t.after(() => place.close())
    const { issuer } = place.server
    const metadata = await (await fetch(`${issuer}/.well-known/oauth-authorization-server`)).json()
    assert.partialDeepStrictEqual(metadata, {
      pushed_authorization_request_endpoint: `${issuer}/connect/par`,
      require_pushed_authorization_requests: true,
    })
    const agent = place.newAgent()
    assert.equal(readAnswer(await agent.get(authorizeUrl(issuer))).get('error'), 'invalid_request')
    const response = await fetch(`${issuer}/connect/par`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`web:${encodeURIComponent(SECRET)}`)}` },
      body: authorizeUrl(issuer).searchParams,
    })
    assert.partialDeepStrictEqual(await response.json(), { expires_in: 5 })
    const console = { client_id: 'gatehouse-console', redirect_uri: `${issuer}/console`, scope: 'openid' }
    const { challenge } = newVerifier()
    const plain = authorizeUrl(issuer, { ...console, code_challenge: challenge, code_challenge_method: 'S256' })
    const page = requirePage(await agent.get(plain))
    assert.deepEqual([page.status, page.url.pathname], [200, '/sign-in'])
  })
})
