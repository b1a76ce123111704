/** Tokens that only this program can use (DPoP, RFC 9449): an entry of its own, for applications that need it. */
import type { Auth, TokenSource } from './auth/token-source.ts'
import type { Fetch } from './discovery.ts'

/** A key pair for ECDSA with the curve P-256, as Web Crypto makes it: a `CryptoKeyPair`, whose type is not everywhere. */
export interface KeyPair {
  readonly privateKey: object
  readonly publicKey: object
}

/** How the key is kept. */
export interface DpopOptions {
  /**
   * The key. By default, a page has one in IndexedDB for each issuer, which its tabs share and no script can read; a program has one in memory.
   * With `createKey`, a page has a new one each time it is loaded.
   */
  readonly key?: ((issuer: string) => Promise<KeyPair>) | undefined
  /** A nonce of the server for the first proof, if the page has one: otherwise the first request is sent twice. */
  readonly nonce?: string | undefined
}

/**
 * Binds the tokens of a source to a key: a stolen one is of no use. Every request and the stream prove that they have the key.
 *
 * @example
 * ```ts
 * // `dpop` is an import of its own: gatehouse-client/dpop
 * const auth = dpop(browser({ clientId: 'spa', scope: 'openid offline_access Platform/Market' }))
 * const gate = new Gatehouse('https://gate.example.com', { auth })
 * ```
 */
export function dpop<Source extends TokenSource>(auth: Auth<Source>, options: DpopOptions = {}): Auth<Source> {
  return (env) => {
    let key: Promise<KeyPair> | undefined
    /** The last one of each origin. */
    const nonces = new Map<string, string>()

    const loadKey = async () => {
      key ??= (options.key ?? storedKey)(env.issuer)
      const { privateKey, publicKey } = await key
      const { kty, crv, x, y } = await crypto.subtle.exportKey('jwk', publicKey as never)
      // In the order of RFC 7638 §3.
      return { privateKey, jwk: { crv, kty, x, y } }
    }

    const signProof = async (
      method: string,
      url: string,
      nonce: string | undefined,
      token?: string,
    ): Promise<string> => {
      const { privateKey, jwk } = await loadKey()
      const input = `${encode({ typ: 'dpop+jwt', alg: 'ES256', jwk })}.${encode({
        jti: crypto.randomUUID(),
        htm: method,
        htu: url.replace(/[?#].*/, ''),
        iat: Math.floor(Date.now() / 1000),
        nonce,
        ath: token && (await digest(token)),
      })}`
      return `${input}.${base64(await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, privateKey as never, bytes(input)))}`
    }

    /** Requests with a token get a proof, and so does the request for one. */
    const wrap =
      (fetch: Fetch): Fetch =>
      async (url, init = {}) => {
        const { method = 'GET' } = init
        const headers = new Headers(init.headers)
        const [, token] = headers.get('authorization')?.match(/^Bearer (.+)/) ?? []
        if (token !== undefined) headers.set('authorization', `DPoP ${token}`)
        else if (method !== 'POST' || url !== (await env.endpoint('token'))) return fetch(url, init)
        const { origin } = new URL(url)
        for (let isFirst = true; ; isFirst = false) {
          headers.set('dpop', await signProof(method, url, nonces.get(origin) ?? options.nonce, token))
          const response = await fetch(url, { ...init, headers })
          const nonce = response.headers.get('dpop-nonce')
          if (nonce !== null) nonces.set(origin, nonce)
          // §8, §9: an error with a nonce asks for the same request with that nonce.
          if (response.ok || nonce === null || !isFirst) return response
        }
      }

    const thumbprint = async (leaves: boolean) =>
      leaves && (options.key !== undefined || databases() === undefined)
        ? undefined
        : digest(JSON.stringify((await loadKey()).jwk))

    const source = auth({ ...env, fetch: wrap(env.fetch), thumbprint })
    return Object.assign(source, {
      wrap,
      async prove(url: string, token: string, reply: unknown) {
        const { Nonce } = reply as { readonly Nonce?: string }
        return { Provider: 'DPoP', Proof: await signProof('GET', url, Nonce, token) }
      },
    })
  }
}

/** A new key, of which no script can read the private part. */
export function createKey(): Promise<KeyPair> {
  return crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign'])
}

const STORE = 'keys'

async function storedKey(issuer: string): Promise<KeyPair> {
  const indexedDB = databases()
  if (indexedDB === undefined) return createKey()
  const opening = indexedDB.open('gatehouse-dpop', 1)
  opening.onupgradeneeded = () => opening.result.createObjectStore(STORE)
  const database = await done(opening)
  const store = () => database.transaction(STORE, 'readwrite').objectStore(STORE)
  const read = () => done(store().get(issuer))
  try {
    const kept = await read()
    if (kept !== undefined) return kept
    const made = await createKey()
    // Another tab may have been faster: then its key counts.
    return await done(store().add(made, issuer)).then(
      () => made,
      async () => (await read()) ?? made,
    )
  } finally {
    database.close()
  }
}

function databases(): Databases | undefined {
  return (globalThis as unknown as { indexedDB?: Databases }).indexedDB
}

/** What is used of IndexedDB: the types of the DOM are not everywhere. */
interface Databases {
  open(name: string, version: number): Pending<Database> & { onupgradeneeded: (() => void) | null }
}

interface Database {
  createObjectStore(name: string): void
  transaction(store: string, mode: string): { objectStore(name: string): ObjectStore }
  close(): void
}

interface ObjectStore {
  get(key: string): Pending<KeyPair | undefined>
  add(value: KeyPair, key: string): Pending<unknown>
}

interface Pending<T> {
  readonly result: T
  readonly error: unknown
  onsuccess: (() => void) | null
  onerror: (() => void) | null
}

function done<T>(pending: Pending<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    pending.onsuccess = () => resolve(pending.result)
    pending.onerror = () => reject(pending.error)
  })
}

async function digest(text: string): Promise<string> {
  return base64(await crypto.subtle.digest('SHA-256', bytes(text)))
}

function encode(value: unknown): string {
  return base64(bytes(JSON.stringify(value)))
}

function bytes(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text)
}

function base64(data: ArrayBuffer | Uint8Array<ArrayBuffer>): string {
  return btoa(String.fromCharCode(...new Uint8Array(data)))
    .replace(/\+/g, '-')
    .replace(/\//g, '_')
    .replace(/=/g, '')
}
