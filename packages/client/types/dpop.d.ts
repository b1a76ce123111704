/** Tokens that only this program can use (DPoP, RFC 9449): an entry of its own, for applications that need it. */
import type { Auth, TokenSource } from './auth/token-source.ts';
/** A key pair for ECDSA with the curve P-256, as Web Crypto makes it: a `CryptoKeyPair`, whose type is not everywhere. */
export interface KeyPair {
    readonly privateKey: object;
    readonly publicKey: object;
}
/** How the key is kept. */
export interface DpopOptions {
    /**
     * The key. By default, a page has one in IndexedDB for each issuer, which its tabs share and no script can read; a program has one in memory.
     * With `createKey`, a page has a new one each time it is loaded.
     */
    readonly key?: ((issuer: string) => Promise<KeyPair>) | undefined;
    /** A nonce of the server for the first proof, if the page has one: otherwise the first request is sent twice. */
    readonly nonce?: string | undefined;
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
export declare function dpop<Source extends TokenSource>(auth: Auth<Source>, options?: DpopOptions): Auth<Source>;
/** A new key, of which no script can read the private part. */
export declare function createKey(): Promise<KeyPair>;
