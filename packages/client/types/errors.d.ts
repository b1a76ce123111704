/** What can go wrong, as classes: each error has a stable `code` and says what to do about it. */
/** The members of an error document, of the query service, of OAuth or of the stream. */
export interface ErrorInit {
    readonly code: string;
    readonly status?: number | undefined;
    readonly requestId?: string | undefined;
    readonly hint?: string | undefined;
    readonly retryable?: boolean | undefined;
    readonly retryAfter?: number | undefined;
    readonly cause?: unknown;
    readonly details?: Readonly<Record<string, unknown>> | undefined;
    /** Set for a QueryError. */
    readonly statement?: string | undefined;
    readonly position?: Position | undefined;
    /** Set for a StepUpNeeded. */
    readonly acrValues?: unknown;
    readonly maxAge?: unknown;
    /** Set for a LicenceNeeded. */
    readonly products?: unknown;
    readonly reason?: unknown;
}
/**
 * The base of all errors of this library, except `AbortError`, which passes through as it is.
 *
 * @example
 * ```ts
 * try {
 *   await gate.table('trades').insert({ id: 1 })
 * } catch (error) {
 *   if (error instanceof GatehouseError && error.code === 'Data.UniqueViolation') return 'exists already'
 *   throw error
 * }
 * ```
 */
export declare class GatehouseError extends Error {
    readonly name: string;
    /** Stable, for programs: `Data.UniqueViolation`, `invalid_grant`, `Authority`, `client.offline` … */
    readonly code: string;
    /** The HTTP status, if there was a reply. */
    readonly status: number | undefined;
    /** By which the request is found in the logs of the server. */
    readonly requestId: string | undefined;
    /** What might have been meant, or what to do. */
    readonly hint: string | undefined;
    /** Whether the same request can succeed later. */
    readonly retryable: boolean;
    /** Seconds to wait before, if the server said so. */
    readonly retryAfter: number | undefined;
    /** Everything else that the server said. */
    readonly details: Readonly<Record<string, unknown>>;
    constructor(message: string, { cause, ...init }: ErrorInit);
}
/** Where a statement is wrong. */
export interface Position {
    /** UTF-16 code units from the start, as in JavaScript strings. */
    readonly offset: number;
    /** From 1. */
    readonly line: number;
    /** Characters from the start of the line, from 1. */
    readonly column: number;
}
/**
 * A statement, or a call on a table, was refused or failed.
 *
 * @example
 * ```ts
 * if (error instanceof QueryError) console.error(`${error.message}\n${error.caret ?? ''}`)
 * // There is no column pric
 * // 1 | select pric from trades
 * //            ^
 * ```
 */
export declare class QueryError extends GatehouseError {
    readonly name = "QueryError";
    readonly statement: string | undefined;
    readonly position: Position | undefined;
    /** The line of the statement with a caret under the position. */
    get caret(): string | undefined;
}
/**
 * The user is not signed in, may not do this, or the identity server refused.
 *
 * @example
 * ```ts
 * if (error instanceof AuthError && error.code === 'login_required') await gate.auth.signIn()
 * ```
 */
export declare class AuthError extends GatehouseError {
    readonly name: string;
}
/**
 * The sign-in is too weak or too old for this (RFC 9470). With `browser()` the library lets the user sign in again by itself and repeats what was
 * refused, once; with any other source of tokens it throws this error.
 *
 * @example
 * ```ts
 * if (error instanceof StepUpNeeded) showLink(`Sign in again with ${error.acrValues === '2' ? 'two factors' : 'your password'}`)
 * ```
 */
export declare class StepUpNeeded extends AuthError {
    readonly name = "StepUpNeeded";
    /** What to request as `acr_values`: `2` means two factors. */
    readonly acrValues: string | undefined;
    /** What to request as `max_age`: how many seconds ago the sign-in may be. */
    readonly maxAge: number | undefined;
}
/**
 * A licence for market data is needed, or all places of one are in use; `code` says which: `Licence.Needed`, `Licence.Places`,
 * `Licence.Displaced`, on streams `Licence.NotReady` too.
 *
 * @example
 * ```ts
 * if (error instanceof LicenceNeeded && error.reason === 'agreement') location.href = '/account/data'
 * ```
 */
export declare class LicenceNeeded extends AuthError {
    readonly name = "LicenceNeeded";
    /** Any of which would open it; none, if no product names it. */
    readonly products: readonly string[];
    /** What is missing: `none`, `not_yet`, `expired`, `disabled`, `agreement`, `uncovered`. */
    readonly reason: string | undefined;
}
/**
 * The server cannot be reached, or the connection was lost before the answer came.
 *
 * @example
 * ```ts
 * if (error instanceof ConnectionError) show(`No connection: ${error.message}`)
 * ```
 */
export declare class ConnectionError extends GatehouseError {
    readonly name = "ConnectionError";
    constructor(message: string, init?: Partial<ErrorInit>);
}
/** The error of everything that waits when the application closes something. */
export declare function closedError(what: string): ConnectionError;
/** The error of a reply that is not a success. Reads its body. */
export declare function readError(response: Response, statement?: string): Promise<GatehouseError>;
interface Reply {
    readonly status?: number | undefined;
    readonly requestId?: string | undefined;
    readonly seconds?: number | undefined;
    readonly statement?: string | undefined;
}
/**
 * The error that a problem document (RFC 9457) or an OAuth error (RFC 6749 §5.2) describes, for programs that read replies
 * themselves.
 *
 * @example
 * ```ts
 * // The last line of a result in NDJSON
 * if (Object.hasOwn(line, 'Error')) throw problemError(line.Error)
 * ```
 */
export declare function problemError(document: unknown, reply?: Reply): GatehouseError;
/** The members of a JSON object; of anything else, none. */
export declare function asObject(value: unknown): Readonly<Record<string, unknown>>;
export declare function text(value: unknown): string | undefined;
export {};
