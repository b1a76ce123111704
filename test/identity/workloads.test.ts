/** Workloads authenticate as a client with a token of their own issuer (RFC 7523): Kubernetes, CI, and keys in the registration. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { onSqlite } from '../support/engines.ts'
import {
  type DocumentServer,
  ecPair,
  type JsonMembers,
  rsaPair,
  serveDocuments,
  signJwt,
  toJwk,
} from '../support/foreign-issuer.ts'
import { basic, decodeClaims, SECRET, startGate, type TestGate } from '../support/identity.ts'
import { createTestClock } from '../support/server.ts'

const clock = createTestClock()
const now = () => Math.floor(clock() / 1000)
const buildForm = (assertion: string, form: Record<string, string> = {}) => ({
  grant_type: 'client_credentials',
  client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
  client_assertion: assertion,
  ...form,
})

onSqlite('workloads', (place) => {
  const kubernetes = { subject: 'system:serviceaccount:trading:pricer', pair: rsaPair() }
  const github = { subject: 'repo:example/pricer:ref:refs/heads/main', pair: rsaPair() }
  const inline = { issuer: 'urn:cluster:edge', subject: 'node-7', pair: ecPair() }
  let gate: TestGate
  let documents: DocumentServer
  before(async () => {
    documents = await serveDocuments()
    for (const [name, { pair }] of Object.entries({ kubernetes, github })) {
      const issuer = `${documents.origin}/${name}`
      documents.documents.set(`/${name}/.well-known/openid-configuration`, { issuer, jwks_uri: `${issuer}/jwks` })
      documents.documents.set(`/${name}/jwks`, {
        keys: [toJwk(pair.publicKey, { kid: name, alg: 'RS256', use: 'sig' })],
      })
    }
    const issuer = `${documents.origin}/liar`
    documents.documents.set('/liar/.well-known/openid-configuration', {
      issuer: `${documents.origin}/kubernetes`,
      jwks_uri: `${documents.origin}/kubernetes/jwks`,
    })
    gate = await startGate(place(), { clock, flags: { '--client-jwks-private': 'true' } })
    const federated = [
      { issuer: `${documents.origin}/kubernetes`, subject: kubernetes.subject },
      { issuer: `${documents.origin}/github`, subject: github.subject },
      {
        issuer: inline.issuer,
        subject: inline.subject,
        jwks: { keys: [toJwk(inline.pair.publicKey, { kid: 'edge' })] },
      },
      { issuer, subject: 'x' },
    ]
    const base = { grant_types: ['client_credentials'], scope: 'Platform/Market' }
    await gate.stores.clients.put({
      ...base,
      client_id: 'pricer',
      token_endpoint_auth_method: 'private_key_jwt',
      federated,
    })
    await gate.stores.clients.put({ ...base, client_id: 'both', federated })
    // The id of the client is the subject of the workload.
    const own = { issuer: `${documents.origin}/kubernetes`, subject: 'namesake' }
    await gate.stores.clients.put({ ...base, client_id: 'namesake', federated: [own] })
    await gate.stores.clients.addSecret('both', SECRET)
  })
  after(async () => {
    await gate.stop()
    documents.close()
  })

  /** A projected service account token: no typ, an array as the audience. */
  const kubernetesToken = (changes: JsonMembers = {}, pair = kubernetes.pair) =>
    signJwt({ alg: 'RS256', kid: 'kubernetes' }, pair.privateKey, {
      iss: `${documents.origin}/kubernetes`,
      sub: kubernetes.subject,
      aud: [gate.server.issuer],
      iat: now(),
      nbf: now(),
      exp: now() + 3600,
      jti: 'd5a7a1a6-2bd4-4f5e-9a1e-2f6a0d3c9a11',
      'kubernetes.io': { namespace: 'trading', serviceaccount: { name: 'pricer', uid: '7b1c' } },
      ...changes,
    })
  const githubToken = () =>
    signJwt({ alg: 'RS256', kid: 'github', typ: 'JWT', x5t: 'github' }, github.pair.privateKey, {
      iss: `${documents.origin}/github`,
      sub: github.subject,
      aud: gate.server.issuer,
      iat: now(),
      nbf: now() - 300,
      exp: now() + 300,
      jti: randomUUID(),
      repository: 'example/pricer',
      ref: 'refs/heads/main',
    })
  const ask = (token: string, form: Record<string, string> = { client_id: 'pricer' }) =>
    gate.post('/connect/token', buildForm(token, form))
  const readStatus = async (token: string, form?: Record<string, string>) => (await ask(token, form)).status
  const readFault = async (token: string, form?: Record<string, string>) => {
    const before = gate.server.log.length
    assert.equal(await readStatus(token, form), 401)
    const [, fault] = /client authentication by \w+: ([^"]*)/.exec(gate.server.log.slice(before).join()) ?? []
    return fault
  }

  test('a service account of Kubernetes authenticates with one token until it expires', async () => {
    const token = kubernetesToken()
    for (let at = 0; at < 3; at++) {
      const { status, text, body } = await ask(token)
      assert.equal(status, 200, text)
      assert.equal(decodeClaims(String(body.access_token)).client_id, 'pricer')
    }
    assert.deepEqual(documents.fetched, ['/kubernetes/.well-known/openid-configuration', '/kubernetes/jwks'])
    clock.advance(3_600_000)
    assert.equal(await readFault(token), 'it has expired')
  })

  test('a CI job authenticates, and one with keys in the registration', async () => {
    assert.equal(await readStatus(githubToken()), 200)
    const claims = { iss: inline.issuer, sub: inline.subject, aud: gate.server.issuer, iat: now(), exp: now() + 60 }
    assert.equal(await readStatus(signJwt({ alg: 'ES256', kid: 'edge' }, inline.pair.privateKey, claims)), 200)
  })

  test('a client may have a secret besides', async () => {
    assert.equal(await readStatus(githubToken(), { client_id: 'both' }), 200)
    const authorization = basic('both', SECRET)
    const answer = await gate.post('/connect/token', { grant_type: 'client_credentials' }, { authorization })
    assert.equal(answer.status, 200)
  })

  test('the subject is exact, and client_id is needed', async () => {
    assert.match((await readFault(kubernetesToken({ sub: `${kubernetes.subject}2` }))) ?? '', /no registered workload/)
    assert.match((await readFault(kubernetesToken({ sub: kubernetes.subject.toUpperCase() }))) ?? '', /no registered/)
    assert.match((await readFault(kubernetesToken({ sub: [kubernetes.subject] }))) ?? '', /no registered workload/)
    assert.match((await readFault(kubernetesToken({ iss: `${documents.origin}/github` }))) ?? '', /no registered/)
    assert.match((await readFault(kubernetesToken({ iss: `${documents.origin}/kubernetes/` }))) ?? '', /no registered/)
    assert.equal(await readFault(kubernetesToken(), {}), 'unknown client')
    assert.equal(await readStatus(kubernetesToken({ sub: 'namesake' }), { client_id: 'namesake' }), 200)
    assert.equal(await readFault(kubernetesToken({ sub: 'namesake' }), {}), 'client_id is missing')
    assert.match((await readFault(kubernetesToken(), { client_id: 'service' })) ?? '', /no registered workload/)
  })

  test('the audience is the issuer alone, for at most an hour', async () => {
    const { issuer } = gate.server
    for (const aud of [[issuer, 'https://kubernetes.default.svc'], `${issuer}/connect/token`, undefined, []])
      assert.equal(await readFault(kubernetesToken({ aud })), 'aud is not this issuer alone')
    for (const changes of [{ exp: now() + 3601 }, { iat: undefined }, { iat: now() - 7200, exp: now() + 60 }])
      assert.equal(await readFault(kubernetesToken(changes)), 'it is valid for more than an hour')
    assert.equal(await readFault(kubernetesToken({ iat: now() + 60 })), 'iat or nbf is in the future')
  })

  test('a key of another issuer, and metadata that name another issuer, are refused', async () => {
    assert.equal(await readFault(kubernetesToken({}, github.pair)), 'its signature is wrong')
    const token = kubernetesToken({ iss: `${documents.origin}/liar`, sub: 'x' })
    assert.equal(await readFault(token), 'the metadata of its issuer name another one')
  })
})
