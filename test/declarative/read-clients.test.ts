/** What is wrong with clients in a declarative file that authenticate with assertions, exchange tokens or have a security profile. */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { checkMeaning } from '../../packages/server/src/declarative/check-meaning.ts'
import { readDeclaration } from '../../packages/server/src/declarative/read.ts'

const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const EMPTY = { keys: [] }
const ROBOT = {
  client_id: 'robot',
  token_endpoint_auth_method: 'private_key_jwt',
  grant_types: ['client_credentials'],
}
const WEB = { client_id: 'web', client_secret: 'secret', redirect_uris: ['https://app.example.com/callback'] }

const RSA_KEY = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'jwk' })

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-declarative-'))
after(() => rmSync(folder, { recursive: true }))

/** All faults of a file, each as `path: text`. */
function findFaults(declaration: object): string[] {
  const file = join(folder, 'gatehouse.json')
  writeFileSync(file, JSON.stringify(declaration))
  return checkMeaning(readDeclaration(file).declaration, []).map(({ path, text }) => `${path}: ${text}`)
}

const CASES: readonly [object, ...string[]][] = [
  [
    { clients: [{ ...WEB, token_endpoint_auth_method: 'private_key_jwt', jwks: EMPTY }] },
    'clients[0].client_secret: a client with token_endpoint_auth_method private_key_jwt has no secret',
    'clients[0].jwks: private_key_jwt needs the public keys of the client in jwks or jwks_uri, or federated',
  ],
  [
    { clients: [{ ...ROBOT, jwks: { keys: [{ kty: 'oct' }] }, jwks_uri: 'http://keys.example' }] },
    'clients[0].jwks_uri: "http://keys.example": http is allowed on loopback only (localhost, 127.0.0.1, [::1]): use https',
    'clients[0].jwks_uri: cannot be combined with jwks',
    'clients[0].jwks.keys[0]: is not RSA, EC with the curve P-256, or Ed25519',
  ],
  [
    { clients: [{ ...WEB, jwks_uri: 'https://keys.example', token_endpoint_auth_signing_alg: 'ES256' }] },
    'clients[0].token_endpoint_auth_signing_alg: needs token_endpoint_auth_method private_key_jwt',
  ],
  [
    { clients: [{ ...WEB, jwks: EMPTY, request_object_signing_alg: 'ES256', require_signed_request_object: true }] },
    'clients[0].request_object_signing_alg: needs the public keys of the client in jwks or jwks_uri',
    'clients[0].require_signed_request_object: needs the public keys of the client in jwks or jwks_uri',
  ],
  [
    {
      clients: [
        {
          ...ROBOT,
          federated: [
            { issuer: 'ftp://ci.example', subject: 'repo:*' },
            { issuer: 'ftp://ci.example', subject: 'repo:*', jwks: EMPTY },
          ],
        },
      ],
    },
    'clients[0].federated[0].issuer: "ftp://ci.example": an https URI is required',
    'clients[0].federated[0].subject: wildcards are not supported: list each subject',
    'clients[0].federated[1].subject: wildcards are not supported: list each subject',
    'clients[0].federated[1]: has the issuer and subject of federated[0]',
  ],
  [
    {
      clients: [
        {
          ...ROBOT,
          token_endpoint_auth_method: 'none',
          federated: [{ issuer: 'https://a.example', subject: 's' }],
          grant_types: [EXCHANGE],
        },
      ],
    },
    'clients[0].federated: a public client does not authenticate',
    'clients[0].grant_types[0]: a public client cannot exchange tokens',
    'clients[0].api: is missing: a client that exchanges tokens names the resource of the API that it is',
  ],
  [
    {
      clients: [
        {
          ...ROBOT,
          profile: 'fapi2',
          jwks: { keys: [{ ...RSA_KEY, alg: 'RS256' }] },
          redirect_uris: [
            'https://app.example.com/callback',
            'http://localhost/callback',
            'https://localhost/callback',
            'com.example.app:/callback',
          ],
          grant_types: ['authorization_code', 'refresh_token', 'client_credentials', 'implicit'],
          response_types: ['code', 'code id_token'],
          code_challenge_methods: ['S256', 'plain'],
          dpop_bound_access_tokens: false,
          id_token_signed_response_alg: 'RS256',
        },
      ],
    },
    'clients[0].grant_types[3]: fapi2: must be one of authorization_code, refresh_token, client_credentials',
    'clients[0].response_types[1]: fapi2: must be code',
    'clients[0].redirect_uris[1]: fapi2: must use https',
    'clients[0].redirect_uris[2]: fapi2: must not be on loopback',
    'clients[0].redirect_uris[3]: fapi2: must use https',
    'clients[0].code_challenge_methods[1]: fapi2: must be S256',
    'clients[0].dpop_bound_access_tokens: fapi2: must not be false',
    'clients[0].id_token_signed_response_alg: fapi2: must be PS256, ES256 or EdDSA',
    'clients[0].jwks.keys[0].alg: fapi2: must be PS256, ES256 or EdDSA',
  ],
  [
    { clients: [{ ...WEB, profile: 'fapi2', federated: [{ issuer: 'https://ci.example', subject: 's' }] }] },
    'clients[0].token_endpoint_auth_method: fapi2: must be private_key_jwt',
    'clients[0].federated: fapi2: the client must authenticate with its own key, in jwks or jwks_uri',
  ],
  [
    { clients: [{ ...WEB, exchange_scope: 'Platform/Market' }] },
    'clients[0].exchange_scope: needs urn:ietf:params:oauth:grant-type:token-exchange in grant_types',
  ],
  [
    {
      apis: [{ resource: 'https://orders.example', scopes: [{ name: 'orders:read' }] }],
      clients: [
        {
          ...WEB,
          grant_types: ['authorization_code', EXCHANGE],
          api: 'https://order.example',
          exchange_scope: 'openid Platform/Markt Platform/News Platform/News',
        },
        {
          ...WEB,
          client_id: 'o',
          grant_types: [EXCHANGE],
          api: 'https://orders.example',
          exchange_scope: 'orders:read',
        },
      ],
    },
    'clients[0].api: unknown API "https://order.example"; did you mean "https://orders.example"?',
    'clients[0].exchange_scope: "openid" is no right: tokens from an exchange have rights only',
    'clients[0].exchange_scope: unknown scope "Platform/Markt"; did you mean "Platform/Market"?',
    'clients[0].exchange_scope: "Platform/News" is listed twice',
    'clients[1].exchange_scope: "orders:read" is a scope of the API that the client is, where it gets those of the token that it exchanges',
  ],
]

for (const [declaration, ...expected] of CASES)
  test(expected.join(' and '), () => assert.deepEqual(findFaults(declaration), expected))
