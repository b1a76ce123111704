/** Tokens of a client that is registered for DPoP (RFC 9449): the command line proves that it has their key, which is in a file. */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { dpop, type KeyPair } from '../../../../client/src/dpop.ts'
import type { Auth, AuthEnv, GrantedTokens, TokenSource } from '../../../../client/src/index.ts'
import { CommandError } from '../errors.ts'
import { asObject, parseJson } from '../output/json.ts'
import { credentialsFile } from './credentials.ts'

type Fetch = AuthEnv['fetch']

/**
 * Bearer tokens, unless the server says that the client needs others: a key beside the tokens protects little. `isBound`: the
 * token of the login is bound already.
 */
export function provenIfNeeded(auth: Auth<GrantedTokens>, isBound = false): Auth<GrantedTokens> {
  return (env) => {
    const proving = dpop(capture, { key: storedKey })(env)
    const { fetch: send } = env
    let isOn = isBound
    const fetch: Fetch = async (url, init) => {
      if (isOn) return proving.send(url, init)
      const response = await send(url, init)
      if (response.status !== 400 || url !== (await env.endpoint('token'))) return response
      const { error } = asObject(await response.clone().json())
      if (error !== 'invalid_dpop_proof') return response
      isOn = true
      return proving.send(url, init)
    }
    const source = auth({ ...env, fetch })
    Object.defineProperties(source, {
      wrap: {
        value(plain: Fetch): Fetch {
          const proven = proving.wrap?.(plain) ?? plain
          return (url, init) => (isOn ? proven : plain)(url, init)
        },
      },
      prove: { get: () => (isOn ? proving.prove : undefined) },
    })
    return source
  }
}

interface Captured extends TokenSource {
  readonly send: Fetch
}

/** Not a source of tokens: it only gets the `fetch` that proves. */
function capture({ fetch: send }: AuthEnv): Captured {
  return { send, token: () => Promise.reject(new Error('It has no tokens')) }
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256' } as const

function keyFile(): string {
  return join(dirname(credentialsFile()), 'dpop-key.json')
}

async function storedKey(): Promise<KeyPair> {
  const { subtle } = globalThis.crypto
  const kept = readKey()
  if (kept !== undefined) {
    const { d: _private, ...open } = kept
    return {
      privateKey: await subtle.importKey('jwk', kept, ALGORITHM, false, ['sign']),
      publicKey: await subtle.importKey('jwk', open, ALGORITHM, true, ['verify']),
    }
  }
  const pair = await subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const { kty, crv, x, y, d } = await subtle.exportKey('jwk', pair.privateKey)
  const file = keyFile()
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  writeFileSync(file, `${JSON.stringify({ kty, crv, x, y, d })}\n`, { mode: 0o600 })
  chmodSync(file, 0o600)
  return pair
}

function readKey(): Readonly<Record<'kty' | 'crv' | 'x' | 'y' | 'd', string>> | undefined {
  const file = keyFile()
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
  const { kty, crv, x, y, d } = asObject(parseJson(text))
  if (kty !== 'EC' || crv !== 'P-256' || typeof x !== 'string' || typeof y !== 'string' || typeof d !== 'string')
    throw new CommandError(`${file} is damaged: remove it and log in again.`)
  return { kty, crv, x, y, d }
}
