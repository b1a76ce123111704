/** The server for tests of client libraries: plain http on loopback, one user, several clients. */
import { generateKeyPairSync, type webcrypto } from 'node:crypto'
import type { Declaration } from '../../packages/server/src/declarative/shape.ts'
import { openPlace } from '../support/engines.ts'
import { ecPair, rsaPair, toJwk } from '../support/foreign-issuer.ts'
import { type Gatehouse, type GatehouseOptions, startGatehouse } from '../support/providers/gatehouse.ts'
import { requestKey } from '../support/providers/provider.ts'
import { createUserAgent, type Departure } from '../support/user-agent.ts'
import { visit } from '../support/visitor.ts'

export const CALLBACK = 'https://rp.example.com/callback'
export const SIGNED_OUT = 'https://rp.example.com/signed-out'
export const ALICE = { username: 'alice', password: 'a long walk down the rabbit hole' } as const
export const SECRET = 'a-secret-of-the-web-client-that-is-long'
export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

type Client = NonNullable<Declaration['clients']>[number]

export interface OpenGatehouse extends Gatehouse {
  close(): Promise<void>
}

/** On SQLite: client libraries do not depend on the database. */
export async function openGatehouse(
  clients: readonly Client[],
  { apis, ...options }: Omit<GatehouseOptions, 'declaration'> & Pick<Declaration, 'apis'> = {},
): Promise<OpenGatehouse> {
  const { place, leave } = await openPlace('sqlite')
  const own = apis?.flatMap(({ scopes = [] }) => scopes.map(({ name }) => name)) ?? []
  const declaration: Declaration = {
    roles: [{ name: 'trader', scopes: ['Platform/Market', 'Platform/Trading', ...own] }],
    users: [{ ...ALICE, roles: ['trader'], name: 'Alice Liddell', email: 'alice@example.com', email_verified: true }],
    ...(apis && { apis }),
    clients: [...clients],
  }
  const gatehouse = await startGatehouse(place, { ...options, declaration })
  return {
    ...gatehouse,
    async close() {
      await gatehouse.stop()
      await leave()
    },
  }
}

const webKey = { kty: 'RSA', ...requestKey.publicKey.export({ format: 'jwk' }), kid: 'web-1', alg: 'RS256', use: 'sig' }

export const webClient: Client = {
  client_id: 'web',
  client_name: 'Web',
  client_secret: SECRET,
  redirect_uris: [CALLBACK],
  post_logout_redirect_uris: [SIGNED_OUT],
  grant_types: ['authorization_code', 'implicit', 'refresh_token', 'client_credentials'],
  response_types: ['code', 'id_token', 'code id_token', 'code id_token token'],
  scope: 'openid profile email roles offline_access Platform/Market',
  jwks: { keys: [webKey] },
}

export const deviceClient: Client = {
  client_id: 'device',
  client_name: 'Terminal',
  token_endpoint_auth_method: 'none',
  grant_types: [DEVICE_GRANT, 'refresh_token'],
  response_types: [],
  scope: 'openid profile offline_access Platform/Market',
}

const assertionKeys = { ES256: ecPair(), PS256: rsaPair(), EdDSA: generateKeyPairSync('ed25519') }

/** Authenticates by private_key_jwt. */
export const keyClient: Client = {
  client_id: 'keys',
  token_endpoint_auth_method: 'private_key_jwt',
  redirect_uris: [CALLBACK],
  grant_types: ['authorization_code', 'client_credentials', DEVICE_GRANT],
  scope: 'openid Platform/Market',
  jwks: {
    keys: Object.entries(assertionKeys).map(([alg, { publicKey }]) => toJwk(publicKey, { kid: `key-${alg}`, alg })),
  },
}

const PARAMETERS = {
  ES256: { name: 'ECDSA', namedCurve: 'P-256' },
  PS256: { name: 'RSA-PSS', hash: 'SHA-256' },
  EdDSA: { name: 'Ed25519' },
} as const

/** The private keys of `keyClient`. */
export const ASSERTION_ALGS = ['ES256', 'PS256', 'EdDSA'] as const
export function assertionKey(alg: (typeof ASSERTION_ALGS)[number]): { key: webcrypto.CryptoKey; kid: string } {
  return { key: assertionKeys[alg].privateKey.toCryptoKey(PARAMETERS[alg], false, ['sign']), kid: `key-${alg}` }
}

/** Opens a URL of the client as Alice, signs in and consents; returns the redirect back to the client. */
export async function followAsAlice({ issuer }: Gatehouse, start: URL): Promise<Departure> {
  const agent = createUserAgent({ home: issuer })
  const { end } = await visit(agent, await agent.get(start), ALICE)
  if (end.kind === 'page') throw new Error(`No redirect, but a page: ${end.status} ${end.url} ${end.body}`)
  return end
}

/** Enters a user code as Alice and consents. */
export async function approveDevice({ issuer }: Gatehouse, verificationUri: string, userCode: string): Promise<void> {
  const agent = createUserAgent({ home: issuer })
  let page = await agent.get(verificationUri)
  for (let step = 0; step < 5 && page.kind === 'page'; step++) {
    const form = page.forms[0]
    if (form === undefined) return
    const asksCode = form.fields.some(({ name, type }) => name === 'user_code' && type === 'text')
    page = asksCode ? await agent.submit(form, { user_code: userCode }) : (await visit(agent, page, ALICE)).end
  }
}
