/** JWTs that others sign, and an issuer that publishes its metadata and keys. */
import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import http from 'node:http'
import type { AddressInfo } from 'node:net'

export type JsonMembers = Record<string, unknown>

export interface KeyPair {
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
}

export const rsaPair = (): KeyPair => generateKeyPairSync('rsa', { modulusLength: 2048 })
export const ecPair = (): KeyPair => generateKeyPairSync('ec', { namedCurve: 'P-256' })

export function toJwk(key: KeyObject, members: JsonMembers = {}): JsonMembers & { kty: string } {
  return { kty: '', ...key.export({ format: 'jwk' }), ...members }
}

/** A string as the key makes an HMAC. */
export function signJwt(header: JsonMembers, key: KeyObject | string, claims: JsonMembers): string {
  const input = `${encoded(header)}.${encoded(claims)}`
  return `${input}.${createSignature(input, String(header.alg), key).toString('base64url')}`
}

export function encoded(part: unknown): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}

function createSignature(input: string, alg: string, key: KeyObject | string): Buffer {
  const data = Buffer.from(input)
  if (typeof key === 'string') return createHmac('sha256', key).update(data).digest()
  if (alg === 'PS256') return sign('sha256', data, { key, padding: 6, saltLength: 32 })
  if (alg === 'ES256') return sign('sha256', data, { key, dsaEncoding: 'ieee-p1363' })
  return sign(key.asymmetricKeyType === 'ed25519' ? null : 'sha256', data, key)
}

export interface DocumentServer {
  readonly origin: string
  /** The paths that were asked for. */
  readonly fetched: string[]
  /** The documents by path; a function answers by itself. */
  readonly documents: Map<string, object | http.RequestListener>
  close(): void
}

/** Serves JSON documents on loopback. */
export async function serveDocuments(): Promise<DocumentServer> {
  const documents = new Map<string, object | http.RequestListener>()
  const fetched: string[] = []
  const server = http.createServer((request, response) => {
    const path = request.url ?? ''
    fetched.push(path)
    const document = documents.get(path)
    if (typeof document === 'function') (document as http.RequestListener)(request, response)
    else if (document === undefined) response.writeHead(404).end()
    else response.setHeader('content-type', 'application/json').end(JSON.stringify(document))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    fetched,
    documents,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
