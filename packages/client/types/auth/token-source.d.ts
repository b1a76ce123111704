import type { EndpointName, Fetch } from '../discovery.ts';
import { AuthError } from '../errors.ts';
import { type TokenStorage } from './storage.ts';
/** An access token with what came with it. */
export interface Tokens {
    readonly accessToken: string;
    /** Milliseconds since the epoch, by the clock of this machine: when it should be renewed. */
    readonly renewAt?: number | undefined;
    readonly refreshToken?: string | undefined;
    readonly idToken?: string | undefined;
    /** What was granted. */
    readonly scope?: string | undefined;
}
/**
 * One source of tokens for requests and stream. Every function such as `password()` creates one; write your own to take
 * tokens from elsewhere.
 */
export interface TokenSource {
    /**
     * A token that should be valid. `refused` is one that the server did not accept, and `error` is why: it must not be returned again. For a
     * `StepUpNeeded` the user signs in again, where the source can ask for that.
     */
    token(refused?: string, error?: unknown): Promise<string>;
    /** The server has ended the session of this token: it must not be returned again. */
    refuse?(token: string): void;
    /** Forgets the tokens, and revokes them. */
    signOut?(): Promise<void>;
    close?(): void;
    /** Changes the requests that carry its tokens, as `dpop()` does. */
    wrap?(fetch: Fetch): Fetch;
    /** What `AuthToken` on a stream has besides the token. `reply` is what the server says to `QueryNonce`. */
    readonly prove?: (url: string, token: string, reply: unknown) => Promise<object>;
}
/** What the server says of the user, as far as the scopes allow. */
export interface User {
    readonly sub: string;
    readonly name?: string;
    readonly email?: string;
    readonly preferred_username?: string;
    readonly [claim: string]: unknown;
}
/** What a source needs to know of its server. */
export interface AuthEnv {
    readonly issuer: string;
    readonly fetch: Fetch;
    /** What the server says of itself (RFC 8414 §2), once the issuer is checked. */
    metadata(): Promise<Readonly<Record<string, unknown>>>;
    /** The address of an endpoint in it. */
    endpoint(name: EndpointName): Promise<string>;
    /** With `dpop()`: the thumbprint of its key, which codes are bound to. `leaves`: only if the key is kept while the page is left. */
    thumbprint?(leaves: boolean): Promise<string | undefined>;
}
/** What the option `auth` takes: made by `browser()`, `password()` and their like. */
export type Auth<Source extends TokenSource = TokenSource> = (env: AuthEnv) => Source;
/** The registered client that requests the tokens. */
export interface ClientOptions {
    /** The id of the registered client. */
    readonly clientId: string;
    /** Only for clients that can keep a secret, which no page can. */
    readonly clientSecret?: string | undefined;
    /** Separated by spaces. Without it, all that the client and the user may have. */
    readonly scope?: string | undefined;
    /** What the tokens are for, if not the built-in services: the resource of an API (RFC 8707). */
    readonly resource?: string | undefined;
    /** Where the tokens are kept between runs; only in memory by default. */
    readonly storage?: TokenStorage | undefined;
}
/**
 * Keeps the tokens of one grant: `gate.auth` of a client with `password()`, `device()` and their like. Make one yourself for
 * a grant of your own: `start` gets the first tokens, and others when they cannot be refreshed.
 *
 * @example
 * ```ts
 * const { name } = await gate.auth.user()
 * await gate.auth.signOut() // forgets the tokens and revokes them
 *
 * const auth = (env: AuthEnv) => new GrantedTokens(env, { clientId: 'worker' }, () => exchange(env))
 * ```
 */
export declare class GrantedTokens implements TokenSource {
    #private;
    /** By which the tokens are kept in the storage. */
    readonly key: string;
    constructor(env: AuthEnv, options: ClientOptions, start: () => Promise<Tokens>);
    token(refused?: string): Promise<string>;
    tokens(refused?: string): Promise<Tokens>;
    /** What is kept, fresh or not. */
    current(): Promise<Tokens | undefined>;
    keep(tokens: Tokens): Promise<void>;
    /** Who is signed in, as the server says now. */
    user(): Promise<User>;
    refuse(token: string): void;
    /** The storage has changed. */
    reload(): void;
    forget(): Promise<Tokens | undefined>;
    /** RFC 7009: the refresh token takes its access tokens with it. Forgotten first, should the server be away. */
    signOut(): Promise<void>;
}
/** There is no token, and the user must sign in. */
export declare function loginRequired(): AuthError;
/** POST to the token endpoint (RFC 6749 §3.2). */
export declare function requestTokens(env: AuthEnv, { scope, resource, ...client }: ClientOptions, form: Readonly<Record<string, string>>): Promise<Tokens>;
/** RFC 6749 §5.1. The expiry is counted from now, by our clock: it does not matter how far that is off. */
export declare function readTokens(reply: Readonly<Record<string, unknown>>): Tokens;
export declare function credentialForm({ clientId, clientSecret }: ClientOptions): Form;
type Form = Readonly<Record<string, string | undefined>>;
/** Repeated when the server is busy; not when the reply was lost, as a refresh token may have been used up. */
export declare function postForm(env: AuthEnv, endpoint: EndpointName, form: Form): Promise<Readonly<Record<string, unknown>>>;
export {};
