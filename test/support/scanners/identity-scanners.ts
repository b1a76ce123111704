/** Scanners of OAuth parameters, proofs and preconditions, of the messages of feeds, and of documents. */
import { generateKeyPairSync, sign } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkMatch } from '../../../packages/server/src/admin/request/etag.ts'
import { readDeclaration } from '../../../packages/server/src/declarative/read.ts'
import { CLOUD_EVENT, JSON_BODY, NDJSON, readMessages } from '../../../packages/server/src/feeds/http/read-messages.ts'
import { readClaims, readSubjects, scopesOfClaims } from '../../../packages/server/src/identity/authorize/claims.ts'
import { openRequestObject } from '../../../packages/server/src/identity/authorize/request-object.ts'
import { readProof } from '../../../packages/server/src/identity/dpop/proof.ts'
import { ProofKeys } from '../../../packages/server/src/identity/dpop/proof-keys.ts'
import { parseScope, sortScopes } from '../../../packages/server/src/identity/tokens/scope.ts'
import { checkVersion } from '../../../packages/server/src/scim/replies.ts'
import { createSearch } from '../../../packages/server/src/site/documentation/search.ts'
import type { Scanner } from '../linear-time.ts'
import { BODY, CHARACTERS, each, HEAD, JSON_TOKENS } from './attack-tokens.ts'

const CLIENT = { id: 'c', scopes: new Set(['openid', 'profile']), requestObjectAlg: 'ES256', jwks: undefined }
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const base64url = (text: string): string => Buffer.from(text).toString('base64url')

/** A JWT of this payload with a good signature. */
function signed(header: object, payload: string): string {
  const input = `${base64url(JSON.stringify(header))}.${base64url(payload)}`
  const signature = sign('sha256', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  return `${input}.${signature.toString('base64url')}`
}

const parameters = (name: string, text: string): never =>
  ({ get: (asked: string) => (asked === name ? text : undefined), repeated: new Set(), all: () => [] }) as never

const requestObjects = {
  issuer: 'https://gate.example',
  clock: Date.now,
  clientKeys: async () => async () => [{ key: publicKey, algs: ['ES256'] }],
} as never

const PROOF_HEADER = { typ: 'dpop+jwt', alg: 'ES256', jwk: publicKey.export({ format: 'jwk' }) }
const PROVEN = { method: 'GET', isAddress: () => true }
const proofKeys = new ProofKeys()

const claims = (text: string): void => {
  const read = readClaims({ parameters: parameters('claims', text), client: CLIENT } as never, new Map() as never)
  scopesOfClaims(read, new Map() as never)
  readSubjects(read, 'u')
}

const search = createSearch(
  {
    async *sections() {
      const heading = { depth: 1, id: 'a', text: 'Tokens' }
      yield { page: { slug: 'tokens', title: 'Tokens' }, sections: [{ heading, text: 'a.b '.repeat(20_000) }] }
    },
  } as never,
  '/docs',
)

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-scanners-'))
process.once('exit', () => rmSync(folder, { recursive: true }))
const file = join(folder, 'gatehouse.yaml')

export const IDENTITY_SCANNERS: readonly Scanner[] = [
  {
    name: 'the parameter scope',
    scan: each((text) => sortScopes(parseScope(text, { has: () => true } as never) ?? [])),
    tokens: [...CHARACTERS, 'a ', 'openid ', '  '],
    most: BODY,
  },
  {
    name: 'the parameter claims',
    scan: each(claims, (text) =>
      claims(
        `{"id_token":{"sub":{"values":[${text}0]}},"userinfo":{"sub":{"values":[${text.replaceAll('a', 'b')}0]}}}`,
      ),
    ),
    tokens: [...JSON_TOKENS, '"a",', '"email":null,', '"a":{"values":[]},'],
    around: [
      ['', ''],
      ['{"id_token":{', '"sub":null}}'],
    ],
    most: BODY,
  },
  {
    name: 'request objects',
    scan: (text) =>
      openRequestObject(
        parameters('request', signed({ alg: 'ES256', typ: 'oauth-authz-req+jwt' }, text)),
        CLIENT as never,
        requestObjects,
      ),
    tokens: JSON_TOKENS,
    around: [
      ['{', '"a":1}'],
      ['{"resource":[', '"a"]}'],
      ['{"claims":[', '0]}'],
    ],
    most: HEAD,
  },
  {
    name: 'DPoP proofs',
    scan: each(
      (text) => readProof(text, PROVEN, proofKeys),
      (text) => readProof(`${base64url(JSON.stringify(PROOF_HEADER))}.${base64url(text)}.a`, PROVEN, proofKeys),
      (text) => readProof(`${base64url(text)}.e30.a`, PROVEN, proofKeys),
    ),
    tokens: [...CHARACTERS, ...JSON_TOKENS, 'a.'],
    around: [
      ['', ''],
      ['{"jti":"', '","htm":"GET"}'],
      ['a.', '.a'],
    ],
    most: HEAD,
  },
  {
    name: 'If-Match and If-None-Match',
    scan: each(
      (text) => checkMatch({ ifMatch: text } as never, { a: 1 }),
      (text) => checkVersion({ headers: { 'if-match': text } } as never, { meta: { version: 'W/"1"' } }),
    ),
    tokens: [...CHARACTERS, '"a",', 'W/', 'W/"a", ', '*'],
    most: HEAD,
  },
  {
    name: 'messages of feeds and CloudEvents',
    scan: each(
      ...[CLOUD_EVENT, NDJSON, JSON_BODY].map((type) => (text: string) => [
        ...readMessages({ body: Buffer.from(text) }, type),
      ]),
    ),
    tokens: [...JSON_TOKENS, '{"Topic":"a","Data":1}\n', '{"Topic":"a","Data":1},', '{"Topic":"', '\n'],
    around: [
      ['', ''],
      ['[', ']'],
      ['{"Topic":"a","Data":[', '0]}'],
      ['{"specversion":"1.0","id":"1","source":"a","type":"a","subject":"a","data":[', '0]}'],
    ],
    most: BODY,
  },
  {
    name: 'declarative files',
    scan(text) {
      writeFileSync(file, text)
      return readDeclaration(file)
    },
    tokens: [
      'a: 1\n',
      'a',
      '- ',
      '- a\n',
      '  ',
      '[',
      '{',
      '"',
      "'",
      ',',
      ': ',
      '&a ',
      '*a ',
      '# ',
      '|\n',
      '? ',
      '\n',
      '!',
    ],
    around: [
      ['', ''],
      ['clients:\n', '\n'],
    ],
    most: 8192,
    // The file of an operator. The parser of YAML describes every fault that it finds.
    slowness: 8,
  },
  {
    name: 'searches of the documentation',
    scan: search,
    tokens: [...CHARACTERS, 'a ', 'a.', 'a-', 'token '],
    most: HEAD,
  },
]
