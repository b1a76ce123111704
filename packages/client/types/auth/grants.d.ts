import { type Auth, type ClientOptions, GrantedTokens, type TokenSource } from './token-source.ts';
/**
 * A service that acts for itself (RFC 6749 §4.4).
 *
 * @example
 * ```ts
 * const gate = new Gatehouse(url, { auth: clientCredentials({ clientId: 'worker', clientSecret }) })
 * ```
 */
export declare function clientCredentials(options: ClientOptions & {
    readonly clientSecret: string;
}): Auth<GrantedTokens>;
/** Who signs in, and with which client. */
export interface PasswordOptions extends ClientOptions {
    readonly username: string;
    /** The password, or a function that asks for it when it is needed. */
    readonly password: string | (() => string | Promise<string>);
}
/**
 * A user with a password, for trusted programs (RFC 6749 §4.3).
 *
 * @example
 * ```ts
 * const gate = new Gatehouse(url, { auth: password({ clientId: 'demo-cli', username: 'alice', password: 'wonderland-1' }) })
 * ```
 */
export declare function password(options: PasswordOptions): Auth<GrantedTokens>;
/**
 * A refresh token that the program already has. It is rotated: keep the newest with `storage`.
 *
 * @example
 * ```ts
 * const gate = new Gatehouse(url, { auth: refreshToken({ clientId: 'worker', refreshToken: process.env.TOKEN }) })
 * ```
 */
export declare function refreshToken(options: ClientOptions & {
    readonly refreshToken: string;
}): Auth<GrantedTokens>;
/** What the user must do elsewhere. */
export interface DevicePrompt {
    readonly userCode: string;
    /** Where the code is entered. */
    readonly url: string;
    /** `url` with the code in it, for a link or a QR code. */
    readonly urlComplete: string;
    /** Seconds until the code expires. */
    readonly expiresIn: number;
}
/** With which client, and how the code is shown. */
export interface DeviceOptions extends ClientOptions {
    /** Shows the code to the user. */
    readonly prompt: (prompt: DevicePrompt) => void;
    /** Ends the waiting. */
    readonly signal?: AbortSignal | undefined;
}
/**
 * A user who signs in on another device (RFC 8628), for terminals and machines without a browser.
 *
 * @example
 * ```ts
 * device({ clientId: 'gatehouse-cli', prompt: ({ urlComplete }) => console.log(`Open ${urlComplete}`) })
 * ```
 */
export declare function device(options: DeviceOptions): Auth<GrantedTokens>;
/**
 * Tokens from elsewhere: another library, or your own server. It is called for each request, so it should cache them.
 *
 * @example
 * ```ts
 * const gate = new Gatehouse(url, { auth: getToken(() => session.accessToken) })
 * ```
 */
export declare function getToken(get: (refused?: string) => string | Promise<string>): Auth<TokenSource>;
