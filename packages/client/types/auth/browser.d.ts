import { StepUpNeeded } from '../errors.ts';
import type { TokenStorage } from './storage.ts';
import { type Auth, type AuthEnv, type ClientOptions, type TokenSource, type User } from './token-source.ts';
/** How people sign in with their browser. */
export interface BrowserOptions extends Omit<ClientOptions, 'clientSecret'> {
    /** With `offline_access` tokens are renewed without leaving the page: `openid offline_access Platform/Market`. */
    readonly scope: string;
    /** A registered address of this page; by default the page without its query. */
    readonly redirectUri?: string | undefined;
    /** Where the user returns to after signing out; by default `redirectUri`. */
    readonly postLogoutRedirectUri?: string | undefined;
    /** `localStorage` by default, which all tabs share; `memory()` keeps them in this page only. */
    readonly storage?: TokenStorage | undefined;
    /**
     * Whether to try without the user when there is no refresh token: by a request where page and server have the same
     * origin, otherwise in a hidden frame.
     */
    readonly silent?: boolean | undefined;
    /**
     * What happens when the server wants a stronger or newer sign-in (RFC 9470); it resolves when the user has signed in. By default the user
     * signs in in a pop-up or, where the browser blocks it, by redirect. Pages that show a button first call `signIn` in its handler, with
     * `popup` and the `acrValues` and `maxAge` of the need.
     */
    readonly stepUp?: ((need: StepUpNeeded) => Promise<void>) | undefined;
}
/** How to sign in this time. */
export interface SignInOptions {
    /** Signs in in a separate window, without leaving the page. Call it in a click handler. */
    readonly popup?: boolean | undefined;
    /** `login` asks for the password again, `select_account` for the account. */
    readonly prompt?: string | undefined;
    readonly loginHint?: string | undefined;
    /** `2` asks for two factors. */
    readonly acrValues?: string | undefined;
    /** How many seconds ago the user may have signed in; otherwise the password is asked for again. */
    readonly maxAge?: number | undefined;
    /** Where to go afterwards, on the origin of the page; by default back to where the user was. */
    readonly returnTo?: string | undefined;
    /** Ends the waiting for a pop-up. */
    readonly signal?: AbortSignal | undefined;
}
/** How to sign out. */
export interface SignOutOptions {
    /** Also ends the session at the server, which leaves the page; true by default. */
    readonly redirect?: boolean | undefined;
}
/**
 * Signs people in with their browser.
 *
 * @example
 * ```ts
 * const auth = browser({ clientId: 'spa', scope: 'openid offline_access Platform/Market' })
 * const gate = new Gatehouse('https://gate.example.com', { auth })
 * if (!(await gate.auth.signedIn())) await gate.auth.signIn()
 * greet((await gate.auth.user())?.name)
 * ```
 */
export declare function browser(options: BrowserOptions): Auth<Browser>;
/**
 * `gate.auth` of a client with `browser()`.
 *
 * @example
 * ```ts
 * button.onclick = () => gate.auth.signIn({ popup: true })
 * leave.onclick = () => gate.auth.signOut()
 * ```
 */
export declare class Browser implements TokenSource {
    #private;
    constructor(env: AuthEnv, options: BrowserOptions);
    /**
     * Whether there is a token. Finishes a sign-in if the page is the one that the user came back to, so call it before
     * anything else.
     */
    signedIn(): Promise<boolean>;
    token(refused?: string, error?: unknown): Promise<string>;
    /** Signs in: by redirect the page is left, and the promise never settles; with a pop-up it resolves afterwards. */
    signIn(options?: SignInOptions): Promise<void>;
    /** Forgets and revokes the tokens, in all tabs, and ends the session at the server. */
    signOut({ redirect }?: SignOutOptions): Promise<void>;
    /** The user who is signed in, according to the server; undefined if there is none. */
    user(): Promise<User | undefined>;
    /** The granted scopes: those that the client requested and the user has. */
    scopes(): Promise<readonly string[]>;
    refuse(token: string): void;
    close(): void;
}
