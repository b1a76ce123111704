/** The FAPI 2.0 modules about DPoP (RFC 9449). */
import assert from 'node:assert/strict'
import { createProofMaker } from '../../support/dpop.ts'
import { checkRefused } from './checks.ts'
import { askTokens, type FapiModule, grantTokens, inAll, succeed } from './flow.ts'
import { forge } from './jws.ts'
import { type Bench, type Proof, randomText } from './party.ts'

const OTHER_KEY = ['invalid_request', 'invalid_grant', 'invalid_dpop_proof']

export const dpopModules: readonly FapiModule[] = [
  {
    id: 'fapi2-security-profile-final-check-dpop-proof-nbf-exp',
    isIn: inAll,
    run: (bench) => {
      const now = Math.floor(bench.target.now() / 1000)
      const proof = { claims: { nbf: now, exp: now + 300 } }
      return succeed(bench, bench.party, { token: { proof }, proof })
    },
  },
  issuedAt('ensure-dpopproof-with-iat-10seconds-before-succeeds', -10),
  issuedAt('ensure-dpopproof-with-iat-10seconds-after-succeeds', 8),
  {
    id: 'fapi2-security-profile-final-ensure-token-endpoint-fails-with-mismatched-dpop-proof-jkt',
    async run(bench) {
      const token = { proof: { by: createProofMaker('ES256') } }
      checkRefused(await askTokens(bench, bench.party, { push: { proof: {} }, token }), OTHER_KEY)
    },
  },
  {
    id: 'fapi2-security-profile-final-ensure-token-endpoint-fails-with-mismatched-dpop-jkt',
    async run(bench) {
      const request = { dpop_jkt: bench.otherParty.proofMaker.thumbprint }
      checkRefused(await askTokens(bench, bench.party, { request }), OTHER_KEY)
    },
  },
  {
    id: 'fapi2-security-profile-final-ensure-dpopproof-at-par-endpoint-binding-success',
    run: (bench) => succeed(bench, bench.party, { push: { proof: {} } }),
  },
  {
    id: 'fapi2-security-profile-final-ensure-dpop-auth-code-binding-success',
    run: (bench) => {
      const request = { dpop_jkt: bench.party.proofMaker.thumbprint }
      return succeed(bench, bench.party, { request, push: { proof: {} } })
    },
  },
  { id: 'fapi2-security-profile-final-dpop-negative-tests', isIn: inAll, run: refuseProofs },
]

/** Clocks that differ by some seconds. */
function issuedAt(id: string, offset: number): FapiModule {
  return {
    id: `fapi2-security-profile-final-${id}`,
    isIn: inAll,
    run: (bench) => {
      const proof = { claims: { iat: Math.floor(bench.target.now() / 1000) + offset } }
      return succeed(bench, bench.party, { push: { proof }, token: { proof }, proof })
    },
  }
}

async function refuseProofs(bench: Bench): Promise<void> {
  // An RSA key, so that the same key can sign with RS256.
  const key = createProofMaker('PS256')
  const { party } = bench
  party.proofMaker = key
  const { accessToken } = await grantTokens(bench, party)
  const url = bench.target.resource(bench.plan)
  const now = Math.floor(bench.target.now() / 1000)
  const jti = randomText(15)

  const accepted = async (name: string, proof: Proof) => {
    const reply = await party.resource(accessToken, proof)
    assert.equal(reply.status, 200, `${name}: ${reply.status} ${reply.text}`)
  }
  const refused = async (name: string, proof: Proof) => {
    const { status, text } = await party.resource(accessToken, proof)
    assert.ok([400, 401].includes(status), `${name}: ${status} ${text}`)
  }

  await accepted('a usual proof', {})
  await accepted('the header in capitals', { headerName: 'DPOP' })
  const another = key.prove({ url, accessToken, now: bench.target.now() })
  await refused('two proofs', { send: (proof) => [proof, another] })
  await refused('two parts', { send: (proof) => proof.split('.').slice(0, 2).join('.') })
  for (const name of ['typ', 'jwk']) await refused(`no ${name}`, { header: { [name]: undefined } })
  await refused('no alg', { header: { alg: undefined, alg2: 'PS256' } })
  for (const name of ['jti', 'htm', 'htu', 'iat', 'ath']) await refused(`no ${name}`, { claims: { [name]: undefined } })
  await refused('another typ', { header: { typ: 'dpop+jwt+wrong' } })
  await refused('RS256', { by: key.as('RS256') })
  await refused('none', { header: { alg: 'none', jwk: undefined }, send: (proof) => proof.replace(/[^.]+$/, '') })
  await refused('another signature', { send: forge })
  await refused('a private key', { header: { jwk: key.privateJwk() } })
  await refused('another method', { claims: { htm: 'PUT' } })
  await accepted('htu with query and fragment', { claims: { htu: `${url}?page=1#end` } })
  await refused('another address', { claims: { htu: `${url}elsewhere` } })
  for (const [name, iat] of [
    ['an hour ahead', now + 3600],
    ['an hour ago', now - 3600],
  ] as const) {
    const reply = await party.resource(accessToken, { claims: { iat } })
    const expected = reply.neededNonce ? [200] : [400, 401]
    assert.ok(expected.includes(reply.status), `${name}: ${reply.status} ${reply.text}`)
  }
  await accepted('a jti', { claims: { jti } })
  await refused('the same jti', { claims: { jti } })
  await refused('another ath', { claims: { ath: randomText(43) } })
  await refused('another key', { by: createProofMaker('PS256') })
  await accepted('unknown members', { header: { tx_id: now }, claims: { tx_id_key: now } })
  const { protocol, host, pathname } = new URL(url)
  await accepted('scheme and host in capitals', {
    claims: { htu: `${protocol.toUpperCase()}//${host.toUpperCase()}${pathname}` },
  })
  await refused('no proof', 'none')
  const bearer = await party.resource(accessToken, 'none', { authorization: `Bearer ${accessToken}` })
  assert.ok([400, 401].includes(bearer.status), `as a bearer token: ${bearer.status}`)
  await accepted('a usual proof at the end', {})
}
