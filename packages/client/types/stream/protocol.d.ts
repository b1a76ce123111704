/** The messages of the stream and its close codes, as docs/streaming.md describes them. */
import { GatehouseError } from '../errors.ts';
/** One message. */
export interface Message {
    readonly Controller?: string;
    readonly Topic?: string;
    readonly Action?: 'Publish' | 'Sub' | 'Unsub' | 'Cancel' | 'Error';
    readonly TransactionID?: number;
    readonly Data?: unknown;
    readonly Confirm?: boolean;
    readonly Problem?: unknown;
    /** Of a message of a feed, as docs/feeds.md describes it. */
    readonly Pattern?: string;
    readonly Position?: string;
    readonly Recovered?: boolean;
    readonly Removed?: boolean;
    /** Of licensed market data, as docs/licences.md describes it. */
    readonly Delay?: number;
    readonly Licence?: unknown;
}
/** The states of a connection. */
export type State = 
/** Getting a token, opening the socket, authenticating. */
'connecting'
/** Authenticated: messages flow. */
 | 'online'
/** The token has expired or was revoked, and a fresh one is being fetched. */
 | 'lapsed'
/** No connection; the library reconnects automatically. */
 | 'offline'
/** No connection, and the library does not reconnect: signed out, ended by an operator, or closed. */
 | 'ended';
/** Passed to listeners of `on('state', …)`. */
export interface StateChange {
    readonly state: State;
    /** The close code of the socket, or the code of an error. */
    readonly code: number | string | undefined;
    readonly reason: string;
    /** Milliseconds until the next attempt, when offline. */
    readonly retryIn: number | undefined;
}
/** Reported when the server is reachable but no WebSocket can be opened. */
export declare const NO_WEBSOCKET = "client.no_websocket";
/** What a client does after a close, or after an error with a specific code: stop, get a fresh token, or reconnect later. */
export declare function afterClose(code: number | string): 'end' | 'renew' | 'retry';
/** The error that a message with the action `Error` carries. */
export declare function errorOfMessage({ Data, Problem, Controller, Topic }: Message, statement?: string): GatehouseError;
/** `[d.]hh:mm:ss[.f]` in milliseconds. */
export declare function readTimeSpan(text: unknown): number | undefined;
