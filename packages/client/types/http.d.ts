/** Requests with the access token: retried where that is safe, with errors that say what went wrong. */
import type { Auth, TokenSource } from './auth/token-source.ts';
import { type Fetch } from './discovery.ts';
import { type ValueOptions, Values } from './values.ts';
/** Passed to `onRequest` after each attempt. */
export interface RequestReport {
    readonly method: string;
    readonly url: string;
    /** From 0. */
    readonly attempt: number;
    readonly milliseconds: number;
    /** Undefined when there was no reply. */
    readonly status: number | undefined;
    readonly requestId: string | undefined;
    readonly error: unknown;
}
/** The least that a WebSocket must have; the one of browsers, Node 22, Deno and Bun, and that of the package `ws`, do. */
export type WebSocketClass = new (url: string, protocols: string) => WebSocketLike;
/** A socket as the stream uses it. */
export interface WebSocketLike {
    readonly readyState: number;
    onopen: ((event: never) => void) | null;
    onmessage: ((event: never) => void) | null;
    onclose: ((event: never) => void) | null;
    onerror: ((event: never) => void) | null;
    send(data: string): void;
    close(code?: number, reason?: string): void;
}
/** The options of a client; usually only `auth` is needed. */
export interface GatehouseOptions<Source extends TokenSource = TokenSource> {
    /** Where the access tokens come from: `browser()`, `password()`, `clientCredentials()`, `device()`, `getToken()` … */
    readonly auth?: Auth<Source> | undefined;
    /** The issuer, where it is not the address itself. */
    readonly issuer?: string | undefined;
    /** How values of results are given. */
    readonly values?: ValueOptions | undefined;
    /** In place of the global `fetch`. */
    readonly fetch?: Fetch | undefined;
    /** In place of the global `WebSocket`; Node 20 has none: `import WebSocket from 'ws'`. */
    readonly WebSocket?: WebSocketClass | undefined;
    /** How often a request is sent at most; 4 by default. */
    readonly attempts?: number | undefined;
    /** Milliseconds without a message after which the stream is tested; 10,000 by default. */
    readonly heartbeat?: number | undefined;
    /** Called after each attempt of each request, for logs. */
    readonly onRequest?: ((report: RequestReport) => void) | undefined;
    /** The `traceparent` of the current span, for traces (W3C Trace Context). */
    readonly trace?: (() => string | undefined) | undefined;
}
/** One request to the server. */
export interface RequestOptions {
    readonly method?: string | undefined;
    readonly headers?: Readonly<Record<string, string | undefined>> | undefined;
    /** Text, or anything that JSON can hold. */
    readonly body?: unknown;
    /** Whether it may be sent again when it is not known whether it arrived. Without it, as the method says. */
    readonly idempotent?: boolean | undefined;
    /** How often it is sent at most, in place of the option of the client. */
    readonly attempts?: number | undefined;
    /** Called before each attempt is sent, when there is a token. */
    readonly onSend?: (() => void) | undefined;
    /** Shown in errors. */
    readonly statement?: string | undefined;
    readonly signal?: AbortSignal | undefined;
}
/**
 * The server, its tokens and its requests: the part of `Gatehouse` that the other parts build on. Use it with `createQuery`,
 * `createTable`, `createAdmin` or `Stream` where the size of a page matters.
 *
 * @example
 * ```ts
 * const http = new Http('https://gate.example.com', { auth: getToken(() => token) })
 * const query = createQuery(http)
 * const rows = await query`select * from trades limit 10`
 * ```
 */
export declare class Http<Source extends TokenSource = TokenSource> {
    #private;
    /** The address of the server, without a slash at the end. */
    readonly url: string;
    readonly options: GatehouseOptions<Source>;
    readonly auth: Source;
    readonly values: Values;
    /** The option `fetch`, or the global one, as the source of tokens needs it. */
    readonly fetch: Fetch;
    constructor(url: string, options?: GatehouseOptions<Source>);
    /** Aborted by `close()`. */
    get closed(): AbortSignal;
    /** Sends a request and resolves with its reply if that is a success. */
    request(path: string, options?: RequestOptions): Promise<Response>;
    /** The reply as JSON, with exact integers; undefined if it has no body. */
    json(path: string, options?: RequestOptions): Promise<unknown>;
    /** Ends what is open. Everything that waits rejects. */
    close(): void;
}
/** Reads a body; if the connection breaks meanwhile, throws a ConnectionError. */
export declare function read<T>(act: () => Promise<T>, signal?: AbortSignal): Promise<T>;
/** What can be in the query string of an address. */
export type Search = Readonly<Record<string, string | number | boolean | undefined>>;
/** The path with a query string of what is given. */
export declare function withSearch(path: string, search: Search): string;
